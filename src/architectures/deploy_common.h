// What deploying, looking, comparing and destroying share.
#pragma once

#include <map>
#include <set>
#include <string>

#include "architectures/cloudformation.h"
#include "architectures/clusters.h"
#include "architectures/deploy.h"
#include "architectures/render.h"

namespace muster::architectures {

/// One cluster in one account.
class ClusterWork {
 public:
  ClusterWork(const Plan& plan, const DeploySeams& seams, const DeployOptions& options)
      : plan_(plan),
        seams_(seams),
        options_(options),
        stacks_(seams.processes, plan.cluster.region) {
    report_.cluster = plan.cluster.name;
  }

 protected:
  /// Takes the failure into the report. Always false. What fails because of an interrupt is one.
  bool fail(Findings findings, ExitCode code);
  bool fail(const char* rule, std::string message, std::string hint, ExitCode code) {
    return fail(Findings{error_at({}, rule, std::move(message), std::move(hint))}, code);
  }

  bool is_ours(const DeployedStack& stack) const {
    const auto tag = stack.tags.find(kClusterTag);
    return tag != stack.tags.end() && tag->second == plan_.cluster.name;
  }

  /// Outputs by "STACK.KEY", of the stacks of this plan and of the one it stands on.
  bool take_outputs(const DeployedStack& stack) {
    for (const auto& [key, value] : stack.outputs) outputs_[stack.name + "." + key] = value;
    return true;
  }

  /// False, and said, when an output that `stack` takes is not known.
  bool has_inputs(const PlannedStack& stack);

  /// The outputs of a network stack that was there before; false when it is not.
  bool take_foreign_outputs();

  /// Fills in resources and unknown of a stack that is complete.
  bool see_resources(StackStanding& standing);

  const Plan& plan_;
  DeploySeams seams_;
  DeployOptions options_;
  CloudFormation stacks_;
  std::map<std::string, std::string> outputs_;
  ClusterReport report_;
};

/// The digest of what a stack is made of.
std::string digest_of(const PlannedStack& stack, const std::string& parameters);

}  // namespace muster::architectures
