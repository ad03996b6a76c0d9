#include "base/text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace muster {
namespace {

unsigned char byte_at(std::string_view text, std::size_t offset) {
  return static_cast<unsigned char>(text[offset]);
}

bool continues(std::string_view text, std::size_t offset) {
  return offset < text.size() && (byte_at(text, offset) & 0xC0U) == 0x80U;
}

}  // namespace

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

Position position_at(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {file, static_cast<int>(lines) + 1, static_cast<int>(before.size() - line_start) + 1};
}

std::size_t utf8_length(std::string_view text, std::size_t offset) {
  const unsigned char lead = byte_at(text, offset);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (!continues(text, offset + 1)) return 0;
  if (lead < 0xE0) return 2;
  const unsigned char second = byte_at(text, offset + 1);
  if (!continues(text, offset + 2)) return 0;
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (!continues(text, offset + 3)) return 0;
  const bool overlong = lead == 0xF0 && second < 0x90;
  const bool too_large = lead == 0xF4 && second >= 0x90;
  return overlong || too_large ? 0 : 4;
}

void append_utf8(std::string& text, char32_t code) {
  const auto value = static_cast<std::uint32_t>(code);
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6);
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12);
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | value >> 18);
    put(0x80 | (value >> 12 & 0x3F));
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

namespace {

// Whether 64 bytes are printable ASCII and line feeds, as nearly all are. Without branches, so that
// compilers look at many at a time.
bool is_plain_block(const char* bytes) {
  unsigned other = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    other |= static_cast<unsigned>(byte != '\n') & static_cast<unsigned>(byte < 0x20);
    other |= static_cast<unsigned>(byte >= 0x7F);
  }
  return other == 0;
}

}  // namespace

std::optional<Finding> find_not_text(std::string_view text, const std::string& file) {
  for (std::size_t i = 0; i < text.size();) {
    if (text.size() - i >= 64 && is_plain_block(text.data() + i)) {
      i += 64;
      continue;
    }
    const unsigned char byte = byte_at(text, i);
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F) {
      return error_at(position_at(text, i, file), "text-control-character",
                      fmt::format("control character 0x{:02x}: this is not a text file", byte));
    }
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      return error_at(position_at(text, i, file), "text-encoding",
                      fmt::format("byte 0x{:02x} is not valid UTF-8", byte),
                      "save the file as UTF-8");
    }
    i += length;
  }
  return std::nullopt;
}

}  // namespace muster
