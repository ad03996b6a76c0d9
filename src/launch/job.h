// A job: what a run starts, before any scheduler is chosen. Pure data; rendered by render.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::launch {

/// What the slurm target takes from the manifest. Empty text: the cluster's default.
struct SlurmOptions {
  std::string partition;
  std::string account;
  std::string time;                  ///< limit as sbatch takes it, e.g. 00:30:00 or 2-00:00:00
  std::string mpi = "pmix";          ///< srun --mpi=
  bool requeue = true;               ///< back into the queue when a node fails
  bool auto_resume = false;          ///< srun --auto-resume=1, on HyperPod nodes only
  std::vector<std::string> options;  ///< further sbatch options, as written after #SBATCH
};

struct Job {
  std::string run_id;
  std::string case_name;

  int nodes = 1;
  int ranks_per_node = 1;
  int threads = 1;  ///< per rank
  int gpus_per_node = 0;
  std::optional<double> memory;  ///< bytes of a node; empty: the cluster's default
  double start_timeout = 600;    ///< seconds until every node must have answered
  int world() const { return nodes * ranks_per_node; }

  /// One rank's program with its arguments. Absolute, since a node's directory may differ.
  std::vector<std::string> program;
  std::vector<std::string> profiler;  ///< words that go before it; may be empty

  /// Environment of every rank, on top of what the target sets; ordered. Never a secret.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> unset;

  /// Names of variables whose values stay in the environment of whoever submits: handed on by name,
  /// never written.
  std::vector<std::string> secrets;
  /// Variables that take the value of one of `secrets`: {"HUB_TOKEN", "HF_TOKEN"}.
  std::vector<std::pair<std::string, std::string>> references;

  std::filesystem::path run_directory;  ///< absolute
  std::filesystem::path project;        ///< absolute; where the ranks start

  SlurmOptions slurm;
};

}  // namespace muster::launch
