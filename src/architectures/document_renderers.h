// One function a document; documents.cpp has the table of them.
#pragma once

#include <string>

#include "architectures/plan.h"

namespace muster::architectures {

// documents_hyperpod.cpp
std::string hyperpod_cluster(const Plan& plan, const facts::Facts& known);
std::string hyperpod_cluster_managed(const Plan& plan, const facts::Facts& known);
std::string hyperpod_cluster_eks(const Plan& plan, const facts::Facts& known);
std::string hyperpod_provisioning(const Plan& plan, const facts::Facts& known);
std::string hyperpod_users(const Plan& plan, const facts::Facts& known);

// documents_eks.cpp
std::string eksctl_config(const Plan& plan, const facts::Facts& known);

// documents_slurm.cpp
std::string slurmdbd_conf(const Plan& plan, const facts::Facts& known);
std::string pcluster_config(const Plan& plan, const facts::Facts& known);

// documents_directory.cpp
std::string sssd_conf(const Plan& plan, const facts::Facts& known);

/// The private subnet that a group stands in, as an output of the network.
std::string subnet_of(const Plan& plan, const catalog::NodeGroup& group);

/// Whether a group's nodes carry accelerators, and EFA.
bool has_accelerators(const catalog::NodeGroup& group, const facts::Facts& known);
bool has_efa(const Plan& plan, const catalog::NodeGroup& group);

}  // namespace muster::architectures
