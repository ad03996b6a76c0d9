// Follows the logs of a foreign program's processes while a run goes on, and keeps what they say as
// the ranks' events, which progress, verdict and report are made from.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "launch/tail.h"
#include "runs/events.h"
#include "runs/log_reader.h"

namespace muster::launch {

struct LogSettings {
  int world = 1;
  std::optional<int> seq_len;
  std::optional<Regex> asked;  ///< expect.pattern
};

class LogFollow {
 public:
  /// Of RUN/logs/rank-N.log; what is in them now belongs to an earlier start of the run.
  LogFollow(const std::filesystem::path& run_directory, runs::LogPatterns patterns,
            LogSettings settings, Clock& clock);

  enum class News {
    kNone,
    kLines,  ///< anything in any log, understood or not
    kSteps,  ///< at least one step, as the facts' patterns or expect.pattern read it
  };
  /// Reads on, at most twice a second.
  News look();

  /// Reads the rest; call it once, when nothing more is written.
  void finish();

 private:
  struct Rank {
    Tail tail;
    runs::LogReader reader;
    runs::EventWriter writer;
    bool seen = false;
  };
  News read();

  Clock& clock_;
  runs::LogPatterns patterns_;
  LogSettings settings_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::optional<std::chrono::steady_clock::time_point> looked_;
};

}  // namespace muster::launch
