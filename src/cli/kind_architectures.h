// Architectures, as list and show give them.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

Result<nlohmann::ordered_json> list_architectures(const Context& context);
Result<Shown> show_architecture(const Context& context, const std::string& name);

}  // namespace muster::cli
