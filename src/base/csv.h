// CSV by RFC 4180: lines end in CR LF, cells with commas, quotes or line ends are quoted.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace muster {

void write_csv_row(std::ostream& out, const std::vector<std::string>& cells);

}  // namespace muster
