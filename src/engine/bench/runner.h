// Measures a sweep: warm-up, timed iterations, and iterations whose every element is checked.
#pragma once

#include <functional>
#include <vector>

#include "engine/bench/fabric.h"
#include "engine/bench/monitor.h"
#include "engine/bench/settings.h"
#include "engine/bench/table.h"

namespace muster::measure {

/// Bytes that a rank may use for its buffers: its share of what the node has free, with room for
/// others.
std::size_t memory_for_buffers(const Fabric& fabric);

/// All ranks call it; each row is given to `row` on every rank. Throws Unsupported.
void measure(const Sweep& sweep, Fabric& fabric, Monitor& monitor,
             const std::function<void(const Row&)>& row);

}  // namespace muster::measure
