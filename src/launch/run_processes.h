// Finds and ends what a run left on this machine. A launcher that was killed can't end its ranks,
// which live in process groups of their own; every process of a run carries the run's id in its
// environment.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/process_tree.h"

namespace muster::launch {

/// What ranks that were asked to end may take for it: they write a checkpoint first, of many GB at
/// times.
inline constexpr std::chrono::milliseconds kGrace{60'000};

/// Living processes whose environment has MUSTER_RUN_ID=run_id, by pid; the caller is not among
/// them.
std::vector<ProcessId> processes_of_run(const std::string& run_id);

/// SIGTERM (and SIGCONT, since a stopped process hears nothing), then SIGKILL after the grace.
/// `launcher` (0: none) is not asked, only killed in the end: mpirun ends by itself when its ranks
/// have, but asked itself it leaves them a few seconds. Alone it is asked like any other.
/// Returns how many there were.
int end_processes_of_run(const std::string& run_id, std::chrono::milliseconds grace,
                         pid_t launcher = 0);

}  // namespace muster::launch
