#include "base/csv.h"

#include <ostream>

namespace muster {

void write_csv_row(std::ostream& out, const std::vector<std::string>& cells) {
  bool first = true;
  for (const std::string& cell : cells) {
    if (!first) out << ',';
    // A lone empty cell would be an empty line, which readers skip.
    const bool quote =
        cell.find_first_of(",\"\r\n") != std::string::npos || (cell.empty() && cells.size() == 1);
    first = false;
    if (!quote) {
      out << cell;
      continue;
    }
    out << '"';
    for (const char c : cell) out << (c == '"' ? "\"\"" : std::string(1, c));
    out << '"';
  }
  out << "\r\n";
}

}  // namespace muster
