// What the logs of frameworks look like: regular expressions with named fields. The data is
// facts/log-patterns.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/regex.h"
#include "base/result.h"

namespace muster::facts {

/// What a line that matches says: a step of the training, an evaluation, that a process has joined
/// the others, where training goes on from, a checkpoint, what carries the messages.
enum class LineKind { kStep, kEval, kJoined, kResume, kCheckpoint, kFabric };

struct LogExample {
  std::string line;
  std::map<std::string, std::string> fields;  ///< as the pattern must read them
};

struct LogPattern {
  std::string name;
  std::string framework, library;  ///< of the cases that log so; empty: any
  LineKind kind = LineKind::kStep;
  std::string contains;  ///< a text of every such line, looked for first
  std::string pattern;   ///< as written
  int counts_from = 1;   ///< the first step's number; events count from 1
  std::string value;     ///< of kJoined the transport, of kFabric the fabric, e.g. gloo, efa
  std::vector<LogExample> examples;
  std::string source, date;
  Position where;
};

/// The fields that a pattern may name.
const std::vector<std::string>& log_fields();

/// Compiles with what every pattern may use: (?&num) a number, also nan, inf and with suffix K, M,
/// G, B or T; (?&int) a whole number, with commas.
Result<Regex> compile_log_pattern(const std::string& pattern);

Result<std::vector<LogPattern>> load_log_patterns(const FileSystem& files,
                                                  const std::filesystem::path& root);
Result<std::vector<LogPattern>> parse_log_patterns(const std::string& text,
                                                   const std::string& file);

}  // namespace muster::facts
