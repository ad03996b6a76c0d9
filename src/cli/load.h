// What the command line of `muster load` asks for, and what is understood by it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "cli/context.h"
#include "load/drive.h"
#include "load/summary.h"

namespace muster::cli {

/// The options as they were given.
struct LoadRequest {
  std::string server, model, api = "chat", path;
  bool no_stream = false, ignore_eos = false, record = false;
  int concurrency = 0, accelerators = 0, shared_prefix = 0, prefix_groups = 1, turns = 1;
  double rate = 0, slo_share = 99, speed = 1;
  std::string ramp, arrivals = "poisson", trace, sweep;
  std::string duration = "30s", warm_up = "0s", think = "0s", limit = "120s", lag = "5ms";
  std::uint64_t requests = 0, seed = 1;
  std::string input = "128", output = "64", prompts, slo, extra, key_variable;
  std::vector<std::string> headers;
  std::string out, samples, against;
  double tolerance = 10;
};

/// The request, understood.
struct LoadPlan {
  load::DriveOptions drive;
  load::Objectives objectives;
  std::chrono::nanoseconds warm_up{0}, lag{0};
  std::vector<int> levels;  ///< of a sweep; empty: none
  bool sweeps = false, doubles = false;
  double rate = 0;
  nlohmann::json before;            ///< the result to compare with; null: none
  nlohmann::ordered_json workload;  ///< what makes two results alike
};

/// Failure: a value that can't be read, located where it is in a file.
Result<LoadPlan> understand(const Context& context, const LoadRequest& request);

/// Loads the server, prints, writes and records what came of it, and sets the exit code.
void run_load(Context& context, const LoadRequest& request);

}  // namespace muster::cli
