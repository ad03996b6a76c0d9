// Runs of cases that another launcher than ours starts (torchrun, accelerate, …): what can't run
// here, how they are started, and what the verdict holds them to.
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
  std::string job_queue;                ///< of Batch; empty: the manifest's
  std::vector<Word> profiler;           ///< goes before each program; may be empty
};

/// What a run of the case starts on `target`, each process with its wrapper. Error: what the
/// launcher or the target can't do.
Result<Rendered> render_foreign(Workload workload, const catalog::ResolvedCase& resolved,
                                Target target, const ForeignPlace& place, const Machine& machine);

/// The objects of the case as one run submits them: every process writes to its pod's output, with
/// its rank before each line. The command makes them; what stands in it before `create` says which
/// cluster.
Result<Rendered> render_foreign_kubernetes(Workload workload, const catalog::ResolvedCase& resolved,
                                           Target target, const ForeignPlace& place);

/// The job definition of the case as one run registers it: every process writes to its node's
/// stream, with its rank before each line.
Result<Rendered> render_foreign_batch(Workload workload, const catalog::ResolvedCase& resolved,
                                      const ForeignPlace& place);

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
