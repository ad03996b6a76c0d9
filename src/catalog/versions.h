// Versions and images: which are fixed, and which is older.
#pragma once

#include <optional>
#include <string>

namespace muster::catalog {

/// -1, 0, 1 by numeric parts: 2.9 < 2.28 and 2.28 == 2.28.0; a leading v and a trailing -1 or
/// +cu130 do not count. Nothing when either is not a version.
std::optional<int> compare_versions(const std::string& a, const std::string& b);

/// latest, main, master, stable, nightly or nothing at all.
bool is_floating_version(const std::string& version);

/// An image reference that can mean another image tomorrow: no tag and no digest, or a floating
/// tag. A reference that is filled in at render (${IMAGE_URI}) is judged then.
bool floats(const std::string& image);

}  // namespace muster::catalog
