#include "architectures/deploy_common.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace muster::architectures {

bool ClusterWork::fail(Findings findings, ExitCode code) {
  if (interrupted() && code != kExitInterrupted) {
    findings = {
        error_at({}, "interrupted",
                 "interrupted; AWS goes on with what it was told: " + findings.front().message,
                 "the same command goes on from there")};
    code = kExitInterrupted;
  }
  report_.findings.insert(report_.findings.end(), findings.begin(), findings.end());
  report_.code = code;
  return false;
}

bool ClusterWork::has_inputs(const PlannedStack& stack) {
  for (const PlannedParameter& one : stack.parameters) {
    if (one.stack.empty() || outputs_.count(one.stack + "." + one.output) != 0) continue;
    return fail("deploy-output",
                fmt::format("{} takes {} of {}, which has no such output", stack.name, one.output,
                            one.stack),
                "muster diff says whether that stack is as its template says", kExitFailed);
  }
  return true;
}

bool ClusterWork::take_foreign_outputs() {
  const auto& existing = plan_.cluster.network.existing;
  if (!existing || existing->stack.empty()) return true;
  const auto stack = stacks_.find(existing->stack);
  if (!stack) return fail(stack.findings(), kExitUnverified);
  if (!*stack)
    return fail(Findings{error_at(existing->where, "deploy-network",
                                  fmt::format("there is no stack {} in {}", existing->stack,
                                              plan_.cluster.region))},
                kExitFailed);
  return take_outputs(**stack);
}

bool ClusterWork::see_resources(StackStanding& standing) {
  const auto resources = stacks_.resources(standing.name);
  if (!resources) return fail(resources.findings(), kExitUnverified);
  standing.resources = static_cast<int>(resources->size());
  standing.unknown.clear();
  for (const StackResource& one : *resources) {
    if (!one.is_known()) standing.unknown.push_back(one.logical);
  }
  return true;
}

std::string digest_of(const PlannedStack& stack, const std::string& parameters) {
  return sha256(stack.template_text + "\n" + parameters);
}

}  // namespace muster::architectures
