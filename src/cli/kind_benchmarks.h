// Micro-benchmarks, as list and show give them.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> benchmark_columns();
Result<nlohmann::ordered_json> list_benchmarks(const Context& context);
Result<Shown> show_benchmark(const Context& context, const std::string& name);

}  // namespace muster::cli
