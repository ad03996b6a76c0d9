// What a host tells of itself, as metrics. A collector never fails as a whole: what can't be read
// is left out and counted.
#pragma once

#include "health/check.h"
#include "health/view.h"
#include "metrics/exposition.h"

namespace muster::metrics {

/// Counters of EFA devices and their ports, with the names of the public EFA exporter for
/// node_exporter (node_amazonefa_…). Counters that are not known are passed through; `lifespan` is
/// none. What can't be read is left out, and counted by device: muster_efa_unreadable. False: the
/// host has no such class, and no series.
bool collect_efa(const health::HostView& view, Exposition& to, int* unreadable = nullptr);

/// muster_health{check,outcome}: 1 for the outcome of each check, 0 for the others, so that a
/// series clears when the fault does; muster_health_findings{check,outcome}: how many of each there
/// are. `when`: seconds since the epoch, for muster_health_timestamp_seconds.
void collect_health(const std::vector<health::CheckResult>& checks, double when, Exposition& to);

}  // namespace muster::metrics
