// What the exporter tells of itself.
#pragma once

#include "base/http_server.h"
#include "metrics/exposition.h"

namespace muster::metrics {

/// Version, processor time, memory, start, open files.
void put_process(Exposition& to);
void put_counts(const server::Counts& counts, Exposition& to);

}  // namespace muster::metrics
