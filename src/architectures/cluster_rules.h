// What can't be said of a cluster by its own file alone: whether its architecture can do it, and
// whether what it asks of the services goes together.
#pragma once

#include "base/finding.h"
#include "catalog/architecture.h"
#include "catalog/cluster.h"
#include "facts/facts.h"

namespace muster::architectures {

Findings check_against(const catalog::ClusterSpec& cluster,
                       const catalog::Architecture& architecture, const facts::Facts& known);

}  // namespace muster::architectures
