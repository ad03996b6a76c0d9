// The table of muster-bench, taken apart.
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace muster {

/// The rows of a table, in words.
inline std::vector<std::vector<std::string>> rows(const std::string& text) {
  std::vector<std::vector<std::string>> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    all.emplace_back(std::istream_iterator<std::string>(words),
                     std::istream_iterator<std::string>());
  }
  return all;
}

}  // namespace muster
