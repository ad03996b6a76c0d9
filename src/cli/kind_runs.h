// Recorded runs, as list and show give them.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> run_columns();
Result<nlohmann::ordered_json> list_runs(const Context& context);
Result<Shown> show_run(const Context& context, const std::string& name);

}  // namespace muster::cli
