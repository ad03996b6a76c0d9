// Configurations of clusters that other tools make: eksctl, ParallelCluster, SageMaker HyperPod.
// Each is checked against what its tool's own version takes (facts/cluster-configs,
// facts/cloudformation), and then against the hardware, the purchase of capacity, and the files
// beside it.
//
//   eksctl-*             a ClusterConfig of eksctl.io
//   parallelcluster-*    a configuration with HeadNode and Scheduling
//   hyperpod-*           a request for create-cluster with the provisioning parameters, scripts and
//                        answers of the AWS CLI that lie in the same folder
#pragma once

#include <string>

#include "base/document.h"
#include "base/finding.h"
#include "facts/facts.h"
#include "lint/lint.h"

namespace muster::lint {

void check_eksctl(const Node& config, const facts::Facts& known, Findings& findings);
void check_parallelcluster(const Node& config, const facts::Facts& known, Findings& findings);
/// A create-cluster request and what lies beside it.
void check_hyperpod_cluster(const Node& request, const Source& source, const facts::Facts& known,
                            Findings& findings);
/// provisioning_parameters.json by itself.
void check_provisioning(const Node& parameters, Findings& findings);

}  // namespace muster::lint
