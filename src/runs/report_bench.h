// What the report shows of a benchmark: bandwidth over size against ceiling, floor and baseline,
// and the matrix of pairs. From bench.json as the verbs of `muster bench` write it. Pure.
#pragma once

#include <string>
#include <vector>

#include "runs/report_series.h"

#include <nlohmann/json.hpp>

namespace muster::runs {

/// One chart an operation: a line each series, and the references as lines beside them. Sizes are
/// the steps.
std::vector<Chart> bench_charts(const nlohmann::json& bench);

/// The matrix of pairs as a table whose cells are coloured by their share of the median pair; empty
/// when there is none.
std::string pair_matrix(const nlohmann::json& bench);

}  // namespace muster::runs
