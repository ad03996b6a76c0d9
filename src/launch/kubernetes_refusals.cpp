// What an object can't express, said before anything is rendered.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "launch/kubernetes_objects.h"

namespace muster::launch {
namespace {

class Refusals {
 public:
  explicit Refusals(const KubeSite& site) : site_(site), object_(site.target().object) {}

  Findings all() {
    names();
    pods();
    processes();
    storage_and_secrets();
    kinds();
    services();
    return std::move(findings_);
  }

 private:
  void refuse(const std::string& key, std::string message, std::string hint = {}) {
    findings_.push_back(
        error_at(where(key), "kubernetes-object", std::move(message), std::move(hint)));
  }

  // Where the manifest says something at the key or below it, else its target.
  Position where(const std::string& key) const {
    const auto& origins = site_.resolved.origins;
    for (const std::string& wanted :
         {key, std::string(site_.hyperpod ? "targets.hyperpod-eks" : "targets.kubernetes")}) {
      for (const auto& [name, origin] : origins) {
        const bool below = name == wanted || name.starts_with(wanted + ".");
        if (below && origin.where.line > 0) return origin.where;
      }
    }
    return {site_.resolved.file.string(), 1, 1};
  }

  bool is(std::initializer_list<const char*> kinds) const {
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const char* kind) { return object_ == kind; });
  }
  bool serves() const {
    return is({"Deployment", "LeaderWorkerSet", "DynamoGraphDeployment", "InferenceEndpointConfig",
               "RayService"});
  }

  void check_name(const std::string& key, const std::string& name, const std::string& what) {
    if (is_dns_label(name) && name[0] >= 'a') return;
    refuse(key, fmt::format("{} would be called \"{}\"", what, name),
           name.size() > 63
               ? fmt::format("names have at most 63 characters, this one {}", name.size())
               : "names are lower-case letters, digits and inner dashes, and start "
                 "with a letter");
  }

  void names() {
    const std::string& name = site_.workload.object_name;
    check_name("name", name, object_);
    // The longest name that the object's operator makes of it.
    const int last = std::max(0, site_.workload.nodes - 1);
    if (is({"JobSet", "TrainJob"}))
      check_name("name", fmt::format("{}-node-0-{}-xxxxx", name, last), "a pod");
    if (is({"PyTorchJob", "MPIJob"}))
      check_name("name", fmt::format("{}-worker-{}", name, last), "a pod");
    for (const catalog::Step& step : site_.values().steps)
      check_name("steps", part_name(site_, step.name), "a step's job");
  }

  void pods() {
    const Workload& workload = site_.workload;
    if (workload.image.empty()) {
      refuse("image", fmt::format("no image to run: a {} runs containers", object_),
             "set image.uri");
    }
    const facts::Instance* instance = workload.instance;
    if (instance == nullptr) return;
    const int there = instance->accelerators && instance->accelerators->count
                          ? *instance->accelerators->count
                          : 0;
    if (workload.resources.accelerators > there) {
      refuse("topology.accelerators_per_node",
             fmt::format("a pod asks for {} accelerators, {} has {}",
                         workload.resources.accelerators, instance->name, there));
    }
    for (const catalog::Service& service : site_.values().services) {
      if (service.accelerators > there) {
        refuse("services", fmt::format("a pod of {} asks for {} accelerators, {} has {}",
                                       service.name, service.accelerators, instance->name, there));
      }
    }
    if (workload.resources.efa > instance->network.efa_count.value_or(workload.resources.efa)) {
      refuse("topology.instance_type",
             fmt::format("a pod asks for {} EFA interfaces, {} has {}", workload.resources.efa,
                         instance->name, *instance->network.efa_count));
    }
    if (instance->cpu.vcpus && workload.resources.cpu &&
        *workload.resources.cpu > *instance->cpu.vcpus) {
      refuse("resources.cpu",
             fmt::format("a pod asks for {} cores, {} has {}", kube_cores(*workload.resources.cpu),
                         instance->name, *instance->cpu.vcpus));
    }
    if (instance->memory_bytes && workload.resources.memory &&
        *workload.resources.memory > *instance->memory_bytes) {
      refuse("resources.memory", fmt::format("a pod asks for {} of memory, {} has {}",
                                             kube_bytes(*workload.resources.memory), instance->name,
                                             kube_bytes(*instance->memory_bytes)));
    }
    if (site_.hyperpod && instance->ml && !*instance->ml) {
      refuse("topology.instance_type",
             fmt::format("{} is not offered to HyperPod clusters", instance->name));
    }
  }

  void processes() {
    const Workload& workload = site_.workload;
    if (workload.per_process && workload.processes > 1 && !is({"MPIJob"}) && !serves()) {
      refuse("launcher",
             fmt::format("a pod of a {} starts one process; {} processes need a launcher", object_,
                         workload.processes),
             "torchrun or mpirun");
    }
    if (is({"MPIJob"}) && site_.values().launcher != "mpirun") {
      refuse("launcher", fmt::format("an MPIJob starts its ranks with mpirun, not with {}",
                                     site_.values().launcher));
    }
    if (!is({"MPIJob"}) && site_.values().launcher == "mpirun" && workload.nodes > 1) {
      refuse("launcher", fmt::format("mpirun finds no way to the other pods of a {}", object_),
             "object: MPIJob");
    }
    if (site_.values().launcher == "hyperpodrun" && !is({"HyperPodPyTorchJob"})) {
      refuse("launcher", fmt::format("hyperpodrun has no operator to ask in a {}", object_),
             "object: HyperPodPyTorchJob on hyperpod-eks, or launcher: torchrun");
    }
    if (is({"HyperPodPyTorchJob"}) && site_.values().launcher != "hyperpodrun" &&
        site_.values().launcher != "torchrun") {
      refuse("launcher",
             fmt::format("the agent of a HyperPodPyTorchJob is hyperpodrun, not {}",
                         site_.values().launcher),
             "launcher: torchrun, or object: PyTorchJob");
    } else if (is({"HyperPodPyTorchJob"})) {
      const auto agent = hyperpod_agent_command(site_);
      for (const Finding& finding : agent.findings()) findings_.push_back(finding);
    }
    if (site_.values().rendezvous.backend == "etcd") {
      refuse("rendezvous.backend", "etcd needs a server beside the job; c10d does without",
             "backend: c10d");
    }
  }

  void storage_and_secrets() {
    for (const catalog::Mount& mount : site_.workload.mounts) {
      if (mount.claim.empty()) {
        refuse("storage.mounts",
               fmt::format("mount \"{}\" names no claim: a pod mounts volumes by their claims",
                           mount.name),
               "claim: NAME");
      }
      if (mount.name == "shm" || mount.name == "scratch") {
        refuse("storage.mounts",
               fmt::format("\"{}\" is the name of the volume that storage.{} makes", mount.name,
                           mount.name));
      }
    }
    for (const SecretVariable& secret : site_.workload.secrets) {
      if (secret.secret.empty() || secret.key.empty()) {
        refuse("secrets",
               fmt::format("{} does not say where the cluster keeps it: no value is ever written "
                           "into an object",
                           secret.env),
               "from: {secret: NAME, key: KEY}");
      }
    }
    if (site_.workload.resources.hugepages && !site_.workload.resources.memory &&
        !site_.workload.resources.cpu) {
      refuse("resources.hugepages_2Mi", "huge pages need a request for memory or cpu beside them",
             "set resources.memory");
    }
  }

  void kinds() {
    const bool elastic = site_.values().rendezvous.elastic;
    if (elastic && is({"IndexedJob", "JobSet", "MPIJob", "TrainJob"})) {
      refuse("rendezvous.elastic",
             fmt::format("the number of pods of {} {} is fixed",
                         object_ == "IndexedJob" ? "an" : "a", object_),
             "object: PyTorchJob, or elastic: false");
    }
    if (is({"RayService"}) && site_.values().entrypoint.module.empty()) {
      refuse("entrypoint", "a RayService imports an application", "entrypoint.module: MODULE:APP");
    }
    if (is({"HyperPodPyTorchJob"}) && site_.workload.resilience.hang &&
        site_.values().expect.pattern.empty()) {
      refuse("resilience.hang", "a hang is seen by lines of expect.pattern, which is not there");
    }
    const auto& steps = site_.values().steps;
    if (serves() && std::any_of(steps.begin(), steps.end(),
                                [](const catalog::Step& step) { return step.after; })) {
      refuse("steps", fmt::format("no step comes after a {}, which does not end", object_),
             "when: before");
    }
    if (is({"InferenceEndpointConfig"}) && site_.workload.instance_type.empty()) {
      refuse("topology", "an InferenceEndpointConfig names its instance type",
             "topology.instance_type");
    }
  }

  void services() {
    const std::vector<catalog::Service>& services = site_.values().services;
    if (!services.empty() && (!serves() || is({"RayService"}))) {
      refuse("services", fmt::format("a {} has no services", object_),
             "object: Deployment, LeaderWorkerSet or DynamoGraphDeployment");
      return;
    }
    if (!serves() || is({"RayService"})) return;
    if (is({"InferenceEndpointConfig"}) && services_of(site_).size() != 1) {
      refuse("services", "an InferenceEndpointConfig is one service");
    }
    for (const catalog::Service& service : services_of(site_)) {
      if (!is({"DynamoGraphDeployment", "InferenceEndpointConfig"})) {
        check_name("services", part_name(site_, service.name), "a service");
      }
      if (service.nodes > 1 && !is({"LeaderWorkerSet"})) {
        refuse(services.empty() ? "topology.nodes" : "services",
               fmt::format("a replica of {} has {} nodes; a pod of a {} runs on one", service.name,
                           service.nodes, object_),
               "object: LeaderWorkerSet");
      }
      if (service.max_replicas < service.replicas) {
        refuse("services", fmt::format("{} has at least {} replicas and at most {}", service.name,
                                       service.replicas, service.max_replicas));
      }
      if (service.max_replicas > service.replicas &&
          is({"DynamoGraphDeployment", "InferenceEndpointConfig"})) {
        refuse("services",
               fmt::format("a {} does not scale by {}", object_,
                           service.scale_metric.empty() ? "cpu" : service.scale_metric),
               "leave max_replicas out");
      }
      if (!service.probe.empty() && service.port == 0) {
        refuse("services", fmt::format("{} has a probe and no port", service.name), "port: 8000");
      }
      if (is({"DynamoGraphDeployment"}) && !service.probe.empty()) {
        refuse("services", "Dynamo probes its components by itself", "leave probe out");
      }
    }
  }

  const KubeSite& site_;
  const std::string object_;
  Findings findings_;
};

}  // namespace

Findings refuse_kubernetes(const KubeSite& site) {
  return Refusals(site).all();
}

}  // namespace muster::launch
