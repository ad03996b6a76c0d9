// The options that say how a run is profiled: the same for `muster run` and `muster render case`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/profiling.h"

namespace CLI {
class App;
}

namespace muster::cli {

struct ProfileOptions {
  std::string with, ranks, steps, trace, nsys, efa, least_free;
  int delay = -1, duration = 0;
  std::vector<std::string> options;
};

void add_profile_options(CLI::App& command, ProfileOptions& options);

/// Error: a profiler or a size that can't be read, or options without a profiler.
Result<launch::Profiling> profiling_of(const ProfileOptions& options);

}  // namespace muster::cli
