// What names and paths in running text are made of.
#pragma once

#include <array>
#include <cstddef>

namespace muster::reorg {

/// Letters, digits and '_': of variables and modules.
constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// By byte; asked for each one of every file.
inline constexpr std::array<bool, 256> kPathCharacters = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c)
    table[c] = c < 0x80 && is_name_character(static_cast<char>(c));
  for (const char c : {'/', '.', '-', '+', '@', '~', '*', '%'})
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

/// Characters that a path in running text is made of.
constexpr bool is_path_character(char c) {
  return kPathCharacters[static_cast<unsigned char>(c)];
}

}  // namespace muster::reorg
