// Layers of a manifest laid over each other, with the origin of every value.
#pragma once

#include <map>
#include <string>

#include "base/document.h"
#include "catalog/case.h"

namespace muster::catalog {

using Origins = std::map<std::string, Origin>;

/// `upper` over `lower`: mappings merge key by key, everything else replaces. An empty value (null)
/// in `upper` removes the key. Keys keep the order in which they first appear.
Node merge(const Node& lower, const Node& upper);

/// Origins of every leaf of a layer: scalars and lists, by dotted key.
void set_origins(const Node& layer, Origin::Kind kind, const std::string& path, Origins& origins);

/// Forgets the origins of what `layer` removes or replaces.
void forget_origins(const Node& layer, const std::string& path, Origins& origins);

}  // namespace muster::catalog
