// What the followers of jobs that somebody else runs (Slurm, Batch, Kubernetes) have in common:
// they look, tell what is news, and wait a little longer each time while nothing is.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>

#include "base/clock.h"
#include "launch/follow.h"
#include "runs/judge.h"

namespace muster::launch {

/// How a run ended that muster ended itself. kNo: it was not ended, so it exited.
runs::LauncherResult::End end_of(Stop stop);

/// The pauses between looks.
class Poll {
 public:
  /// The first pause is `shortest`; each is longer by half, up to `longest`.
  Poll(Clock& clock, const Tick& tick, std::chrono::milliseconds shortest,
       std::chrono::milliseconds longest);

  /// Something has changed, so more may change soon: the next pause is the shortest again.
  void restart() { pause_ = shortest_; }

  /// Ticks until the pause is over, or until a tick says stop.
  Stop wait();

 private:
  Clock& clock_;
  const Tick& tick_;
  std::chrono::milliseconds shortest_, longest_, pause_;
};

/// Keeps what is seen in `last`, and tells it when it differs from what was seen before: true then.
template <typename Status>
bool report(std::optional<Status>& last, const Status& seen,
            const std::type_identity_t<std::function<void(const Status&)>>& tell) {
  if (last && *last == seen) return false;
  last = seen;
  if (tell) tell(seen);
  return true;
}

}  // namespace muster::launch
