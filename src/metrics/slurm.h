// A Slurm cluster, from what its own commands print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "health/slurm_nodes.h"
#include "metrics/exposition.h"

namespace muster::metrics {

/// What the commands below printed; empty: it failed.
struct SlurmTexts {
  std::string version;    ///< scontrol --version
  std::string nodes;      ///< scontrol --oneliner show nodes
  std::string jobs;       ///< squeue with kSlurmJobFormat
  std::string scheduler;  ///< sdiag
};

/// The fields of a job, each as wide as a name gets: partition, state, CPUs, account, user, reason,
/// what it was given.
extern const char* const kSlurmJobFormat;

std::vector<std::string> slurm_version_command();
std::vector<std::string> slurm_nodes_command();
std::vector<std::string> slurm_jobs_command();
std::vector<std::string> slurm_scheduler_command();

/// The one of slurm_nodes_<state> that a node counts under: alloc, comp, down, drain, …
const char* node_category(const health::NodeState& state);

/// The one of slurm_jobs_<state> that a job counts under.
const char* job_category(std::string_view state);

/// Nodes: each counts once for the cluster, and once for every partition that it is in. How many
/// lines were not understood.
int collect_slurm_nodes(std::string_view text, Exposition& to);
int collect_slurm_jobs(std::string_view text, Exposition& to);
int collect_slurm_scheduler(std::string_view text, Exposition& to);
void collect_slurm_version(std::string_view text, Exposition& to);

}  // namespace muster::metrics
