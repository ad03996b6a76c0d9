#include "engine/text/byte_level.h"

#include <array>

#include "base/text.h"

namespace muster::text {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) ||
         (byte >= 0xae && byte <= 0xff);
}

struct Tables {
  std::array<char32_t, 256> character{};
  std::array<int, 512> byte{};  // by character; -1: none

  constexpr Tables() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (int i = 0; i < 256; ++i) {
      character[static_cast<std::size_t>(i)] =
          stands_for_itself(i) ? static_cast<char32_t>(i) : next++;
      byte[character[static_cast<std::size_t>(i)]] = i;
    }
  }
};

constexpr Tables kTables;

}  // namespace

char32_t visible_character(unsigned char byte) {
  return kTables.character[byte];
}

std::string to_visible(std::string_view bytes) {
  std::string visible;
  for (const char c : bytes) append_utf8(visible, visible_character(static_cast<unsigned char>(c)));
  return visible;
}

std::optional<std::string> from_visible(std::string_view visible) {
  std::string bytes;
  for (std::size_t at = 0; at < visible.size();) {
    // All characters of the table are below U+0200: one or two bytes of UTF-8.
    const auto first = static_cast<unsigned char>(visible[at]);
    const std::size_t length = utf8_length(visible, at);
    if (length == 0 || length > 2) return std::nullopt;
    const std::size_t code =
        length == 1
            ? first
            : ((first & 0x1fU) << 6U) | (static_cast<unsigned char>(visible[at + 1]) & 0x3fU);
    if (code >= kTables.byte.size() || kTables.byte[code] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kTables.byte[code]));
    at += length;
  }
  return bytes;
}

}  // namespace muster::text
