// Text on a terminal: how wide it is, and safe to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Columns that the text takes on a terminal: East Asian wide characters take two, combining ones
/// none.
std::size_t display_width(std::string_view text);

/// The text with control characters (also those of Unicode's C1 range and the bidirectional
/// overrides) and invalid bytes written as \xNN or \u{NNNN}: foreign text can't move the cursor,
/// color or hide anything.
std::string terminal_safe(std::string_view text);

}  // namespace muster
