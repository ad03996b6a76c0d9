// The seam to time.
#pragma once

#include <chrono>
#include <string>

namespace muster {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::system_clock::time_point now() const = 0;     ///< wall clock, for records
  virtual std::chrono::steady_clock::time_point steady() const = 0;  ///< for limits and durations
  virtual void sleep_for(std::chrono::milliseconds duration) = 0;    ///< returns early on interrupt
};

Clock& real_clock();

/// Time that moves only when told to, or when somebody sleeps.
class ManualClock : public Clock {
 public:
  explicit ManualClock(std::chrono::system_clock::time_point start = {}) : wall_(start) {}
  void advance(std::chrono::milliseconds by) {
    wall_ += by;
    steady_ += by;
  }
  std::chrono::system_clock::time_point now() const override { return wall_; }
  std::chrono::steady_clock::time_point steady() const override { return steady_; }
  void sleep_for(std::chrono::milliseconds duration) override { advance(duration); }

 private:
  std::chrono::system_clock::time_point wall_;
  std::chrono::steady_clock::time_point steady_{};
};

/// UTC as RFC 3339 with milliseconds: 2026-11-30T09:48:00.000Z.
std::string to_rfc3339(std::chrono::system_clock::time_point when);

}  // namespace muster
