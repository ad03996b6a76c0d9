// What the report shows of a load on an inference server: rates and latencies over the number of
// users, or over the seconds of a single load. From bench.json as `muster load --record` writes it.
// Pure.
#pragma once

#include <vector>

#include "runs/report_series.h"

#include <nlohmann/json.hpp>

namespace muster::runs {

/// Empty when `bench` holds no load.
std::vector<Chart> load_charts(const nlohmann::json& bench);

}  // namespace muster::runs
