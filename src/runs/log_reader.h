// Reads the log of a foreign program as it grows and makes the events of runs/events.h from it, so
// that one judge serves all. Pure and incremental. Beside the events of muster-train there are
//
//   joined   world, rank, transport, fabric: what the program itself says of the group it is in
//   log      lines, steps, unread, first_unread, torn, patterns {name: lines}, asked_pattern: what
//            could be read of one rank's log and what could not; the last event of a log
//
// A step that is counted, since no line says which it is, has "counted": true. Each process's
// beginning and end are lines of the launcher's own, see ProcessLines.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/regex.h"
#include "runs/log_patterns.h"

namespace muster::runs {

/// The lines that the wrapper of each process writes into its log, before and after the program's
/// own: "muster: process start rank=1 world=2 local_rank=1 host=n2 pid=812 restart=0" and
/// "muster: process end code=0".
struct ProcessLines {
  static constexpr const char* kStart = "muster: process start ";
  static constexpr const char* kEnd = "muster: process end ";
};

struct LogContext {
  std::optional<int> rank;       ///< whose log it is; nothing: of all together
  int world = 1;                 ///< asked for; scales the figures of one process
  std::optional<int> seq_len;    ///< tokens of a sequence, when the case says so
  const Regex* asked = nullptr;  ///< expect.pattern; its group `loss`, else its first, is the loss
};

struct RankedEvent {
  int rank = 0;
  nlohmann::json event;
};

class LogReader {
 public:
  /// `patterns` and `context.asked` must outlive the reader.
  LogReader(const LogPatterns& patterns, LogContext context)
      : patterns_(patterns), context_(context) {}

  /// Takes the next piece of the log, cut anywhere. Lines end at a line feed, or at a carriage
  /// return as progress bars write them.
  void feed(std::string_view piece, std::vector<RankedEvent>& events);

  /// Nothing more will come: a last line without its end may be cut in a number, so it is counted
  /// and not read.
  void finish(std::vector<RankedEvent>& events);

 private:
  /// Of one rank.
  struct Progress {
    bool started = false;
    int attempts = 0;
    long long first = 0;  ///< step of the first record of the first attempt
    long long base = 0;   ///< added to the line's own number, which may start again
    long long line_step = 0;
    long long last = 0;
    std::optional<double> last_loss;
    bool fresh = true;  ///< no step yet in this attempt
    bool resumed = false;
    int world = 0;
    std::optional<int> claimed;
  };

  void take_line(std::string_view line, std::vector<RankedEvent>& events);
  bool take_process_line(const std::string& text, int rank, std::vector<RankedEvent>& events);
  void take_match(const CompiledPattern& pattern, const LogFields& fields, int rank,
                  std::vector<RankedEvent>& events);
  enum class Asked { kNo, kSeen, kStep };
  Asked take_asked(const std::string& text, int rank, std::vector<RankedEvent>& events);
  void take_step(const LogFields& fields, int counts_from, int rank,
                 std::vector<RankedEvent>& events);
  void take_joined(const CompiledPattern& pattern, const LogFields& fields, int rank,
                   std::vector<RankedEvent>& events);
  std::optional<long long> step_of(const LogFields& fields, int counts_from) const;
  void note_rank(const LogFields& fields, int rank, std::vector<RankedEvent>& events);

  const LogPatterns& patterns_;
  LogContext context_;
  std::string rest_;
  bool overlong_ = false;
  std::map<int, Progress> progress_;
  bool numbered_ = false;  ///< a pattern of the facts has read a step

  long long lines_ = 0, steps_ = 0, unread_ = 0, cut_ = 0;
  bool torn_ = false, asked_matched_ = false;
  std::string first_unread_;
  std::map<std::string, long long> by_pattern_;
};

}  // namespace muster::runs
