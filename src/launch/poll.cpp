#include "launch/poll.h"

#include <algorithm>

namespace muster::launch {

using std::chrono::milliseconds;
using End = runs::LauncherResult::End;

End end_of(Stop stop) {
  switch (stop) {
    case Stop::kInterrupted:
      return End::kInterrupted;
    case Stop::kCancelled:
      return End::kCancelled;
    case Stop::kTimeLimit:
      return End::kTimedOut;
    case Stop::kSilent:
      return End::kHang;
    case Stop::kNo:
      break;
  }
  return End::kExited;
}

Poll::Poll(Clock& clock, const Tick& tick, milliseconds shortest, milliseconds longest)
    : clock_(clock), tick_(tick), shortest_(shortest), longest_(longest), pause_(shortest) {}

Stop Poll::wait() {
  constexpr milliseconds kSlice{100};
  const auto until = clock_.steady() + pause_;
  pause_ = std::min(longest_, pause_ + pause_ / 2);
  while (true) {
    if (const Stop stop = tick_(); stop != Stop::kNo) return stop;
    const auto left = std::chrono::duration_cast<milliseconds>(until - clock_.steady());
    if (left.count() <= 0) return Stop::kNo;
    clock_.sleep_for(std::min(kSlice, left));
  }
}

}  // namespace muster::launch
