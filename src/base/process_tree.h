// Which processes descend from one: for ending what a program started outside its own process
// group.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace muster {

/// A process and when it started (clock ticks since boot): together they name it even when the
/// number is used again.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t started = 0;
};

/// Children, grandchildren and so on of `root` as /proc has them now; `root` itself is not among
/// them.
std::vector<ProcessId> descendants_of(pid_t root);

/// Whether that very process still runs (a zombie does not).
bool still_runs(const ProcessId& process);

}  // namespace muster
