#include "base/clock.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include <fmt/format.h>

#include "base/process.h"

namespace muster {
namespace {

class RealClock : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::now();
  }
  std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::now();
  }
  void sleep_for(std::chrono::milliseconds duration) override {
    // In slices, because the signal may be delivered to another thread than this one.
    const auto end = steady() + duration;
    while (!interrupted()) {
      const auto left = end - steady();
      if (left <= std::chrono::steady_clock::duration::zero()) return;
      std::this_thread::sleep_for(
          std::min<std::chrono::steady_clock::duration>(left, std::chrono::milliseconds(50)));
    }
  }
};

}  // namespace

Clock& real_clock() {
  static RealClock clock;
  return clock;
}

std::string to_rfc3339(std::chrono::system_clock::time_point when) {
  using namespace std::chrono;
  const auto milli = floor<milliseconds>(when);
  const auto day = floor<days>(milli);
  const year_month_day date(day);
  const hh_mm_ss time(milli - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

}  // namespace muster
