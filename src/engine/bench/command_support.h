// What the subcommands share.
#pragma once

#include <functional>

#include "base/finding.h"
#include "engine/bench/fabric.h"
#include "engine/bench/settings.h"

namespace muster::measure {

/// Prints why; the exit code for it.
int refuse(const Findings& findings);

/// Leaves out the sizes that do not fit into memory; a comment on stdout says so.
void fit_to_memory(Sweep& sweep, Fabric& fabric);

/// Calls `once` for each cycle; all ranks end after the same one.
void in_cycles(const Sweep& sweep, Fabric& fabric, const std::function<void()>& once);

}  // namespace muster::measure
