// The objects of each kind that a case can ask for. Each function expects a workload that
// refuse_kubernetes() has nothing against.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/kubernetes_pod.h"

namespace muster::launch {

// Training (kubernetes_training.cpp).
std::vector<Node> pytorch_job(const KubeSite& site);
std::vector<Node> mpi_job(const KubeSite& site);
std::vector<Node> job_set(const KubeSite& site);
std::vector<Node> indexed_job(const KubeSite& site);
std::vector<Node> train_job(const KubeSite& site);
std::vector<Node> hyperpod_pytorch_job(const KubeSite& site);

/// What a pod of a HyperPodPyTorchJob starts. Error: something that the case asks of torchrun and
/// that hyperpodrun, which takes its place, has not.
Result<std::vector<Word>> hyperpod_agent_command(const KubeSite& site);

/// One step of the case as a Job.
Node step_job(const KubeSite& site, const catalog::Step& step);

// Ray (kubernetes_ray.cpp).
std::vector<Node> ray_job(const KubeSite& site);
std::vector<Node> ray_cluster(const KubeSite& site);
std::vector<Node> ray_service(const KubeSite& site);

// Serving (kubernetes_serving.cpp).
std::vector<Node> deployments(const KubeSite& site);
std::vector<Node> leader_worker_sets(const KubeSite& site);
std::vector<Node> dynamo_graph(const KubeSite& site);
std::vector<Node> inference_endpoint(const KubeSite& site);

/// The case's services; where it has none, its entry point as one, called "server".
std::vector<catalog::Service> services_of(const KubeSite& site);

/// <object>-<name>.
std::string part_name(const KubeSite& site, const std::string& name);

/// What the workload, or the cluster's object, can't do on these targets; located in the manifest.
Findings refuse_kubernetes(const KubeSite& site);

}  // namespace muster::launch
