#include "base/version.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace muster {
namespace {

std::optional<std::vector<long>> parts_of(std::string text) {
  if (!text.empty() && (text[0] == 'v' || text[0] == 'V')) text.erase(0, 1);
  text.resize(std::min(text.find_first_of("-+"), text.size()));
  std::vector<long> parts;
  std::size_t at = 0;
  while (at <= text.size()) {
    const auto dot = std::min(text.find('.', at), text.size());
    const std::string part = text.substr(at, dot - at);
    if (part.empty() || part.size() > 9 ||
        !std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); })) {
      return std::nullopt;
    }
    parts.push_back(std::stol(part));
    at = dot + 1;
  }
  return parts;
}

}  // namespace

std::optional<int> compare_versions(const std::string& a, const std::string& b) {
  auto left = parts_of(a), right = parts_of(b);
  if (!left || !right) return std::nullopt;
  const auto size = std::max(left->size(), right->size());
  left->resize(size);
  right->resize(size);
  return *left < *right ? -1 : *left > *right ? 1 : 0;
}

}  // namespace muster
