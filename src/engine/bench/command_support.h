// What the subcommands share.
#pragma once

#include <functional>
#include <string>

#include "base/finding.h"
#include "engine/bench/fabric.h"
#include "engine/bench/settings.h"

namespace muster::measure {

/// Prints why; the exit code for it.
int refuse(const Findings& findings);

/// Leaves out the sizes of which `buffers` do not fit into a rank's memory; a comment on stdout
/// says so. False when nothing is left to measure, which is said as well.
bool fit_to_memory(Sweep& sweep, Fabric& fabric, int buffers);

/// The exit code: data that was wrong fails, and where checks were asked but no element was there
/// to be looked at (sizes too small for a part for each rank) nothing was verified.
int conclude(const Sweep& sweep, bool checked, std::size_t wrong, bool say);

/// Calls `once` for each cycle; all ranks end after the same one.
void in_cycles(const Sweep& sweep, Fabric& fabric, const std::function<void()>& once);

/// The model of the processor, as the kernel names it; "CPU" when it does not.
std::string processor_name();

/// On one node, memory that the ranks share is how they reach each other. Open MPI 4.1 prefers its
/// remote memory component even there: a thousand times slower for atomic operations, and its
/// compare-and-swap crashes. What the user has set stays. Called before MPI starts.
void prefer_shared_memory();

}  // namespace muster::measure
