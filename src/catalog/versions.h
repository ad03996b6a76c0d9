// Versions and images: which are fixed.
#pragma once

#include <string>

#include "base/version.h"

namespace muster::catalog {

using muster::compare_versions;

/// latest, main, master, stable, nightly or nothing at all.
bool is_floating_version(const std::string& version);

/// An image reference that can mean another image tomorrow: no tag and no digest, or a floating
/// tag. A reference that is filled in at render (${IMAGE_URI}) is judged then.
bool floats(const std::string& image);

}  // namespace muster::catalog
