// Workload -> batch scripts for Slurm. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/case.h"
#include "launch/render.h"
#include "launch/workload.h"

namespace muster::launch {

/// slurm/<model>.sbatch, and where the case has steps slurm/<model>-<n>-<step>.sbatch and
/// slurm/<model>-submit.sh, which chains them. Each script stands alone, wherever Slurm copies it:
/// it asks for its resources, proves that every node answers, and starts the command on each.
/// Exit code 124: a node did not come within the start timeout; it is named.
/// Errors: located, for values that sbatch can't carry.
Result<Rendered> render_slurm_workload(const Workload& workload,
                                       const catalog::ResolvedCase& resolved);

/// The pyxis form of an image: "ghcr.io/x/y:1" -> "ghcr.io#x/y:1"; "x/y:1" and paths as they are.
std::string pyxis_image(const std::string& uri);

/// Lines of a batch script that list the job's nodes in `hosts`; the first is where the others
/// meet.
std::string slurm_hosts();

/// Lines of a batch script behind slurm_hosts(): every node runs a first step within the limit
/// (seconds), or the job ends with exit code 124 and names those that did not. `spare` may be
/// missing.
std::string slurm_answers(double start_timeout, int spare);

/// "HH:MM:SS" of seconds, as sbatch --time takes it.
std::string slurm_time(double seconds);

}  // namespace muster::launch
