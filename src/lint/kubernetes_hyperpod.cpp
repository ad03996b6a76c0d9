// What HyperPod's nodes, operator and queues ask of Kubernetes objects beyond other clusters
// (SageMaker HyperPod's developer guide, orchestration by EKS).
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/schema.h"
#include "lint/kubernetes_objects.h"

namespace muster::lint {
namespace {

constexpr std::string_view kDomain = "sagemaker.amazonaws.com/";
constexpr std::string_view kHealth = "sagemaker.amazonaws.com/node-health-status";
constexpr std::string_view kDeepHealth = "sagemaker.amazonaws.com/deep-health-check-status";
constexpr std::string_view kResume = "sagemaker.amazonaws.com/enable-job-auto-resume";
constexpr std::string_view kRetries = "sagemaker.amazonaws.com/job-max-retry-count";
constexpr std::string_view kQueue = "kueue.x-k8s.io/queue-name";
constexpr std::string_view kPriority = "kueue.x-k8s.io/priority-class";
constexpr std::string_view kOtherDisk = "/mnt/k8s-disks";

const std::vector<Node>& items_of(const Node* list) {
  static const std::vector<Node> kNone;
  return list ? list->items() : kNone;
}

const std::vector<Node::Entry>& entries_of(const Node* mapping) {
  static const std::vector<Node::Entry> kNone;
  return mapping ? mapping->entries() : kNone;
}

/// What a pod says of the nodes that it may run on.
struct Placement {
  std::vector<const Node*> types;  ///< instance types, where they are named
  const Node* healthy = nullptr;   ///< requires nodes that HyperPod holds for healthy
  bool prefers_tested = false;
  bool tolerates = false;
};

void read_expressions(const Node& term, Placement& placement) {
  for (const Node& expression : items_of(term.find("matchExpressions"))) {
    const std::string key = text_at(expression, "key");
    if (key == kHealth) placement.healthy = &expression;
    if (key == kDeepHealth) placement.prefers_tested = true;
    if (key != kInstanceTypeLabel) continue;
    for (const Node& value : items_of(expression.find("values"))) placement.types.push_back(&value);
  }
}

Placement placement_of(const Node& pod) {
  Placement placement;
  for (const Node::Entry& label : entries_of(pod.find("nodeSelector"))) {
    if (label.key == kInstanceTypeLabel) placement.types.push_back(&label.value);
    if (label.key == kHealth) placement.healthy = &label.value;
    if (label.key == kDeepHealth) placement.prefers_tested = true;
  }
  if (const Node* affinity = node_at(pod, "affinity.nodeAffinity")) {
    const Node* required =
        node_at(*affinity, "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    for (const Node& term : items_of(required)) read_expressions(term, placement);
    for (const Node& wish :
         items_of(affinity->find("preferredDuringSchedulingIgnoredDuringExecution"))) {
      Placement wished;
      if (const Node* preference = wish.find("preference")) read_expressions(*preference, wished);
      placement.prefers_tested |= wished.prefers_tested;
    }
  }
  for (const Node& toleration : items_of(pod.find("tolerations"))) {
    const std::string key = text_at(toleration, "key");
    placement.tolerates |= key == kHealth || key.empty();  // no key: every taint
  }
  return placement;
}

bool asks_for_accelerators(const Node& pod) {
  for (const Node& container : items_of(pod.find("containers"))) {
    for (const Node::Entry& limit : entries_of(node_at(container, "resources.limits"))) {
      if (limit.key == "nvidia.com/gpu" || limit.key.starts_with("aws.amazon.com/neuron"))
        return true;
    }
  }
  return false;
}

bool is_of_hyperpod(const Node* type) {
  return type->text().starts_with("ml.");
}

class Hyperpod {
 public:
  Hyperpod(const Node& object, Cluster cluster)
      : object_(object), kind_(text_at(object, "kind")), cluster_(cluster) {}

  Findings check() {
    const auto pods = pod_specs(object_);
    for (const Node* pod : pods) placements_.push_back(placement_of(*pod));
    if (cluster_ == Cluster::kPlain) {
      for (const Placement& placement : placements_) check_plain(placement);
      return std::move(findings_);
    }
    if (!is_meant()) return {};
    for (std::size_t i = 0; i < pods.size(); ++i) check_pod(*pods[i], placements_[i]);
    check_retries();
    check_queue();
    return std::move(findings_);
  }

 private:
  void wrong(const Node& node, const char* rule, std::string message, std::string hint) {
    findings_.push_back(error_at(node.where(), rule, std::move(message), std::move(hint)));
  }
  void warn(const Node& node, const char* rule, std::string message, std::string hint) {
    findings_.push_back(warning_at(node.where(), rule, std::move(message), std::move(hint)));
  }

  // An object that names nothing of HyperPod may be for any cluster.
  bool is_meant() const {
    if (cluster_ == Cluster::kHyperpod || kind_ == "HyperPodPyTorchJob") return true;
    for (const Node::Entry& entry : entries_of(node_at(object_, "metadata.annotations"))) {
      if (entry.key.starts_with(kDomain)) return true;
    }
    return std::any_of(placements_.begin(), placements_.end(), [](const Placement& placement) {
      const auto& types = placement.types;
      return placement.healthy ||
             (!types.empty() && std::all_of(types.begin(), types.end(), is_of_hyperpod));
    });
  }

  void check_plain(const Placement& placement) {
    if (placement.healthy) {
      wrong(*placement.healthy, "kubernetes-hyperpod-only",
            fmt::format("only HyperPod's nodes have the label {}: the pods stay pending", kHealth),
            "keep it in the objects for HyperPod");
    }
    const auto& types = placement.types;
    if (!types.empty() && std::all_of(types.begin(), types.end(), is_of_hyperpod)) {
      wrong(*types.front(), "kubernetes-hyperpod-only",
            fmt::format("only HyperPod's nodes are of a type {}: the pods stay pending",
                        types.front()->text()),
            types.front()->text().substr(3));
    }
  }

  void check_pod(const Node& pod, const Placement& placement) {
    const auto& types = placement.types;
    if (!types.empty() && std::none_of(types.begin(), types.end(), is_of_hyperpod)) {
      wrong(*types.front(), "kubernetes-hyperpod-instance",
            fmt::format("HyperPod's nodes have no instance type {}: the pods stay pending",
                        types.front()->text()),
            "ml." + types.front()->text());
    }
    if (asks_for_accelerators(pod)) check_health(pod, placement);
    for (const Node& volume : items_of(pod.find("volumes"))) {
      const Node* path = node_at(volume, "hostPath.path");
      if (path && path->text().starts_with(kOtherDisk)) {
        warn(*path, "kubernetes-hyperpod-disk",
             fmt::format("{} is where other clusters have the node's disks", path->text()),
             "/opt/dlami/nvme");
      }
    }
    if (kind_ == "HyperPodPyTorchJob") check_launcher(pod);
  }

  void check_health(const Node& pod, const Placement& placement) {
    std::vector<std::string> missing;
    if (!placement.healthy)
      missing.push_back(fmt::format("a required node affinity {} In [Schedulable]", kHealth));
    if (!placement.tolerates) missing.push_back(fmt::format("a toleration of {}", kHealth));
    if (!placement.prefers_tested)
      missing.push_back(fmt::format("a preferred node affinity {} In [Passed]", kDeepHealth));
    if (missing.empty()) return;
    warn(pod, "kubernetes-hyperpod-health",
         fmt::format("nothing keeps the pods off nodes that HyperPod is about to replace, or on "
                     "those that it tested: there is no {}",
                     fmt::join(missing, ", no ")),
         "as muster render --target hyperpod-eks writes them");
  }

  void check_launcher(const Node& pod) {
    for (const Node& container : items_of(pod.find("containers"))) {
      bool starts = false, found = false;
      for (const char* list : {"command", "args"}) {
        for (const Node& word : items_of(container.find(list))) {
          starts = true;
          found |= word.text().find("hyperpodrun") != std::string::npos;
        }
      }
      if (!starts || found) continue;
      warn(container, "kubernetes-hyperpod-launcher",
           "the operator of a HyperPodPyTorchJob talks to hyperpodrun, which nothing starts here",
           "hyperpodrun in the place of torchrun");
    }
  }

  void check_retries() {
    const Node* annotations = node_at(object_, "metadata.annotations");
    const Node* resume = annotations ? annotations->find(kResume) : nullptr;
    if (!resume || kind_ != "PyTorchJob") return;
    const Node* retries = annotations->find(kRetries);
    if (!retries) {
      warn(*resume, "kubernetes-hyperpod-retries",
           fmt::format("a job that resumes by itself says how often: {} is missing", kRetries),
           fmt::format("{}: \"3\"", kRetries));
      return;
    }
    const auto count = Node::scalar(retries->text(), false, {}).as_int();
    if (count && *count >= 0) return;
    wrong(*retries, "kubernetes-hyperpod-retries",
          fmt::format("{} is \"{}\", not a number of retries", kRetries, retries->text()), "\"3\"");
  }

  void check_queue() {
    const Node* labels = node_at(object_, "metadata.labels");
    const Node* priority = labels ? labels->find(kPriority) : nullptr;
    if (!priority || labels->find(kQueue)) return;
    warn(*priority, "kubernetes-hyperpod-queue",
         fmt::format("a priority means nothing outside of a queue: {} is missing", kQueue),
         fmt::format("{}: NAME", kQueue));
  }

  const Node& object_;
  const std::string kind_;
  const Cluster cluster_;
  std::vector<Placement> placements_;
  Findings findings_;
};

}  // namespace

Findings check_hyperpod(const Node& object, Cluster cluster) {
  return Hyperpod(object, cluster).check();
}

}  // namespace muster::lint
