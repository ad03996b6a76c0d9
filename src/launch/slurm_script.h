// Workload -> batch scripts for Slurm. Pure.
#pragma once

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

/// "HH:MM:SS" of seconds, as sbatch --time takes it.
std::string slurm_time(double seconds);

}  // namespace muster::launch
