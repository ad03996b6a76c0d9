// Watches the record that the ranks write while a run is followed: how far it is, and whether it is
// still alive.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "launch/tail.h"

namespace muster::launch {

/// How far the run is, as rank 0 says.
struct Standing {
  int step = 0;
  std::optional<double> loss;
  std::optional<double> tokens_per_second;
  std::optional<double> eval_loss;
  std::string doing;  ///< what is going on when it is not a step, e.g. "checking the checkpoint"
};

/// Takes over what one event says. Lines that are no events are left to the judge.
void take_event(Standing& standing, const std::string& line);

/// Looks at RUN/metrics at most twice a second.
class RunWatch {
 public:
  RunWatch(const std::filesystem::path& run_directory, int world, Clock& clock);

  /// True when something new was read.
  bool look();
  const Standing& standing() const { return standing_; }

  /// How long no rank has written anything: since the start of the watch, or since reset().
  std::chrono::milliseconds silent_for() const;

  /// The run starts (again): silence counts from now.
  void reset();

  /// Who wrote last what, for the message on a silent run: "rank 1 on n2 since step 12".
  std::string silent_ranks() const;

 private:
  struct Rank {
    Tail tail;
    std::string host;
    int step = 0;
    bool ended = false;
  };

  Clock& clock_;
  std::vector<Rank> ranks_;
  Standing standing_;
  std::chrono::steady_clock::time_point heard_;
  std::optional<std::chrono::steady_clock::time_point> looked_;
};

}  // namespace muster::launch
