// PyTorchJobs, MPIJobs and TrainJobs with their runtimes, as Kubeflow's webhooks and controllers
// look at them.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"
#include "lint/kubernetes_objects.h"
#include "lint/kubernetes_rules.h"

namespace muster::lint {
namespace {

constexpr std::string_view kTrainer = "trainer.kubeflow.org";
constexpr std::string_view kStep = "trainer.kubeflow.org/trainjob-ancestor-step";
constexpr std::string_view kDatasetJob = "dataset-initializer";
constexpr std::string_view kModelJob = "model-initializer";

void replica_kinds(const Node& object, const std::string& kind, const char* key,
                   const std::array<const char*, 2>& known, RuleFindings& found) {
  for (const Node::Entry& replicas : entries_at(object, key)) {
    if (std::find(known.begin(), known.end(), replicas.key) != known.end()) continue;
    found.wrong(Node::null(replicas.where), kReplicasRule,
                fmt::format("a {} has no replicas called {}", kind, replicas.key),
                fmt::format("{}, {}", known.front(), known.back()));
  }
}

void fixed_rank(const Node& container, RuleFindings& found) {
  for (const char* list : {"command", "args"}) {
    for (const Node& word : items_at(container, list)) {
      const std::string& text = word.text();
      if (text.find("--node_rank") == std::string::npos &&
          text.find("--node-rank") == std::string::npos)
        continue;
      found.wrong(word, "kubernetes-elastic",
                  "a fixed node rank and an elastic rendezvous exclude each other",
                  "leave --node_rank out");
    }
  }
}

void pytorch_job(const Node& object, RuleFindings& found) {
  replica_kinds(object, "PyTorchJob", "spec.pytorchReplicaSpecs", {"Master", "Worker"}, found);
  if (const Node* master = node_at(object, "spec.pytorchReplicaSpecs.Master")) {
    const Node* replicas = master->find("replicas");
    if (integer_at(*master, "replicas") != 1)
      found.wrong(replicas ? *replicas : *master, kReplicasRule, "a PyTorchJob has one Master",
                  "replicas: 1");
  }
  const Node* elastic = node_at(object, "spec.elasticPolicy");
  const Node* processes = elastic ? elastic->find("nProcPerNode") : nullptr;
  if (processes && node_at(object, "spec.nprocPerNode"))
    found.wrong(*processes, "kubernetes-elastic", "spec.nprocPerNode says it already",
                "leave elasticPolicy.nProcPerNode out");
  for (const Node* spec : pod_specs(object)) {
    const auto& containers = items_at(*spec, "containers");
    const bool named = std::any_of(containers.begin(), containers.end(), [](const Node& one) {
      return text_at(one, "name") == "pytorch";
    });
    if (!named && !containers.empty())
      found.wrong(*spec->find("containers"), "kubernetes-container",
                  "the operator looks for a container called pytorch", "name: pytorch");
    if (!elastic) continue;
    for (const Node& one : containers) fixed_rank(one, found);
  }
}

void mpi_job(const Node& object, RuleFindings& found) {
  replica_kinds(object, "MPIJob", "spec.mpiReplicaSpecs", {"Launcher", "Worker"}, found);
  const Node* specs = node_at(object, "spec.mpiReplicaSpecs");
  const Node* launcher = specs ? specs->find("Launcher") : nullptr;
  if (specs && !launcher)
    found.wrong(*specs, kReplicasRule, "an MPIJob has a Launcher", "Launcher: {template: …}");
  if (const Node* launchers = launcher ? launcher->find("replicas") : nullptr;
      launchers && launchers->as_int() != 1)
    found.wrong(*launchers, kReplicasRule, "an MPIJob has one Launcher");
  const Node* workers = node_at(object, "spec.mpiReplicaSpecs.Worker.replicas");
  const std::int64_t count = workers ? workers->as_int().value_or(1) : 1;
  if (count < 1)
    found.wrong(*workers, kReplicasRule, "an MPIJob has workers, or says nothing of them");
  found.at_least(object, "spec.slotsPerWorker", 0);
  for (const char* key : {"ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"})
    found.at_least(object, fmt::format("spec.runPolicy.{}", key), 0);
  const Node* name = node_at(object, "metadata.name");
  if (!name || name->text().find('$') != std::string::npos) return;
  const std::string last =
      fmt::format("{}-worker-{}", name->text(), std::max<std::int64_t>(1, count) - 1);
  if (last.size() > 63)
    found.wrong(*name, "kubernetes-name",
                fmt::format("a pod would be called \"{}\", with {} characters", last, last.size()),
                "at most 63: a shorter name of the MPIJob");
}

void train_job(const Node& object, RuleFindings& found) {
  if (const Node* reference = node_at(object, "spec.runtimeRef")) {
    const std::string group = text_at(*reference, "apiGroup"), kind = text_at(*reference, "kind");
    const bool known =
        kind.empty() || kind == "TrainingRuntime" || kind == "ClusterTrainingRuntime";
    if (!known || (!group.empty() && group != kTrainer))
      found.wrong(
          *reference, kReferenceRule,
          fmt::format("no runtime is a {} of {}", kind.empty() ? "ClusterTrainingRuntime" : kind,
                      group.empty() ? kTrainer : group),
          "kind: ClusterTrainingRuntime or TrainingRuntime, of trainer.kubeflow.org");
  }
  const Node* processes = node_at(object, "spec.trainer.numProcPerNode");
  if (processes && !processes->as_int()) {
    const std::string& text = processes->text();
    if (text != "auto" && text != "cpu" && text != "gpu")
      found.wrong(*processes, "kubernetes-choice", fmt::format("numProcPerNode is \"{}\"", text),
                  "a number, auto, cpu or gpu");
  }
  static const std::set<std::string> kReserved = {
      "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"};
  for (const Node& variable : items_at(object, "spec.trainer.env")) {
    const std::string name = text_at(variable, "name");
    if (kReserved.count(name) > 0)
      found.wrong(variable, "kubernetes-env", fmt::format("{} is the operator's to set", name));
  }
  std::set<std::string> targets;
  for (const Node& part : items_at(object, "spec.podSpecOverrides")) {
    for (const Node& one : items_at(part, "containers")) {
      const std::string name = text_at(one, "name");
      const bool own = name == "node" || name == kDatasetJob || name == kModelJob;
      if (const Node* variables = one.find("env"); own && variables)
        found.wrong(*variables, "kubernetes-env",
                    fmt::format("the variables of {} are no override's to set", name),
                    name == "node" ? "trainer.env" : "initializer");
    }
    for (const Node& target : items_at(part, "targetJobs")) {
      const std::string name = text_at(target, "name");
      if (!targets.insert(name).second)
        found.wrong(target, kReferenceRule,
                    fmt::format("the pods of {} are overridden twice", name));
    }
  }
}

void training_runtime(const Node& object, RuleFindings& found) {
  for (const Node& job : items_at(object, "spec.template.spec.replicatedJobs")) {
    const Node* labels = node_at(job, "template.metadata.labels");
    const Node* label = labels ? labels->find(kStep) : nullptr;
    const std::string step = label ? label->text() : std::string();
    const bool one = text_at(job, "name") == "launcher" || step == "trainer" ||
                     step == kDatasetJob || step == kModelJob;
    const Node* replicas = job.find("replicas");
    if (one && replicas && replicas->as_int() != 1)
      found.wrong(*replicas, kReplicasRule,
                  fmt::format("there is one {} in a runtime", text_at(job, "name")),
                  "numNodes says how many pods it has");
  }
}

/// The jobs of a runtime with the names of their containers.
using Jobs = std::map<std::string, std::set<std::string>, std::less<>>;

Jobs jobs_of(const Node& runtime) {
  Jobs jobs;
  for (const Node& job : items_at(runtime, "spec.template.spec.replicatedJobs")) {
    auto& containers = jobs[text_at(job, "name")];
    for (const char* list : {"initContainers", "containers"}) {
      for (const Node& one : items_at(job, fmt::format("template.spec.template.spec.{}", list)))
        containers.insert(text_at(one, "name"));
    }
  }
  return jobs;
}

void check_against(const Node& job, const Jobs& jobs, RuleFindings& found) {
  const auto initializer = [&](const char* key, std::string_view wanted) {
    const Node* asked = node_at(job, key);
    if (!asked) return;
    const auto with = jobs.find(wanted);
    if (with == jobs.end() || with->second.count(std::string(wanted)) == 0)
      found.wrong(*asked, kReferenceRule,
                  fmt::format("the runtime has no job {0} with a container {0}", wanted));
  };
  initializer("spec.initializer.dataset", kDatasetJob);
  initializer("spec.initializer.model", kModelJob);
  for (const Node& part : items_at(job, "spec.podSpecOverrides")) {
    for (const Node& target : items_at(part, "targetJobs")) {
      const std::string name = text_at(target, "name");
      const auto aimed = jobs.find(name);
      if (aimed == jobs.end()) {
        found.wrong(target, kReferenceRule, fmt::format("the runtime has no job \"{}\"", name));
        continue;
      }
      for (const char* list : {"initContainers", "containers"}) {
        for (const Node& one : items_at(part, list)) {
          if (aimed->second.count(text_at(one, "name")) == 0)
            found.wrong(one, kReferenceRule,
                        fmt::format("the runtime's job {} has no container \"{}\"", name,
                                    text_at(one, "name")));
        }
      }
    }
  }
}

}  // namespace

void check_kubeflow(const Node& object, const std::string& kind, RuleFindings& found) {
  if (kind == "PyTorchJob") pytorch_job(object, found);
  if (kind == "MPIJob") mpi_job(object, found);
  if (kind == "TrainJob") train_job(object, found);
  if (kind == "ClusterTrainingRuntime") training_runtime(object, found);
}

Findings check_train_jobs(const std::vector<Node>& documents) {
  RuleFindings found;
  for (const Node& job : documents) {
    if (text_at(job, "kind") != "TrainJob") continue;
    const std::string name = text_at(job, "spec.runtimeRef.name");
    for (const Node& runtime : documents) {
      if (text_at(runtime, "kind") == "ClusterTrainingRuntime" &&
          text_at(runtime, "metadata.name") == name)
        check_against(job, jobs_of(runtime), found);
    }
  }
  return found.take();
}

}  // namespace muster::lint
