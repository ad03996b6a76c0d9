// What to do with a node that a check found to be unwell, as commands of its scheduler. Plans only:
// nothing here does anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "health/check.h"

namespace muster::health {

/// Who takes a node out of service.
enum class Manager { kSlurm, kKubernetes, kHyperPodSlurm, kHyperPodEks };

/// slurm, kubernetes, hyperpod-slurm, hyperpod-eks.
const std::vector<std::string>& manager_names();
std::optional<Manager> parse_manager(std::string_view name);

struct ActionPlan {
  std::string action;                              ///< none, watch, drain, reboot, replace
  std::string reason;                              ///< one line: "muster: gpu: …"
  std::vector<std::vector<std::string>> commands;  ///< argv each, in order; empty: nothing to do
};

/// The plan for a node by the worst of its checks. What could not be verified changes nothing: a
/// node is taken out of service only on evidence.
ActionPlan plan_action(Manager manager, const std::string& node,
                       const std::vector<CheckResult>& checks);

/// The plan that puts a node back that muster took out.
ActionPlan plan_return(Manager manager, const std::string& node);

/// What muster marks nodes with that it took out of service: a reason of Slurm starts with it, and
/// the name of a taint of Kubernetes.
inline constexpr const char* kReasonMark = "muster ";
inline constexpr const char* kTaint = "muster.dev/unhealthy";
/// The label of a Kubernetes node with its outcome, and the condition of its status.
inline constexpr const char* kHealthLabel = "muster.dev/health";
inline constexpr const char* kCondition = "MusterHealthy";

/// HyperPod's contract line: HEALTH_CHECK_RESULT:<host>:<Passed|Failed|Skipped>:<none|reboot|
/// replace>:<reason>. What could not be verified is Skipped, never Passed.
std::string contract_line(const std::string& node, const std::vector<CheckResult>& checks);

/// The worst check as one line without line breaks, quotes and colons that would end a field.
std::string reason_of(const std::vector<CheckResult>& checks);

/// A command as a shell reads it.
std::string shell_line(const std::vector<std::string>& argv);

}  // namespace muster::health
