// The verbs that act on a cluster.yaml, beside plan.
#pragma once

#include <string>

#include "cli/context.h"

namespace muster::cli {

/// `status -f FILE`: how the cluster's stacks stand.
void show_cluster_status(Context& context, const std::string& file);

}  // namespace muster::cli
