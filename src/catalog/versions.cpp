#include "catalog/versions.h"

#include <algorithm>
#include <array>

namespace muster::catalog {

bool is_floating_version(const std::string& version) {
  static const std::array<std::string, 6> kFloating = {"",       "latest", "main",
                                                       "master", "stable", "nightly"};
  return std::find(kFloating.begin(), kFloating.end(), version) != kFloating.end();
}

bool floats(const std::string& image) {
  if (image.empty() || image.find('@') != std::string::npos) return false;
  if (image.find("${") != std::string::npos)
    return image.size() > 7 && image.rfind(":latest") == image.size() - 7;
  const auto slash = image.rfind('/');
  const auto colon = image.find(':', slash == std::string::npos ? 0 : slash);
  return colon == std::string::npos || is_floating_version(image.substr(colon + 1));
}

}  // namespace muster::catalog
