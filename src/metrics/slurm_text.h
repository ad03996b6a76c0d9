// Rows of Slurm's commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "health/slurm_nodes.h"

namespace muster::metrics {

struct SlurmNode {
  std::string name;
  health::NodeState state;
  double cpus = 0, cpus_alloc = 0;
  double memory = 0, memory_alloc = 0;  ///< MiB
  double gpus = 0, gpus_alloc = 0;
  std::vector<std::string> partitions;
};

struct SlurmJob {
  std::string partition, state, account, user, reason;
  double cpus = 0, gpus = 0;
};

/// `scontrol --oneliner show nodes`. Lines that are no node are counted.
std::vector<SlurmNode> parse_slurm_nodes(std::string_view text, int& not_understood);

/// squeue in columns of kSlurmJobFormat.
std::vector<SlurmJob> parse_slurm_jobs(std::string_view text, int& not_understood);

/// GPUs in a list of trackable resources: "cpu=8,gres/gpu=4,gres/gpu:h100=4" has 4.
double gpus_of_tres(std::string_view tres);

/// Lines without their ends.
std::vector<std::string_view> slurm_lines(std::string_view text);

}  // namespace muster::metrics
