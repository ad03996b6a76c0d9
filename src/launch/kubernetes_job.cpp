#include "launch/kubernetes_job.h"

#include <algorithm>
#include <cctype>

#include "base/schema.h"
#include "launch/kubernetes_pod.h"

namespace muster::launch {
namespace {

// How many pods a rendered document stands for.
int count_of(const Node& document, const char* path, int otherwise) {
  return static_cast<int>(integer_at(document, path).value_or(otherwise));
}

int pods_of(const std::string& kind, const Node& document) {
  if (kind == "Job") return count_of(document, "spec.parallelism", 1);
  if (kind == "PyTorchJob") {
    if (const auto least = integer_at(document, "spec.elasticPolicy.minReplicas"))
      return static_cast<int>(*least);
    return count_of(document, "spec.pytorchReplicaSpecs.Master.replicas", 0) +
           count_of(document, "spec.pytorchReplicaSpecs.Worker.replicas", 0);
  }
  if (kind == "MPIJob") {
    return count_of(document, "spec.mpiReplicaSpecs.Launcher.replicas", 1) +
           count_of(document, "spec.mpiReplicaSpecs.Worker.replicas", 0);
  }
  if (kind == "TrainJob") return count_of(document, "spec.trainer.numNodes", 1);
  int pods = 0;
  const auto add = [&](const char* list, const auto& of_item) {
    if (const Node* items = node_at(document, list); items && items->is_sequence())
      for (const Node& item : items->items()) pods += of_item(item);
  };
  if (kind == "JobSet") {
    add("spec.replicatedJobs", [](const Node& job) {
      return count_of(job, "replicas", 1) * count_of(job, "template.spec.parallelism", 1);
    });
  } else if (kind == "HyperPodPyTorchJob") {
    if (const auto least = integer_at(document, "spec.elasticPolicy.minReplicas"))
      return static_cast<int>(*least);
    add("spec.replicaSpecs",
        [](const Node& replicas) { return count_of(replicas, "replicas", 1); });
  } else if (kind == "RayJob" || kind == "RayCluster") {
    const std::string groups =
        kind == "RayJob" ? "spec.rayClusterSpec.workerGroupSpecs" : "spec.workerGroupSpecs";
    add(groups.c_str(), [](const Node& group) { return count_of(group, "minReplicas", 0); });
    ++pods;  // the head
  } else {
    pods = 1;
  }
  return pods;
}

// "batch/v1" and "Job" are "job.batch" for kubectl, whatever else is called a job.
std::string resource_of(const std::string& api_version, const std::string& kind) {
  std::string resource = kind;
  std::transform(resource.begin(), resource.end(), resource.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto slash = api_version.find('/');
  if (slash != std::string::npos) {
    // The version too: a cluster may serve several, whose status differs.
    resource += "." + api_version.substr(slash + 1) + "." + api_version.substr(0, slash);
  }
  return resource;
}

}  // namespace

Result<KubeJob> kube_job_of(const RenderedFile& file) {
  auto documents = parse_yaml_stream(file.content, file.path);
  if (!documents) return documents.error();
  KubeJob job;
  for (const Node& document : *documents) {
    const std::string kind = text_at(document, "kind");
    if (kind.empty()) continue;
    job.kind = kind;
    job.resource = resource_of(text_at(document, "apiVersion"), kind);
    job.name = text_at(document, "metadata.name");
    job.name_space = text_at(document, "metadata.namespace");
    if (kind != "Service" && kind != "ClusterTrainingRuntime") job.pods += pods_of(kind, document);
    const Node* labels = node_at(document, "metadata.labels");
    const Node* instance = labels ? labels->find(kInstanceLabel) : nullptr;
    if (instance && job.selectors.empty())
      job.selectors.push_back(std::string(kInstanceLabel) + "=" + instance->text());
    // The pod that hands a Ray job in is made by Ray's operator, with labels of its own.
    if (kind == "RayJob") job.selectors.push_back("batch.kubernetes.io/job-name=" + job.name);
  }
  if (job.name.empty()) {
    return Failure(error_at({file.path, 1, 1}, "kubernetes-object", "no object is rendered there",
                            "muster render case prints what a case renders"));
  }
  return job;
}

}  // namespace muster::launch
