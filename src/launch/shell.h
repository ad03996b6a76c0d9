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

/// Lines that wait for as many background processes as the shell expression `count` says, whose ids
/// are in the array `pids`. When one ends with an error, all end, and the script with that error.
std::string wait_for_all(const std::string& index, const std::string& count);

/// A path as sbatch's --output takes it: `%` is its mark for patterns.
std::string slurm_pattern(const std::string& path);

}  // namespace muster::launch
