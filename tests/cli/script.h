// A declarative test as data: what docs/declarative-tests.md describes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::clitest {

/// One section: its keyword, what follows on its line, and its indented body.
struct Section {
  std::string keyword;  ///< "file", "run", "stdout~", …
  std::string rest;
  std::string body;  ///< without the indentation; ends in a line end unless it is empty
  int line = 0;
  int end_line = 0;  ///< the line behind the body
};

/// One command and what is expected of it, as indices into the script's sections.
struct Step {
  std::vector<Section> before;  ///< file, copy, env, stdin, limit
  Section run;
  std::vector<Section> expected;
};

struct Script {
  std::string description;         ///< the comment at the top
  std::vector<std::string> needs;  ///< programs without which the test is skipped
  std::vector<Step> steps;
};

/// Failures name file and line.
Result<Script> parse_script(std::string_view text, const std::string& file);

/// Words of a command line: blanks separate, quotes and backslashes as in a POSIX shell, nothing is
/// expanded.
Result<std::vector<std::string>> split_words(std::string_view line);

}  // namespace muster::clitest
