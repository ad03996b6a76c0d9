// The options of a measurement: nccl-tests' letters, and ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/bench/fabric.h"

namespace CLI {
class App;
}

namespace muster::measure {

/// As typed.
struct Settings {
  std::string min_bytes = "32M", max_bytes = "32M", step_bytes = "1M";
  double step_factor = 0;  ///< above 1: used instead of step_bytes
  int iterations = 20, warmup = 1, aggregated = 1, checks = 1;
  long cycles = 1;  ///< 0: until `duration` is over
  std::string type = "float", reduction = "sum", fabric = "auto";
  int root = 0;
  double time_limit = 300;
  double duration = 0;
  int average = 1;  ///< of the ranks' times: 0 rank 0's, 1 mean, 2 min, 3 max
  bool cpu_time = false, timestamps = false;
  std::string json;
  int threads = 1, gpus = 1, blocking = 0, graphs = 0, parallel_init = 0, null_stream = 0,
      registered = 0;
};

/// What is to be measured.
struct Sweep {
  Operation operation = Operation::kAllReduce;
  std::vector<std::size_t> sizes;  ///< bytes, growing
  std::size_t min_bytes = 0, max_bytes = 0, step_bytes = 0;
  double step_factor = 0;
  std::vector<DataType> types;
  std::vector<Reduction> reductions;  ///< of an operation that does not reduce: one, not looked at
  std::vector<int> roots;             ///< of one without a root: one, not looked at
  int iterations = 20, warmup = 1, aggregated = 1, checks = 1;
  long cycles = 1;
  std::chrono::milliseconds time_limit{300000};
  std::optional<std::chrono::milliseconds> duration;
  int average = 1;
  bool cpu_time = false, timestamps = false;
  FabricKind fabric = FabricKind::kAuto;
  std::string json;  ///< path; empty: none
};

void add_options(CLI::App& app, Settings& settings);

/// "8", "4k", "32M", "1G": suffixes are binary. Empty: not a size.
std::optional<std::size_t> parse_size(const std::string& text);

/// Checks the settings for an operation. Findings name the option. While it is not known how many
/// ranks there are, the root is not looked at and `roots` stays empty.
Result<Sweep> make_sweep(Operation operation, const Settings& settings, std::optional<int> ranks);

}  // namespace muster::measure
