// A table for people: columns aligned, foreign text made safe for the terminal.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace muster {

class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;  ///< figures
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns; missing ones are empty.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// With color, titles are bold, and the words pass, fail and unknown green, red and yellow.
  void write(std::ostream& out, bool color) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace muster
