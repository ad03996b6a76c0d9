// Runs of cases that another launcher than ours starts (torchrun, accelerate, …): what can't run
// here, how the processes are wrapped so that each leaves a log and says that it was there, and
// what the verdict holds them to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/case.h"
#include "launch/render.h"
#include "launch/workload.h"
#include "runs/judge.h"

namespace muster::launch {

/// Whether another launcher than native starts the case.
bool is_foreign(const catalog::ResolvedCase& resolved);

/// Where and with what a foreign run runs.
struct ForeignPlace {
  std::string run_id;
  std::filesystem::path run_directory;  ///< absolute
  std::filesystem::path project;        ///< absolute; where the launcher starts
  std::filesystem::path venv;           ///< absolute; empty: the system's Python
  std::filesystem::path data;           ///< of a data set that the facts know; else empty
};

/// Puts the wrapper (rendered/process.sh) before the program in the launcher's command. Error: a
/// launcher that starts no processes which can be wrapped (ray-job, server).
Result<void> wrap_processes(Workload& workload, const catalog::ResolvedCase& resolved,
                            const std::string& wrapper);

/// The wrapper: a log for each process, a line before and one after the program's own
/// (runs::ProcessLines). It hands signals on and ends with the program's code.
RenderedFile process_script(const std::filesystem::path& run_directory);

/// rendered/job.sh, which starts the launcher on this machine: once for each node of the case.
Rendered render_foreign_local(const Workload& workload, const ForeignPlace& place,
                              const Machine& machine);

/// The sbatch file of the case with what a run adds: the wrapper, its logs, its Python.
Result<Rendered> render_foreign_slurm(const Workload& workload,
                                      const catalog::ResolvedCase& resolved,
                                      const ForeignPlace& place);

/// What the verdict will hold the run to. Steps and the reading back of a checkpoint are asked only
/// of a program whose command names them (${batch.steps}); what no log can prove is not asked.
runs::Expectations foreign_expectations(const catalog::ResolvedCase& resolved);

}  // namespace muster::launch
