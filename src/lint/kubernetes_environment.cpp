// Variables of the fabric and of NCCL in the containers of Kubernetes objects.
#include <algorithm>
#include <array>

#include "base/schema.h"
#include "lint/environment.h"
#include "lint/kubernetes_objects.h"

namespace muster::lint {
namespace {

// The instance type that a pod asks for: by its node selector, or as the first of those that its
// affinity allows; empty: any.
std::string instance_type_of(const Node& pod) {
  if (const Node* selector = node_at(pod, "nodeSelector")) {
    if (const Node* type = selector->find(kInstanceTypeLabel)) return type->text();
  }
  const Node* terms = node_at(
      pod,
      "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  if (!terms) return {};
  for (const Node& term : terms->items()) {
    const Node* expressions = term.find("matchExpressions");
    if (!expressions) continue;
    for (const Node& expression : expressions->items()) {
      const Node* key = expression.find("key");
      const Node* values = expression.find("values");
      if (key && key->text() == kInstanceTypeLabel && values && !values->items().empty())
        return values->items().front().text();
    }
  }
  return {};
}

void set_devices(facts::Circumstances& circumstances, const Node& container) {
  const Node* limits = node_at(container, "resources.limits");
  if (!limits) return;
  for (const Node::Entry& limit : limits->entries()) {
    if (limit.key == "vpc.amazonaws.com/efa") circumstances.fabric = true;
    if (limit.key == "nvidia.com/gpu") circumstances.accelerator = "gpu";
    if (limit.key.starts_with("aws.amazon.com/neuron")) circumstances.accelerator = "neuron";
  }
}

// Kinds of which one object is a group of pods that talk to each other.
bool is_of_pods(const std::string& kind) {
  static constexpr std::array<std::string_view, 9> kKinds = {
      "PyTorchJob", "MPIJob",          "JobSet",     "TrainJob",          "RayCluster",
      "RayJob",     "LeaderWorkerSet", "RayService", "HyperPodPyTorchJob"};
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

std::vector<EnvironmentEntry> variables_of(const Node& container) {
  std::vector<EnvironmentEntry> entries;
  const Node* variables = container.find("env");
  if (!variables) return entries;
  for (const Node& variable : variables->items()) {
    const Node* name = variable.find("name");
    const Node* value = variable.find("value");
    if (!name || !is_of_fabric_or_nccl(name->text())) continue;
    // "$" stands for what is read from elsewhere when the pod starts.
    const bool elsewhere = variable.find("valueFrom") != nullptr;
    entries.push_back({name->text(),
                       elsewhere ? "$"
                       : value   ? value->text()
                                 : "",
                       variable.where()});
  }
  return entries;
}

}  // namespace

Findings check_object_environment(const Node& object, const facts::Facts& known) {
  Findings findings;
  for (const Node* pod : pod_specs(object)) {
    for (const char* list : {"initContainers", "containers"}) {
      const Node* containers = pod->find(list);
      if (!containers) continue;
      for (const Node& container : containers->items()) {
        const auto entries = variables_of(container);
        if (entries.empty()) continue;
        facts::Circumstances circumstances;
        set_instance(circumstances, known, instance_type_of(*pod));
        circumstances.target = "kubernetes";
        // Of a node with EFA a pod has what it asks for.
        circumstances.fabric = false;
        set_devices(circumstances, container);
        circumstances.several_nodes = is_of_pods(text_at(object, "kind")) ||
                                      integer_at(object, "spec.parallelism").value_or(1) > 1;
        Findings found = check_environment_entries(entries, known.environment, circumstances);
        std::move(found.begin(), found.end(), std::back_inserter(findings));
      }
    }
  }
  return findings;
}

}  // namespace muster::lint
