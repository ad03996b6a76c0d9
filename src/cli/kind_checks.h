// Health checks and their suites, as list and show give them.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> check_columns();
Result<nlohmann::ordered_json> list_checks(const Context& context);
Result<Shown> show_check(const Context& context, const std::string& name);

}  // namespace muster::cli
