// RayClusters, RayJobs and RayServices, as KubeRay's webhooks and controllers look at them.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"
#include "lint/kubernetes_rules.h"

namespace muster::lint {
namespace {

constexpr const char* kRay = "kubernetes-ray";
constexpr const char* kGate = "kubernetes-ray-gate";
constexpr std::string_view kAutoscalerVariable = "RAY_enable_autoscaler_v2";

const Node* variable_of(const Node& container, std::string_view name) {
  for (const Node& variable : items_at(container, "env")) {
    if (text_at(variable, "name") == name) return &variable;
  }
  return nullptr;
}

const Node* first_container(const Node& group) {
  const auto& containers = items_at(group, "template.spec.containers");
  return containers.empty() ? nullptr : &containers.front();
}

const Node* start_parameter(const Node& group, std::string_view name) {
  const Node* parameters = node_at(group, "rayStartParams");
  const Node* value = parameters ? parameters->find(name) : nullptr;
  return value && !value->text().empty() ? value : nullptr;
}

bool is_on(const Node& root, std::string_view key) {
  return text_at(root, key) == "true";
}

// A time as Go writes it (1h30m), or whole seconds; more than none.
bool is_time(std::string_view text) {
  if (text.find_first_not_of("0123456789") == std::string_view::npos)
    return text.find_first_not_of('0') != std::string_view::npos;
  bool any = false;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    if (digits == 0) return false;
    any |= text.substr(0, digits).find_first_not_of("0.") != std::string_view::npos;
    text.remove_prefix(digits);
    static constexpr std::array<std::string_view, 6> kUnits = {"ns", "us", "ms", "s", "m", "h"};
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                   [&](std::string_view one) { return text.starts_with(one); });
    if (unit == kUnits.end()) return false;
    text.remove_prefix(unit->size());
  }
  return any;
}

class ClusterRules {
 public:
  ClusterRules(const Node& object, const Node& spec, RuleFindings& found)
      : object_(object), spec_(spec), head_(spec.find("headGroupSpec")), found_(found) {}

  void check() {
    scales_ = is_on(spec_, "enableInTreeAutoscaling");
    if (head_ != nullptr) group(*head_, "the head");
    std::set<std::string> names;
    for (const Node& workers : items_at(spec_, "workerGroupSpecs")) {
      const std::string name = text_at(workers, "groupName");
      if (!names.insert(name).second)
        found_.wrong(workers, kRay, fmt::format("two groups of workers are called \"{}\"", name));
      group(workers, name);
      if (is_on(workers, "suspend")) suspended(workers, name);
    }
    const Node* container = head_ ? first_container(*head_) : nullptr;
    if (container == nullptr) return;
    fault_tolerance(*container);
    autoscaler(*container);
  }

 private:
  void group(const Node& group, const std::string& name) {
    if (!entries_at(group, "resources").empty()) {
      for (const char* parameter : {"num-cpus", "num-gpus", "memory", "resources"}) {
        if (const Node* value = start_parameter(group, parameter))
          found_.wrong(*value, kRay,
                       fmt::format("the resources of {} are told twice, by {} and by resources",
                                   name, parameter));
      }
    }
    const Node* parameters = node_at(group, "rayStartParams");
    if (const Node* labels = parameters ? parameters->find("labels") : nullptr)
      found_.wrong(*labels, kRay, fmt::format("the labels of {} are no parameter", name),
                   "labels: beside rayStartParams");
  }

  void suspended(const Node& workers, const std::string& name) {
    if (scales_)
      return found_.wrong(workers, kRay,
                          fmt::format("{} can't be suspended where the autoscaler decides", name));
    found_.warn(workers, kGate,
                fmt::format("{} can only be suspended where the operator has the feature gate "
                            "RayJobDeletionPolicy",
                            name));
  }

  void fault_tolerance(const Node& container) {
    const Node* options = spec_.find("gcsFaultToleranceOptions");
    const bool set = options != nullptr && !options->is_null();
    const std::string asked = annotation_of(object_, "ray.io/ft-enabled");
    if (set && !asked.empty())
      found_.wrong(*options, kRay, "the annotation ray.io/ft-enabled says the same again",
                   "leave the annotation out");
    const auto instead = [&](const Node* found, const char* what, const char* field) {
      if (found)
        found_.wrong(*found, kRay,
                     fmt::format("{} has its place in gcsFaultToleranceOptions", what),
                     fmt::format("gcsFaultToleranceOptions.{}", field));
    };
    if (set || (asked != "true" && asked != "True"))
      instead(variable_of(container, "RAY_REDIS_ADDRESS"), "RAY_REDIS_ADDRESS", "redisAddress");
    if (set) {
      instead(start_parameter(*head_, "redis-password"), "redis-password", "redisPassword");
      instead(variable_of(container, "REDIS_PASSWORD"), "REDIS_PASSWORD", "redisPassword");
      if (!annotation_of(object_, "ray.io/external-storage-namespace").empty())
        instead(options, "ray.io/external-storage-namespace", "externalStorageNamespace");
    }
    instead(start_parameter(*head_, "redis-username"), "redis-username", "redisUsername");
    instead(variable_of(container, "REDIS_USERNAME"), "REDIS_USERNAME", "redisUsername");
  }

  void autoscaler(const Node& container) {
    const Node* variable = variable_of(container, kAutoscalerVariable);
    if (!scales_) {
      const std::string value = variable ? text_at(*variable, "value") : std::string();
      if (value == "1" || value == "true")
        found_.wrong(*variable, kRay, fmt::format("{} scales nothing here", kAutoscalerVariable),
                     "enableInTreeAutoscaling: true");
      return;
    }
    const std::string version = text_at(spec_, "autoscalerOptions.version");
    if (variable && !version.empty())
      found_.wrong(*variable, kRay, "the version of the autoscaler is told twice",
                   "autoscalerOptions.version alone");
    if (version != "v2") return;
    never_restarted(*head_);
    for (const Node& workers : items_at(spec_, "workerGroupSpecs")) never_restarted(workers);
  }

  void never_restarted(const Node& group) {
    const Node* policy = node_at(group, "template.spec.restartPolicy");
    if (policy && policy->text() != "Never")
      found_.wrong(*policy, "kubernetes-restart-policy",
                   "the autoscaler's second version starts pods anew itself",
                   "restartPolicy: Never");
  }

  const Node& object_;
  const Node& spec_;
  const Node* head_;
  RuleFindings& found_;
  bool scales_ = false;
};

void check_job(const Node& object, RuleFindings& found) {
  const Node* spec = node_at(object, "spec");
  if (spec == nullptr) return;
  const bool ends = is_on(*spec, "shutdownAfterJobFinishes");
  const Node* suspend = is_on(*spec, "suspend") ? spec->find("suspend") : nullptr;
  if (suspend && !ends)
    found.wrong(*suspend, kRay, "a job that leaves its cluster behind can't be suspended",
                "shutdownAfterJobFinishes: true");
  const Node* lives = spec->find("ttlSecondsAfterFinished");
  found.at_least(*spec, "ttlSecondsAfterFinished", 0);
  if (lives && !ends && lives->as_int().value_or(0) > 0)
    found.wrong(*lives, kRay, "a job that leaves its cluster behind has no time to live",
                "shutdownAfterJobFinishes: true");
  if (const Node* deletion = spec->find("deletionStrategy"))
    found.warn(*deletion, kGate,
               "only where the operator has the feature gate RayJobDeletionPolicy");
  found.at_least(*spec, "activeDeadlineSeconds", 1);
  found.at_least(*spec, "backoffLimit", 0);

  const std::string mode = text_at(*spec, "submissionMode");
  const auto& selector = entries_at(*spec, "clusterSelector");
  const Node* cluster = node_at(*spec, "rayClusterSpec");
  if (selector.empty()) {
    if (cluster == nullptr)
      found.wrong(*spec, kRay, "the job has no cluster to run on",
                  "rayClusterSpec or clusterSelector");
  } else {
    const Node& chosen = *spec->find("clusterSelector");
    if (suspend) found.wrong(*suspend, kRay, "a job on another's cluster can't be suspended");
    const Node* name = chosen.find("ray.io/cluster");
    if (name == nullptr || name->text().empty())
      found.wrong(chosen, kRay, "the cluster is not named", "ray.io/cluster: NAME");
    if (mode == "SidecarMode")
      found.wrong(chosen, kRay, "a sidecar is in a cluster of the job's own");
  }
  if (mode == "InteractiveMode" && integer_at(*spec, "backoffLimit").value_or(0) > 0)
    found.wrong(*spec->find("backoffLimit"), kRay, "an interactive job is not tried again");
  if (mode == "SidecarMode") {
    for (const char* key : {"submitterPodTemplate", "submitterConfig"}) {
      if (const Node* submitter = spec->find(key))
        found.wrong(*submitter, kRay, "a sidecar submits the job, and no pod of its own");
    }
    const Node* policy = node_at(*spec, "rayClusterSpec.headGroupSpec.template.spec.restartPolicy");
    if (policy && policy->text() != "Never")
      found.wrong(*policy, "kubernetes-restart-policy", "a head with the job's sidecar starts once",
                  "restartPolicy: Never");
  }
  if (const Node* environment = spec->find("runtimeEnvYAML");
      environment && !environment->text().empty()) {
    const auto read = parse_yaml(environment->text(), "runtimeEnvYAML");
    if (!read || !read->is_mapping())
      found.wrong(*environment, kRay, "runtimeEnvYAML holds no YAML mapping");
  }
}

void check_service(const Node& object, RuleFindings& found) {
  const Node* name =
      node_at(object, "spec.rayClusterConfig.headGroupSpec.headService.metadata.name");
  if (name) found.wrong(*name, kRay, "the operator names the head's Service", "leave its name out");
  found.at_least(object, "spec.rayClusterDeletionDelaySeconds", 0);
  const std::string limit = annotation_of(object, "ray.io/initializing-timeout");
  if (!limit.empty() && !is_time(limit))
    found.wrong(*node_at(object, "metadata.annotations"), kRay,
                fmt::format("ray.io/initializing-timeout is \"{}\", which is no time", limit),
                "such as 30m, or whole seconds");
}

}  // namespace

void check_ray(const Node& object, const std::string& kind, RuleFindings& found) {
  const char* where = nullptr;
  if (kind == "RayCluster") where = "spec";
  if (kind == "RayJob") where = "spec.rayClusterSpec";
  if (kind == "RayService") where = "spec.rayClusterConfig";
  if (where == nullptr) return;
  if (kind == "RayJob") check_job(object, found);
  if (kind == "RayService") check_service(object, found);
  if (const Node* spec = node_at(object, where)) ClusterRules(object, *spec, found).check();
}

}  // namespace muster::lint
