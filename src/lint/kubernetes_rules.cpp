// What the API server, the operators and the devices of a node ask beyond types.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"
#include "catalog/secrets.h"
#include "lint/kubernetes_objects.h"
#include "lint/kubernetes_rules.h"

namespace muster::lint {
namespace {

constexpr const char* kAutoResume = "sagemaker.amazonaws.com/enable-job-auto-resume";

class ObjectRules {
 public:
  explicit ObjectRules(const Node& object) : object_(object), kind_(text_at(object, "kind")) {}

  Findings all() {
    name();
    const auto specs = pod_specs(object_);
    for (const Node* spec : specs) pod(*spec);
    if (kind_ == "Job") job();
    if (kind_ == "Deployment" || kind_ == "StatefulSet" || kind_ == "DaemonSet") workload();
    check_kubeflow(object_, kind_, found_);
    check_sets(object_, kind_, found_);
    check_ray(object_, kind_, found_);
    auto_resume();
    return found_.take();
  }

 private:
  void wrong(const Node& node, const char* rule, std::string message, std::string hint = {}) {
    found_.wrong(node, rule, std::move(message), std::move(hint));
  }
  void warn(const Node& node, const char* rule, std::string message, std::string hint = {}) {
    found_.warn(node, rule, std::move(message), std::move(hint));
  }

  void name() {
    const Node* metadata = node_at(object_, "metadata");
    if (metadata == nullptr) return wrong(object_, "kubernetes-missing-key", "metadata is missing");
    const Node* name = node_at(*metadata, "name");
    if (name == nullptr) {
      if (node_at(*metadata, "generateName") == nullptr)
        wrong(*metadata, "kubernetes-missing-key", "metadata.name is missing");
      return;
    }
    const std::string& text = name->text();
    if (kind_.find("Role") != std::string::npos || text.find('$') != std::string::npos) return;
    // Names that their operators make Services of, with what they add to them.
    static const std::map<std::string, std::size_t> kServices = {
        {"PyTorchJob", 63},      {"MPIJob", 63},     {"JobSet", 63}, {"TrainJob", 63},
        {"LeaderWorkerSet", 63}, {"RayCluster", 53}, {"RayJob", 47}, {"RayService", 47},
    };
    static const std::set<std::string> kLabels = {"Service", "Namespace", "DynamoGraphDeployment",
                                                  "HyperPodPyTorchJob"};
    const auto service = kServices.find(kind_);
    const std::size_t longest = service != kServices.end() ? service->second : 63;
    if (service != kServices.end()) {
      if (is_service_name(text) && text.size() <= longest) return;
    } else if (kLabels.count(kind_) > 0 ? is_dns_label(text) : is_subdomain(text)) {
      return;
    }
    std::string hint = "lower-case letters, digits and inner dashes";
    if (service != kServices.end()) hint += ", first a letter";
    if (text.size() > longest)
      hint = fmt::format("at most {} characters, this one {}", longest, text.size());
    wrong(*name, "kubernetes-name", fmt::format("\"{}\" is no name of a {}", text, kind_), hint);
  }

  // Whether a pod in the object is all there is of it: others give their operator a part to fill
  // in.
  bool is_whole() const {
    static const std::set<std::string> kParts = {
        "TrainJob", "ClusterTrainingRuntime", "DynamoGraphDeployment", "InferenceEndpointConfig"};
    return kParts.count(kind_) == 0;
  }

  void pod(const Node& spec) {
    std::set<std::string> volumes;
    for (const Node& volume : items_at(spec, "volumes")) {
      const std::string name = text_at(volume, "name");
      if (!volumes.insert(name).second)
        wrong(volume, "kubernetes-volume", fmt::format("two volumes are called \"{}\"", name));
      if (text_at(volume, "hostPath.path") == "/dev/shm")
        warn(volume, "kubernetes-shm", "the node's /dev/shm is shared with its other pods",
             "emptyDir: {medium: Memory, sizeLimit: 64Gi}");
    }
    std::set<std::string> names;
    if (is_whole() && items_at(spec, "containers").empty())
      wrong(*spec.find("containers"), "kubernetes-container", "a pod has at least one container");
    for (const char* list : {"initContainers", "containers"}) {
      for (const Node& one : items_at(spec, list)) {
        const std::string name = text_at(one, "name");
        if (!names.insert(name).second)
          wrong(one, "kubernetes-container", fmt::format("two containers are called \"{}\"", name));
        container(one, volumes);
      }
    }
    for (const Node& toleration : items_at(spec, "tolerations")) {
      const bool exists = text_at(toleration, "operator") == "Exists";
      if (exists && !text_at(toleration, "value").empty())
        wrong(toleration, "kubernetes-toleration", "a toleration that Exists has no value");
      if (!exists && text_at(toleration, "key").empty())
        wrong(toleration, "kubernetes-toleration", "a toleration without key tolerates nothing",
              "operator: Exists tolerates every taint");
    }
  }

  void container(const Node& one, const std::set<std::string>& volumes) {
    for (const Node& mount : items_at(one, "volumeMounts")) {
      const std::string name = text_at(mount, "name");
      if (volumes.count(name) == 0 && kind_ != "StatefulSet" && is_whole())
        wrong(mount, "kubernetes-volume", fmt::format("no volume is called \"{}\"", name));
    }
    std::set<std::string> variables;
    for (const Node& variable : items_at(one, "env")) {
      const std::string name = text_at(variable, "name");
      const std::string value = text_at(variable, "value");
      if (!variables.insert(name).second)
        warn(variable, "kubernetes-env", fmt::format("{} is set twice; the last one holds", name));
      if (!value.empty() && node_at(variable, "valueFrom") != nullptr)
        wrong(variable, "kubernetes-env", fmt::format("{} has a value and a valueFrom", name));
      if (!value.empty() && value.find('$') == std::string::npos &&
          catalog::looks_like_secret(name, value))
        wrong(variable, "kubernetes-secret", fmt::format("{} holds a credential", name),
              "valueFrom: {secretKeyRef: {name: NAME, key: KEY}}");
    }
    image(one);
    resources(one);
  }

  void image(const Node& container) {
    const Node* image = node_at(container, "image");
    if (image == nullptr || image->text().empty()) {
      if (is_whole()) wrong(container, "kubernetes-container", "a container needs an image");
      return;
    }
    const std::string& text = image->text();
    if (text.find_first_of("$@") != std::string::npos) return;
    const std::size_t slash = text.rfind('/');
    const std::size_t colon = text.find(':', slash == std::string::npos ? 0 : slash);
    if (colon != std::string::npos && text.substr(colon + 1) != "latest") return;
    warn(*image, "kubernetes-image",
         fmt::format("image {} may be another one every time it is pulled", text),
         "a fixed tag or a digest");
  }

  // Devices and huge pages can't be overcommitted: a request is a limit.
  void resources(const Node& container) {
    bool pages = false, others = false;
    for (const char* list : {"resources.requests", "resources.limits"}) {
      for (const Node::Entry& amount : entries_at(container, list)) {
        pages |= amount.key.starts_with("hugepages-");
        others |= amount.key == "cpu" || amount.key == "memory";
      }
    }
    if (pages && !others)
      wrong(container, "kubernetes-resources", "huge pages need cpu or memory beside them");
    for (const Node::Entry& request : entries_at(container, "resources.requests")) {
      if (request.key.find('/') == std::string::npos && !request.key.starts_with("hugepages-"))
        continue;
      const Node* limits = node_at(container, "resources.limits");
      const Node* limit = limits ? limits->find(request.key) : nullptr;
      if (limit == nullptr || limit->text() != request.value.text())
        wrong(request.value, "kubernetes-resources",
              fmt::format("requests and limits of {} differ", request.key),
              "they are equal, or requests leaves it out");
    }
  }

  void job() {
    const Node* spec = node_at(object_, "spec.template.spec");
    if (spec == nullptr) return;
    const std::string policy = text_at(*spec, "restartPolicy");
    if (policy.empty() || policy == "Always")
      wrong(*spec, "kubernetes-restart-policy", "pods of a Job are restarted Never or OnFailure",
            "restartPolicy: Never");
    const Node* failures = node_at(object_, "spec.podFailurePolicy");
    if (failures != nullptr && policy != "Never")
      wrong(*failures, "kubernetes-job", "a pod failure policy needs pods that are not restarted",
            "restartPolicy: Never");
    if (text_at(object_, "spec.completionMode") != "Indexed") return;
    const auto completions = integer_at(object_, "spec.completions");
    const auto parallelism = integer_at(object_, "spec.parallelism");
    if (!completions) {
      wrong(*object_.find("spec"), "kubernetes-job", "an Indexed Job says how many completions");
    } else if (parallelism.value_or(1) < *completions) {
      warn(*object_.find("spec"), "kubernetes-job",
           fmt::format("{} of {} pods run at a time: they can't wait for each other",
                       parallelism.value_or(1), *completions),
           "parallelism equal to completions");
    }
  }

  void workload() {
    const Node* policy = node_at(object_, "spec.template.spec.restartPolicy");
    if (policy != nullptr && policy->text() != "Always")
      wrong(*policy, "kubernetes-restart-policy",
            fmt::format("pods of a {} are always restarted", kind_), "restartPolicy: Always");
    for (const Node::Entry& label : entries_at(object_, "spec.selector.matchLabels")) {
      const Node* labels = node_at(object_, "spec.template.metadata.labels");
      const Node* value = labels ? labels->find(label.key) : nullptr;
      if (value == nullptr || value->text() != label.value.text())
        wrong(label.value, "kubernetes-selector",
              fmt::format("the pods' labels lack {}: {}", label.key, label.value.text()),
              "selector.matchLabels selects template.metadata.labels");
    }
  }

  void auto_resume() {
    const Node* annotations = node_at(object_, "metadata.annotations");
    const Node* resume = annotations ? annotations->find(kAutoResume) : nullptr;
    if (resume != nullptr && kind_ != "PyTorchJob")
      warn(*resume, "kubernetes-auto-resume",
           fmt::format("{} has no effect on a {}", kAutoResume, kind_), "only on a PyTorchJob");
  }

  const Node& object_;
  const std::string kind_;
  RuleFindings found_;
};

}  // namespace

bool is_dns_label(std::string_view text) {
  const auto inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), inner);
}

bool is_service_name(std::string_view text) {
  return is_dns_label(text) && text.front() >= 'a';
}

bool is_subdomain(std::string_view text) {
  if (text.size() > 253) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

const std::vector<Node>& items_at(const Node& node, std::string_view key) {
  static const std::vector<Node> kNone;
  const Node* found = node_at(node, key);
  return found ? found->items() : kNone;
}

const std::vector<Node::Entry>& entries_at(const Node& node, std::string_view key) {
  static const std::vector<Node::Entry> kNone;
  const Node* found = node_at(node, key);
  return found ? found->entries() : kNone;
}

std::string annotation_of(const Node& object, std::string_view key) {
  const Node* annotations = node_at(object, "metadata.annotations");
  const Node* value = annotations ? annotations->find(key) : nullptr;
  return value ? value->text() : std::string();
}

void RuleFindings::wrong(const Node& node, const char* rule, std::string message,
                         std::string hint) {
  findings_.push_back(error_at(node.where(), rule, std::move(message), std::move(hint)));
}

void RuleFindings::warn(const Node& node, const char* rule, std::string message, std::string hint) {
  findings_.push_back(warning_at(node.where(), rule, std::move(message), std::move(hint)));
}

void RuleFindings::at_least(const Node& root, std::string_view key, std::int64_t least) {
  const Node* node = node_at(root, key);
  const auto value = node ? node->as_int() : std::nullopt;
  if (!value || *value >= least) return;
  wrong(*node, "kubernetes-range", fmt::format("{} is {}", key, *value),
        fmt::format("at least {}", least));
}

Findings check_object_rules(const Node& object) {
  return ObjectRules(object).all();
}

}  // namespace muster::lint
