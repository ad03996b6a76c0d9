// Words and numbers of a line, as the readers of tools' output need them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"

namespace muster {

/// Split at blanks and tabs; views into `text`.
std::vector<std::string_view> words_of(std::string_view text);

/// Split at tabs, or at two and more blanks: titles of columns may hold single blanks.
std::vector<std::string_view> columns_of(std::string_view text);

std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);

/// The whole word as a finite number; nothing for N/A, nan, inf, an empty word or "12abc".
std::optional<double> finite(std::string_view word);

/// The whole word as a number without sign and fraction.
std::optional<std::uint64_t> whole(std::string_view word);

/// A pattern that is part of the program, a literal: compiles or is a bug. Compiled once a thread,
/// since a Regex keeps its last match.
const Regex& pattern(const char* text);

/// Group of a match as text; empty when it took no part.
std::string_view group(const Regex::Match& match, std::size_t number);

/// Searches from the start.
bool finds(const Regex& regex, std::string_view text, Regex::Match& match);

}  // namespace muster
