#include "launch/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/document.h"

namespace muster::launch {

const std::vector<Target>& all_targets() {
  static const std::vector<Target> kTargets = {Target::kLocal, Target::kSlurm, Target::kKubernetes,
                                               Target::kHyperpodEks, Target::kBatch};
  return kTargets;
}

const char* to_string(Target target) {
  switch (target) {
    case Target::kLocal:
      return "local";
    case Target::kSlurm:
      return "slurm";
    case Target::kKubernetes:
      return "kubernetes";
    case Target::kHyperpodEks:
      return "hyperpod-eks";
    case Target::kBatch:
      return "batch";
  }
  return "";
}

Result<Target> parse_target(const std::string& name) {
  std::vector<std::string> names;
  for (const Target target : all_targets()) {
    if (name == to_string(target)) return target;
    names.emplace_back(to_string(target));
  }
  const auto near = did_you_mean(name, names);
  return failure(
      "launch-target", "unknown target '" + name + "'",
      near ? "did you mean " + *near + "?" : fmt::format("targets are {}", fmt::join(names, ", ")));
}

bool shares_files(Target target) {
  return target == Target::kLocal || target == Target::kSlurm;
}

bool declares(const catalog::Case& values, Target target) {
  const catalog::Targets& targets = values.targets;
  switch (target) {
    case Target::kLocal:
      return targets.local.has_value();
    case Target::kSlurm:
      return targets.slurm.has_value();
    case Target::kKubernetes:
      return targets.kubernetes.has_value();
    case Target::kHyperpodEks:
      return targets.hyperpod_eks.has_value();
    case Target::kBatch:
      return targets.batch_job_queue.has_value();
  }
  return false;
}

}  // namespace muster::launch
