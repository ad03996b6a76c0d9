// What the operating system says about this process.
#pragma once

#include <cstdint>

namespace muster::train {

/// Most memory that this process has held so far (VmHWM), bytes; 0 when not known.
std::uint64_t peak_memory();

/// Seconds since this process was started (before its libraries were loaded).
double seconds_since_start();

/// Rank among those of this node, as mpirun, srun and torchrun say it; 0 when none does.
int local_rank();

/// From now on SIGTERM and SIGINT ask for an orderly stop; a second one ends the process at once.
void catch_stop_signals();
bool stop_asked();

}  // namespace muster::train
