#include "base/display.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/text.h"

namespace muster {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The blocks that matter, from Unicode's EastAsianWidth.txt (W, F) and DerivedGeneralCategory.txt
// (Mn, Me, Cf).
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
                           {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                           {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                           {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                           {0x1F900, 0x1F9FF}, {0x20000, 0x2FFFD}, {0x30000, 0x3FFFD}};
constexpr Range kZero[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
                           {0x200B, 0x200F}, {0x20D0, 0x20F0}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
constexpr Range kUnsafe[] = {
    {0x80, 0x9F}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}};

template <std::size_t N>
bool within(const Range (&ranges)[N], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

/// The code point of a valid sequence.
char32_t decode(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xFFU >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) code = code << 6 | (byte(i) & 0x3FU);
  return code;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text, i));
    const char32_t code = decode(text.substr(i, length));
    width += within(kZero, code) ? 0 : within(kWide, code) ? 2 : 1;
    i += length;
  }
  return width;
}

std::string terminal_safe(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text, i);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      safe += fmt::format("\\x{:02x}", byte);
      ++i;
      continue;
    }
    const char32_t code = decode(text.substr(i, length));
    if (within(kUnsafe, code)) {
      safe += fmt::format("\\u{{{:04x}}}", static_cast<std::uint32_t>(code));
    } else {
      safe.append(text, i, length);
    }
    i += length;
  }
  return safe;
}

}  // namespace muster
