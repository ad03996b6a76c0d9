// Kubernetes objects against their types, strictly, and against what the API server and the
// operators ask beyond types.
#pragma once

#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/finding.h"
#include "facts/facts.h"
#include "lint/kubernetes_types.h"

namespace muster::lint {

/// The label of a node with its instance type.
inline constexpr std::string_view kInstanceTypeLabel = "node.kubernetes.io/instance-type";

/// All that is wrong with one object: unknown and missing keys, types, choices, then the rules of
/// kubernetes_rules.cpp. A kind that nobody described is a warning: it was not checked.
Findings check_object(const Node& object, const KubeTypes& types);

/// The rules alone, on an object of a known type.
Findings check_object_rules(const Node& object);

/// Variables of the fabric and of NCCL in the containers of an object: env-*, lint/environment.h.
Findings check_object_environment(const Node& object, const facts::Facts& known);

/// The kind of cluster that objects are for.
enum class Cluster {
  kAny,       ///< nobody said
  kPlain,     ///< EKS or another without HyperPod: a folder called kubernetes
  kHyperpod,  ///< a folder called hyperpod-eks
};

/// What HyperPod needs and an object lacks, when it is for HyperPod, by its folder or by what it
/// names; and what only HyperPod has, in an object that is not for it. Rule identifiers:
///   kubernetes-hyperpod-health    no affinity for healthy nodes, no toleration (warning)
///   kubernetes-hyperpod-instance  an instance type without ml.
///   kubernetes-hyperpod-retries   automatic resumption without a number of retries
///   kubernetes-hyperpod-launcher  a HyperPodPyTorchJob without hyperpodrun (warning)
///   kubernetes-hyperpod-disk      the node's disks where HyperPod has none (warning)
///   kubernetes-hyperpod-queue     a priority without a queue (warning)
///   kubernetes-hyperpod-only      what only HyperPod's nodes have
Findings check_hyperpod(const Node& object, Cluster cluster);

/// Every pod spec in an object, at any depth.
std::vector<const Node*> pod_specs(const Node& object);

}  // namespace muster::lint
