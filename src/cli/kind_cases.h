// Cases, as list and show give them.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> case_columns();
Result<nlohmann::ordered_json> list_case_items(const Context& context);
Result<Shown> show_case(const Context& context, const std::string& name);

}  // namespace muster::cli
