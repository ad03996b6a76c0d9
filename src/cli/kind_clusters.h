// Clusters, as list and show give them: asked of AWS.
#pragma once

#include "cli/kinds.h"

namespace muster::cli {

std::vector<OutputColumn> cluster_columns();
Result<nlohmann::ordered_json> list_clusters(const Context& context);
Result<Shown> show_cluster(const Context& context, const std::string& name);

}  // namespace muster::cli
