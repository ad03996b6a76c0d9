// The files that let muster check run on a cluster: what Slurm calls before, after and beside jobs,
// batch scripts for idle nodes, and the objects of Kubernetes. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::health {

struct DeployedFile {
  std::string path;  ///< relative to the output folder
  std::string content;
  bool executable = false;
};

struct DeployOptions {
  std::string instance = "p5.48xlarge";   ///< what the nodes should be
  int accelerators = 8;                   ///< GPUs of one, which a sweep asks for
  std::string at_most = "5%";             ///< nodes that may be out of service at once
  std::string image = "${MUSTER_IMAGE}";  ///< of Kubernetes; holds muster and kubectl
};

/// slurm, kubernetes.
const std::vector<std::string>& deploy_targets();

/// prolog.sh, epilog.sh, health-check.sh, slurm-health.conf, sweep.sbatch, intensive.sbatch,
/// pytorch.sbatch.
std::vector<DeployedFile> deploy_slurm(const DeployOptions& options);

/// agent.yaml (namespace, account, role, DaemonSet), sweep.yaml (CronJob), pytorch.yaml (Job).
std::vector<DeployedFile> deploy_kubernetes(const DeployOptions& options);

}  // namespace muster::health
