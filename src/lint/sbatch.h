// A Slurm batch script as sbatch reads it: its directives, and the shell script behind them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/slurm.h"
#include "lint/shell_script.h"

namespace muster::lint {

/// One option of a `#SBATCH` line.
struct SbatchOption {
  std::string name;   ///< long form; a short one that is not known stays "-x"
  std::string value;  ///< empty: none
  bool has_value = false;
  std::size_t at = 0;   ///< where it stands
  std::string written;  ///< as it stands, without the value
  bool is_known = false;
  bool wants_value = false;    ///< it needs one and has none
  bool refuses_value = false;  ///< it takes none and has one
};

struct SbatchScript {
  std::vector<SbatchOption> options;  ///< those that sbatch reads
  std::vector<std::size_t> late;      ///< `#SBATCH` lines behind the first command: not read
  std::vector<std::size_t> misspelt;  ///< "# SBATCH", "#sbatch", an indented "#SBATCH": not read
  bool has_interpreter = false;       ///< starts with "#!"
  std::size_t first_command = 0;      ///< where the script proper starts
  ShellScript shell;                  ///< the whole text

  /// The last value of an option, as Slurm takes it; null when it is not there.
  const SbatchOption* find(std::string_view name) const;
};

/// True for a text that has directives: a line that starts with "#SBATCH".
bool has_sbatch_directives(std::string_view text);

SbatchScript parse_sbatch(std::string_view text, const facts::SlurmOptions& known);

/// The options among a command's words from `first` on, up to the first word that is none: what
/// srun takes itself, before the program it starts. `program` becomes the index of that word.
std::vector<SbatchOption> parse_slurm_words(const std::vector<ShellWord>& words, std::size_t first,
                                            const std::vector<facts::SlurmOption>& known,
                                            std::size_t& program);

/// Where srun stands among a command's words: behind "exec", "time", "timeout 60" and the like.
std::optional<std::size_t> find_srun(const ShellCommand& command);

/// What one srun is given itself, before the program that it starts.
struct SrunOptions {
  std::vector<SbatchOption> written;  ///< among its own words
  std::vector<SbatchOption> listed;   ///< in arrays that it expands: srun "${container[@]}" …
};

/// Of the srun at word `srun` of a command of the script.
SrunOptions srun_options(const SbatchScript& script, const ShellCommand& command, std::size_t srun,
                         const std::vector<facts::SlurmOption>& known);

}  // namespace muster::lint
