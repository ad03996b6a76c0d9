#include "base/hostlist.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/words.h"

namespace muster {

std::vector<std::string> expand_hosts(std::string_view expression) {
  constexpr std::size_t kMost = 1000000;
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at < expression.size() && names.size() < kMost) {
    // A part ends at a comma outside brackets.
    std::size_t end = at;
    int depth = 0;
    while (end < expression.size() && (depth > 0 || expression[end] != ',')) {
      if (expression[end] == '[') ++depth;
      if (expression[end] == ']') --depth;
      ++end;
    }
    const std::string_view part = expression.substr(at, end - at);
    at = end + 1;
    const std::size_t open = part.find('['), close = part.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      if (!part.empty()) names.emplace_back(part);
      continue;
    }
    std::string_view ranges = part.substr(open + 1, close - open - 1);
    while (!ranges.empty() && names.size() < kMost) {
      const std::size_t comma = std::min(ranges.find(','), ranges.size());
      const std::string_view range = ranges.substr(0, comma);
      ranges.remove_prefix(std::min(comma + 1, ranges.size()));
      const std::size_t dash = range.find('-');
      const auto first = whole(range.substr(0, dash));
      const auto last = dash == std::string_view::npos ? first : whole(range.substr(dash + 1));
      if (!first || !last || *last < *first || *last - *first >= kMost) {
        names.emplace_back(part);
        break;
      }
      const std::size_t width = range.substr(0, dash).size();
      for (std::uint64_t number = *first; number <= *last && names.size() < kMost; ++number) {
        names.push_back(
            fmt::format("{}{:0{}}{}", part.substr(0, open), number, width, part.substr(close + 1)));
      }
    }
  }
  return names;
}

}  // namespace muster
