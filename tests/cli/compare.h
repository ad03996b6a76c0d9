// What was expected against what came: differences as text for people, empty when all is well.
#pragma once

#include <string>

namespace muster::clitest {

/// Lines that differ, with - for expected and + for got, and a little around them.
std::string difference(const std::string& expected, const std::string& got);

/// Every line of `patterns` is a regular expression (ECMAScript) for the whole of the corresponding
/// line of `got`.
std::string difference_by_pattern(const std::string& patterns, const std::string& got);

/// Every line of `parts` occurs somewhere in `got` (or, with `lacks`, does not).
std::string missing_parts(const std::string& parts, const std::string& got, bool lacks);

/// `condition` is "PATH = VALUE" or "PATH ~ PATTERN"; PATH is dotted, with numbers for items and #
/// for how many there are.
std::string json_difference(const std::string& condition, const std::string& json);

}  // namespace muster::clitest
