// Carries a plan out, within a limit of nodes that are out of service at once, and puts a node back
// only when muster took it out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "health/action.h"

namespace muster::health {

/// How many nodes muster may have out of service at once: a number, or a share of the cluster.
struct Limit {
  double value = 1;
  bool percent = false;

  /// Of a cluster of so many nodes; a share is rounded down.
  int of(int nodes) const;
};

/// "3" or "10%". Nothing: neither.
std::optional<Limit> parse_limit(std::string_view text);

/// How the cluster stands, as its scheduler tells it.
struct Standing {
  int nodes = 0;
  int out = 0;             ///< that muster took out of service
  bool known = false;      ///< the node is one of them
  bool node_out = false;   ///< it was taken out by muster
  bool by_others = false;  ///< it was taken out by somebody else
  /// Of the node, in Slurm: AvailableFeatures and ActiveFeatures.
  std::vector<std::string> available, active;
};

/// From `scontrol show nodes`.
Standing slurm_standing(std::string_view text, const std::string& node);
/// From `kubectl get nodes -o json`. Failure: another form.
Result<Standing> kubernetes_standing(const std::string& text, const std::string& node);

/// What to do, given how the cluster stands: the plan's commands, none with the reason, or those
/// that put the node back (the node is well and was taken out by muster).
ActionPlan decide(Manager manager, const std::string& node, Health health, ActionPlan plan,
                  const Standing& standing, const Limit& limit);

/// The command that keeps HealthCheck:Passed, :Failed or :Skipped among the features of a Slurm
/// node, as HyperPod's health checks do, so that jobs can ask for --constraint=HealthCheck:Passed;
/// other features stay. Empty: it is there already.
std::vector<std::string> feature_command(const std::string& node, Health health,
                                         const Standing& standing);

/// Asks the scheduler, decides, and runs the commands one after another, each bounded. Returns what
/// was done. Failure: the scheduler can't be asked, or a command failed, with its output; those
/// before it were done. `features`: also keep the node's feature, on Slurm.
Result<ActionPlan> act(Manager manager, const std::string& node, Health health,
                       const ActionPlan& plan, const Limit& limit, bool features,
                       ProcessRunner& processes);

}  // namespace muster::health
