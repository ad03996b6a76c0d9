// Text as bytes: lines, numbers for people, valid UTF-8, and where in it is an offset.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/finding.h"

namespace muster {

/// Up to the first line feed, without it.
inline std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// A number rounded to a whole one, its digits in groups: 1234567 as "1,234,567", whatever the
/// locale.
std::string grouped(double value);

/// Line and column (in bytes) of an offset, both from 1.
Position position_at(std::string_view text, std::size_t offset, const std::string& file);

/// Length of the valid UTF-8 sequence that starts at `offset`, or 0 when there is none: overlong
/// forms, surrogates and values over U+10FFFF are invalid.
std::size_t utf8_length(std::string_view text, std::size_t offset);

/// Appends a code point (below 0x110000, no surrogate) as UTF-8.
void append_utf8(std::string& text, char32_t code);

/// The first place at which the text is not text: invalid UTF-8, or a control character other than
/// tab, line feed and carriage return. Nothing when it is all right.
std::optional<Finding> find_not_text(std::string_view text, const std::string& file);

}  // namespace muster
