// GPT-2's way to write any bytes as visible text: each of the 256 bytes has a character of its own,
// so that a vocabulary of byte strings can live in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::text {

/// The character that stands for a byte: printable Latin-1 stands for itself, the others for U+0100
/// and following.
char32_t visible_character(unsigned char byte);

/// Bytes -> visible text.
std::string to_visible(std::string_view bytes);

/// Visible text -> bytes, or nothing when a character stands for no byte.
std::optional<std::string> from_visible(std::string_view visible);

}  // namespace muster::text
