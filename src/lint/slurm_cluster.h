// The files of a Slurm cluster beside slurm.conf: cgroup.conf, topology.conf and topology.yaml,
// slurmdbd.conf. Each is judged with the slurm.conf of its folder.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "base/finding.h"
#include "lint/slurm_conf.h"

namespace muster::lint {

using SlurmLines = std::vector<SlurmLine>;

/// Devices and processors that jobs are held to, against what slurm.conf asks for.
Findings check_cgroup(const SlurmLines& cgroup, const SlurmLines* slurm, const std::string& file);
/// Switches or blocks against each other and against the nodes.
Findings check_topology(const SlurmLines& topology, const SlurmLines* slurm);
Findings check_topology_yaml(const Node& topology, const SlurmLines* slurm);
/// The accounting daemon: where it is, its store, and whether passwords cross the network openly.
Findings check_slurmdbd(const SlurmLines& slurmdbd, const SlurmLines* slurm,
                        const std::string& file);

}  // namespace muster::lint
