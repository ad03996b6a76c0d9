// Dashboards and alert rules, as list and show give them.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> dashboard_columns();
Result<nlohmann::ordered_json> list_dashboards(const Context& context);
Result<Shown> show_dashboard(const Context& context, const std::string& name);

}  // namespace muster::cli
