// What Slurm's programs take and set. The data is facts/slurm-options.yaml.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

/// An option of sbatch or srun.
struct SlurmOption {
  enum class Value { kNone, kOptional, kRequired };
  std::string name;        ///< without dashes: ntasks-per-node
  char short_form = '\0';  ///< 'N', or 0 when there is none
  Value value = Value::kNone;

  bool operator==(const SlurmOption&) const = default;
};

struct SlurmOptions {
  std::vector<SlurmOption> sbatch, srun;  ///< with those of later releases and of pyxis
  std::vector<SlurmOption> pyxis;         ///< what the plugin pyxis adds to both
  std::vector<SlurmOption> hyperpod;      ///< what HyperPod alone adds, to srun
  std::vector<std::string> mpi;           ///< plugins that `srun --mpi=` knows
  std::vector<std::string> variables;     ///< set in the environment of jobs and tasks

  bool known() const { return !sbatch.empty(); }
};

/// "-a --array=", "--exclusive[=]", "--hold"; nothing when it has another form.
Result<SlurmOption> parse_slurm_option(const std::string& text);

Result<SlurmOptions> load_slurm_options(const FileSystem& files, const std::filesystem::path& root);
Result<SlurmOptions> parse_slurm_options(const std::string& text, const std::string& file);

/// By name or by short form, or null.
const SlurmOption* find_option(const std::vector<SlurmOption>& options, const std::string& name);
const SlurmOption* find_option(const std::vector<SlurmOption>& options, char short_form);

}  // namespace muster::facts
