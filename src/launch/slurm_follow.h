// Submits a job to Slurm and waits for its end, bounded: polls squeue, then asks sacct (or
// scontrol, where there is no accounting) how it ended.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "launch/follow.h"
#include "launch/slurm_parse.h"
#include "runs/judge.h"

namespace muster::launch {

struct SlurmFollowOptions {
  std::chrono::milliseconds shortest_poll{500};     ///< first and after each change
  std::chrono::milliseconds longest_poll{10'000};   ///< grows to this by half each time
  std::chrono::milliseconds command_limit{30'000};  ///< for one squeue
  std::chrono::seconds unreachable{300};            ///< the controller may be away this long
  std::chrono::seconds back_in_queue{
      300};  ///< a job whose node failed may take this long to be requeued
  std::chrono::seconds cancelled_within{60};  ///< after scancel
  bool requeue = true;                        ///< the job asked to be requeued when a node fails
};

/// Told of each change of the job's state.
using OnStatus = std::function<void(const SlurmStatus&)>;

/// sbatch's own errors are passed on in the failure. `environment` is added to the submitter's
/// (secrets by name).
Result<SlurmJob> submit(const Command& command, ProcessRunner& processes);

/// To the job's end, or to a stop of `tick` (then the job is cancelled first). A controller that
/// can't be reached in time gives kUnknown and leaves the job alone.
runs::LauncherResult follow_slurm(const SlurmJob& job, ProcessRunner& processes, Clock& clock,
                                  const SlurmFollowOptions& options, const Tick& tick,
                                  const OnStatus& on_status);

/// One look at the job, for `muster status`.
Result<SlurmStatus> look_at(const SlurmJob& job, ProcessRunner& processes);

/// scancel; the failure holds what it said.
Result<void> cancel_slurm(const SlurmJob& job, ProcessRunner& processes);

}  // namespace muster::launch
