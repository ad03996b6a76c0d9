// Metrics that muster exports, as list and show give them.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> metric_columns();
Result<nlohmann::ordered_json> list_metrics(const Context& context);
Result<Shown> show_metric(const Context& context, const std::string& name);

}  // namespace muster::cli
