#include "catalog/coverage.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/schema.h"
#include "catalog/merge.h"

namespace muster::catalog {
namespace {

constexpr std::array<const char*, 5> kTargets = {"local", "slurm", "kubernetes", "hyperpod-eks",
                                                 "batch"};

std::vector<std::string> targets_of(const Node& manifest) {
  std::vector<std::string> targets;
  for (const char* target : kTargets) {
    const Node* node = node_at(manifest, std::string("targets.") + target);
    if (node && !node->is_null()) targets.emplace_back(target);
  }
  return targets;
}

std::string text_or(const Node& manifest, const char* key, const char* otherwise) {
  const std::string text = text_at(manifest, key);
  return text.empty() ? otherwise : text;
}

bool runs_on_this_machine(const Node& manifest) {
  const Node* local = node_at(manifest, "targets.local");
  return local && !local->is_null() && text_or(manifest, "topology.accelerator", "cpu") == "cpu" &&
         integer_at(manifest, "topology.nodes").value_or(1) == 1;
}

}  // namespace

std::string Coverage::state() const {
  if (!runs_here.empty()) return "runs here";
  if (accelerator == "gpu") return "needs a GPU: not run";
  if (accelerator == "neuron") return "needs Neuron: not run";
  return "renders and validates";
}

Coverage coverage_of(const Node& manifest) {
  Coverage coverage;
  if (!manifest.is_mapping()) return coverage;
  const bool followed = text_at(manifest, "launcher") != "server";
  std::vector<std::string> named = targets_of(manifest);
  if (runs_on_this_machine(manifest)) coverage.runs_here.emplace_back("none");
  if (const Node* profiles = node_at(manifest, "profiles")) {
    for (const Node::Entry& profile : profiles->entries()) {
      const Node settled = merge(manifest, profile.value);
      if (runs_on_this_machine(settled)) coverage.runs_here.push_back(profile.key);
      const auto more = targets_of(settled);
      named.insert(named.end(), more.begin(), more.end());
    }
  }
  if (!followed) coverage.runs_here.clear();
  for (const char* target : kTargets) {
    if (std::find(named.begin(), named.end(), target) == named.end()) continue;
    coverage.renders.emplace_back(target);
    if (followed) coverage.submits.emplace_back(target);
  }
  coverage.accelerator = text_or(manifest, "topology.accelerator", "cpu");
  const std::string type = text_at(manifest, "topology.instance_type");
  coverage.needs = fmt::format("{} × {} {}{}", integer_at(manifest, "topology.nodes").value_or(1),
                               integer_at(manifest, "topology.accelerators_per_node").value_or(1),
                               coverage.accelerator, type.empty() ? "" : " (" + type + ")");
  return coverage;
}

}  // namespace muster::catalog
