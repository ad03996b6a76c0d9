// Images, as list and show give them.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> image_columns();
Result<nlohmann::ordered_json> list_images(const Context& context);
Result<Shown> show_image(const Context& context, const std::string& name);

}  // namespace muster::cli
