// Kubernetes objects against their types, strictly, and against what the API server and the
// operators ask beyond types.
#pragma once

#include <vector>

#include "base/document.h"
#include "base/finding.h"
#include "lint/kubernetes_types.h"

namespace muster::lint {

/// All that is wrong with one object: unknown and missing keys, types, choices, then the rules of
/// kubernetes_rules.cpp. A kind that nobody described is a warning: it was not checked.
Findings check_object(const Node& object, const KubeTypes& types);

/// The rules alone, on an object of a known type.
Findings check_object_rules(const Node& object);

/// Every pod spec in an object, at any depth.
std::vector<const Node*> pod_specs(const Node& object);

}  // namespace muster::lint
