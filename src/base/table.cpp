#include "base/table.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "base/display.h"

namespace muster {
namespace {

constexpr std::string_view kGap = "  ";

std::string_view color_of(std::string_view cell) {
  if (cell == "pass") return "\x1b[32m";
  if (cell == "fail" || cell == "error") return "\x1b[31m";
  if (cell == "unknown" || cell == "warning") return "\x1b[33m";
  return {};
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = terminal_safe(cell);
  rows_.push_back(std::move(cells));
}

void Table::write(std::ostream& out, bool color) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  const auto write_row = [&](const auto& cell_at, std::string_view style) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_at(i);
      const std::string padding(widths[i] - display_width(cell), ' ');
      const std::string_view start =
          color ? (style.empty() ? color_of(cell) : style) : std::string_view();
      if (columns_[i].right) out << padding;
      out << start << cell << (start.empty() ? "" : "\x1b[0m");
      if (i + 1 < columns_.size()) out << (columns_[i].right ? "" : padding) << kGap;
    }
    out << '\n';
  };
  write_row([&](std::size_t i) -> const std::string& { return columns_[i].title; }, "\x1b[1m");
  for (const auto& row : rows_) {
    write_row([&](std::size_t i) -> const std::string& { return row[i]; }, {});
  }
}

}  // namespace muster
