// What a healthy cluster was measured to reach, by instance type, nodes, operation and size. The
// data is facts/floors.yaml; each row says where it is from and how far below it still passes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

struct PerformancePoint {
  std::optional<std::uint64_t> size;   ///< bytes; absent: of operations without a size
  std::optional<double> busbw, algbw;  ///< GB/s of 10^9 bytes; one of the two
};

struct PerformanceFloor {
  std::string name;
  std::string instance;  ///< p5.48xlarge
  int nodes = 1;
  std::optional<int> ranks;
  std::string operation;   ///< all_reduce
  std::string type;        ///< float; empty: any
  std::string variant;     ///< rdma, nvl; empty: any
  std::string nccl;        ///< holds only for this release of NCCL; empty: for those without a row
  double tolerance = 0.1;  ///< share below the figure that still passes
  std::vector<PerformancePoint> points;  ///< by size
  std::string source, date;
  Position where;
};

Result<std::vector<PerformanceFloor>> load_performance(const FileSystem& files,
                                                       const std::filesystem::path& root);
Result<std::vector<PerformanceFloor>> parse_performance(const std::string& text,
                                                        const std::string& file);

}  // namespace muster::facts
