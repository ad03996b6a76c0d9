// Measures dispatch and combine: warm-up, timed iterations, and iterations that are checked.
#pragma once

#include "engine/bench/expert_table.h"
#include "engine/bench/monitor.h"

namespace muster::measure {

/// Bytes of memory that one rank comes to touch at most.
double expert_memory(const ExpertPlan& plan, int nodes);

/// All ranks call it and have the same rows. Throws Unsupported.
std::vector<ExpertRow> measure_experts(const ExpertPlan& plan, const Placement& placement,
                                       Fabric& fabric, Monitor& monitor);

}  // namespace muster::measure
