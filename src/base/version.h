// Versions, ordered.
#pragma once

#include <optional>
#include <string>

namespace muster {

/// -1, 0, 1 by numeric parts: 2.9 < 2.28 and 2.28 == 2.28.0; a leading v and a trailing -1 or
/// +cu130 do not count. Nothing when either is not a version.
std::optional<int> compare_versions(const std::string& a, const std::string& b);

}  // namespace muster
