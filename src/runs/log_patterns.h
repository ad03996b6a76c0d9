// Patterns of logs, compiled and in the order in which a case's log is read with them; and what
// launchers put around the lines of the processes that they start. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"
#include "base/result.h"
#include "facts/log_patterns.h"

namespace muster::runs {

/// A line without what was put around it.
struct PlainLine {
  std::string text;
  /// Of a rank: mpirun's "[1,0]<stdout>:". srun's "3: " and torchrun's "[default0]:" say a task and
  /// a local rank, which are taken away but mean no rank of their own.
  std::optional<int> rank;
  /// Whose line it is, as the prefixes say: "1,0", "3", "pod/NAME/CONTAINER"; several joined by
  /// blanks. Lines of one source are in order; those of two may be mixed. Empty: no prefix.
  std::string source;
};

/// Takes away colours and other control characters, and the prefixes of srun -l, mpirun
/// --tag-output (Open MPI 4 and 5), torchrun --tee and kubectl logs --prefix, also one within
/// another.
PlainLine plain_line(std::string_view line);

/// A number as logs write it: 22,938; 2.05K; 1.5E-05; nan; -inf. Nothing: not a number.
std::optional<double> log_number(std::string_view text);

struct CompiledPattern {
  facts::LogPattern row;
  Regex regex;
};

/// By field's name.
using LogFields = std::map<std::string, std::string>;

class LogPatterns {
 public:
  /// The rows of the case's library first, then of its framework, then the others; each group in
  /// the order given.
  static Result<LogPatterns> make(const std::vector<facts::LogPattern>& rows,
                                  const std::string& framework, const std::string& library);

  /// The first pattern that a line matches at or after `from`. `end` is where to look for more on
  /// the same line. Null: none.
  const CompiledPattern* match(std::string_view line, std::size_t from, LogFields& fields,
                               std::size_t& end) const;

 private:
  std::vector<CompiledPattern> patterns_;
};

/// What the named groups of a match read.
LogFields fields_of(const Regex& regex, const Regex::Match& match);

}  // namespace muster::runs
