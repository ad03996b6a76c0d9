// Job x target -> the files and the command that start it. Pure: no disk, no clock, no process.
// What is rendered is exactly what `--dry-run` prints and what a run submits.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/job.h"
#include "launch/target.h"

namespace muster::launch {

/// What the rendering must know of the machine that starts a local run.
struct Machine {
  int cores = 1;      ///< that this process may use
  bool root = false;  ///< mpirun refuses root unless told
  bool cross_memory =
      true;  ///< a process may read another's memory (MPI copies once instead of twice)
};

/// The machine that this process runs on.
Machine this_machine();

struct RenderedFile {
  std::string path;  ///< relative to the run directory, e.g. rendered/job.sh
  std::string content;
  bool executable = false;
};

struct Rendered {
  std::vector<RenderedFile> files;
  std::vector<std::string> command;   ///< that submits or starts the job, in the project's folder
  std::vector<std::string> programs;  ///< that must be there to do it: mpirun, or sbatch and squeue
};

/// Errors: a world of less than one rank, a value that Slurm or the shell can't carry (a line
/// break).
Result<Rendered> render(const Job& job, Target target, const Machine& machine);

/// A job name that Slurm takes and shows whole: letters, digits, `-`, `_`, `.`; starts with
/// "muster-".
std::string slurm_job_name(const std::string& case_name);
}  // namespace muster::launch
