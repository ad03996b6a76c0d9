// Where a case can run: the schedulers that there are renderers for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/case.h"

namespace muster::launch {

enum class Target { kLocal, kSlurm, kKubernetes, kHyperpodEks, kBatch };

/// All of them, in the order of listings.
const std::vector<Target>& all_targets();

/// "local", "slurm", "kubernetes", "hyperpod-eks", "batch": as in the manifest's `targets`.
const char* to_string(Target target);

/// Error: an unknown name, with the nearest known one.
Result<Target> parse_target(const std::string& name);

/// Whether its processes see the files of whoever submits: the run's directory, a Python
/// environment, data sets.
bool shares_files(Target target);

/// Whether the manifest has the target under `targets`.
bool declares(const catalog::Case& values, Target target);

}  // namespace muster::launch
