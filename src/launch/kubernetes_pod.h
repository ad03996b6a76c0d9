// The pods of a workload: what all Kubernetes objects that run it have in common.
#pragma once

#include <string>
#include <vector>

#include "catalog/case.h"
#include "launch/kubernetes_build.h"
#include "launch/workload.h"

namespace muster::launch {

/// What is rendered, and for which of the two targets.
struct KubeSite {
  const Workload& workload;
  const catalog::ResolvedCase& resolved;
  bool hyperpod = false;

  const catalog::Case& values() const { return resolved.values; }
  const catalog::KubernetesTarget& target() const {
    return hyperpod ? *values().targets.hyperpod_eks : *values().targets.kubernetes;
  }
};

/// One container and the pod around it, where it differs from the workload's other pods.
struct KubePart {
  std::string container;  ///< the container's name; some operators ask for a fixed one
  std::string app;        ///< value of the label app.kubernetes.io/component; empty: none
  std::string image;
  std::vector<Word> command;        ///< empty: the image's own
  std::vector<std::string> before;  ///< lines of shell that run before the command
  NodeResources resources;
  std::string restart_policy;  ///< empty: the operator's business
  int port = 0;                ///< a named port; 0: none
  std::string port_name;
  std::string probe;         ///< path of an HTTP health check on the port
  double start_limit = 600;  ///< seconds until it must be healthy
  std::string subdomain;     ///< the headless service that gives pods their names
};

/// The part that runs the workload's own command.
KubePart main_part(const KubeSite& site, std::string container);

/// A part that runs a step of the case.
KubePart step_part(const KubeSite& site, const catalog::Step& step);

/// A part that runs one of the case's services; `site.workload`'s command where it has none.
KubePart service_part(const KubeSite& site, const catalog::Service& service);

/// metadata of an object that is called `name`: name, namespace, labels, the queue, HyperPod's
/// annotations where `resumes`.
KubeMap kube_metadata(const KubeSite& site, const std::string& name, bool resumes = false);

/// The labels by which services and placement rules find a part's pods.
KubeMap pod_labels(const KubeSite& site, const std::string& component);

/// metadata and spec of a pod.
KubeMap pod_template(const KubeSite& site, const KubePart& part);

/// The spec alone.
KubeMap pod_spec(const KubeSite& site, const KubePart& part);

/// The container alone.
KubeMap container_of(const KubeSite& site, const KubePart& part);

/// Volumes of the pod, tolerations and affinity, for objects that take them apart from containers.
Node pod_volumes(const KubeSite& site, const KubePart& part);
Node pod_tolerations(const KubeSite& site, const KubePart& part);
Node pod_affinity(const KubeSite& site, const KubePart& part);

/// The environment: the workload's variables, then its secrets by reference.
Node container_environment(const KubeSite& site);

/// requests equal limits, so that a pod has what it asked for and nobody else's.
KubeMap container_resources(const KubeSite& site, const NodeResources& resources);

/// Words as a container's command: the words themselves, or a shell where they hold expansions or
/// lines come before them.
Node container_command(const std::vector<Word>& words, const std::vector<std::string>& before,
                       const std::vector<std::string>& unset);

/// Lines of shell that wait until all `names` resolve, at most `limit` seconds, and end the
/// container with exit code 124, saying who is missing. `list` is shell that prints the names.
std::vector<std::string> wait_for_nodes(const std::string& list, double limit);

/// The same until the ssh server of each answers; `end` and `list` are as wait_for_nodes leaves
/// them. A pod has a name before its server runs.
std::vector<std::string> wait_for_ssh(const std::string& list, double limit);

/// The label that every object of a run has, with the run's id, and the one that all its pods have,
/// with the name of its main object.
inline constexpr const char* kRunLabel = "muster-run";
inline constexpr const char* kInstanceLabel = "app.kubernetes.io/instance";

/// What `wait_for_nodes` ends a container with: the job fails at once, without a retry.
inline constexpr int kNodeMissing = 124;

/// The line of shell that says that a node's part of the job starts; `rank` is shell.
std::string node_started(const KubeSite& site, const std::string& rank);

}  // namespace muster::launch
