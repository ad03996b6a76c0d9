// Finds and ends what a run left on this machine. A launcher that was killed can't end its ranks,
// which live in process groups of their own; every process of a run carries the run's id in its
// environment.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/process_tree.h"

namespace muster::launch {

/// Living processes whose environment has MUSTER_RUN_ID=run_id, by pid; the caller is not among
/// them.
std::vector<ProcessId> processes_of_run(const std::string& run_id);

/// SIGTERM (and SIGCONT, since a stopped process hears nothing), then SIGKILL after the grace.
/// Returns how many there were.
int end_processes_of_run(const std::string& run_id, std::chrono::milliseconds grace);

}  // namespace muster::launch
