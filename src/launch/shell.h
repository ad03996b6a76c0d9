// Words and lines of the shell scripts that are rendered.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster::launch {

using Assignments = std::vector<std::pair<std::string, std::string>>;

/// Text as one word of a POSIX shell; words of safe characters stay as they are.
std::string shell_quote(const std::string& text);

/// `export NAME=VALUE`, one a line.
std::string exports(const Assignments& variables);

/// A command over several lines, an option with its value on each: readable, and exactly the words
/// given.
std::string command_lines(const std::vector<std::string>& words);

/// A path as sbatch's --output takes it: `%` is its mark for patterns.
std::string slurm_pattern(const std::string& path);

}  // namespace muster::launch
