// What Slurm's commands print, as data. Pure; what is not understood is kept and shown, never taken
// for good.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runs/judge.h"

namespace muster::launch {

struct SlurmJob {
  std::string id;
  std::string cluster;  ///< empty: the only one
};

/// `sbatch --parsable`: "12" or "12;cluster", after any warnings; also "Submitted batch job 12",
/// which a wrapper prints.
Result<SlurmJob> parse_sbatch(std::string_view text);

/// What a job state means for somebody who waits for the job.
enum class SlurmPhase {
  kQueued,   ///< waiting, or on its way back into the queue
  kRunning,  ///< on its nodes
  kEnded,    ///< will not run again
  kLost,     ///< a node failed or the job was preempted: ended, unless Slurm puts it back into the
             ///< queue
  kUnknown,  ///< a state that this version does not know
};

/// Of a state in its long form ("CANCELLED by 0" included) or its short one ("CA").
SlurmPhase phase_of(std::string_view state);

struct SlurmStatus {
  std::string state;   ///< long form, as Slurm wrote it
  std::string reason;  ///< why it waits or ended; empty for none
  std::string nodes;
  std::optional<int> exit_code;
  std::optional<int> signal;
  int restarts = 0;

  SlurmPhase phase() const { return phase_of(state); }
  bool operator==(const SlurmStatus&) const = default;
};

/// The format that parse_squeue reads: `squeue --noheader --states=all --format=…`.
inline constexpr const char* kSqueueFormat = "%i|%T|%r|%N";

/// The job's line, or nothing when the queue has none. Error: lines of another form.
Result<std::optional<SlurmStatus>> parse_squeue(std::string_view text, const std::string& id);

/// True when squeue or scontrol says that it does not know the job (any more), by its standard
/// error.
bool says_unknown_job(std::string_view standard_error);

/// The fields that parse_sacct reads: `sacct --noheader --parsable2 --allocations --duplicates
/// --format=…`.
inline constexpr const char* kSacctFormat = "JobIDRaw,State,ExitCode,NodeList";

/// The last of the job's lines (a requeued job has one for each start; `restarts` counts them), or
/// nothing.
Result<std::optional<SlurmStatus>> parse_sacct(std::string_view text, const std::string& id);

/// `scontrol --oneliner show job ID`.
Result<SlurmStatus> parse_scontrol(std::string_view text);

/// How a job that is in `status` for good ended.
runs::LauncherResult conclude(const SlurmStatus& status);

/// One line for a person: "PENDING (Resources)", "RUNNING on n[1-2], restarted once".
std::string describe(const SlurmStatus& status);

}  // namespace muster::launch
