// Reader of what `nsys stats` prints: CSV and JSON of its summary tables, of any version, also from
// logs in which other lines stand between, that end in the middle, or that hold several ranks.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "facts/nsight.h"

namespace muster::runs {

struct StatRow {
  std::string name;
  double total = 0;  ///< seconds, or bytes
  std::optional<double> count, mean, deviation;
};

struct StatTable {
  std::string report;  ///< the newest name: cuda_gpu_kern_sum
  std::string what;    ///< kernels, calls, system, memory-time, memory-size, ranges
  std::vector<StatRow> rows;
};

/// All tables of one rank.
struct RankStats {
  std::optional<int> rank;  ///< nothing: neither a line nor the file says
  std::string host;
  std::string file;
  std::vector<StatTable> tables;
  int torn = 0;                    ///< rows that are not whole, or whose figures can't be read
  std::vector<std::string> notes;  ///< what is there and could not be used

  const StatTable* find(std::string_view what) const;
};

/// The ranks of a file, by rank. Empty when it holds no table.
std::vector<RankStats> read_nsys_stats(const std::string& text, const std::string& file,
                                       const facts::Nsight& known);

/// "…_rank_3_on_node-b.…": rank and host as the capture wrappers name their files.
std::optional<std::pair<int, std::string>> rank_of_file(const std::string& file);

}  // namespace muster::runs
