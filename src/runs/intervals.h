// Sets of time as unions of half-open intervals: what was spent on something, how much of it lay
// inside something else. Whole nanoseconds, so that sums are exact.
#pragma once

#include <cstdint>
#include <vector>

namespace muster::runs {

struct Interval {
  std::int64_t begin = 0, end = 0;  ///< [begin, end); empty when end <= begin
  bool operator==(const Interval&) const = default;
};

/// Disjoint, sorted, none empty, none touching the next.
class TimeSet {
 public:
  TimeSet() = default;
  /// The union of the intervals, whatever their order; empty ones add nothing.
  explicit TimeSet(std::vector<Interval> intervals);

  const std::vector<Interval>& intervals() const { return intervals_; }
  std::int64_t length() const;

  TimeSet both(const TimeSet& other) const;     ///< in both
  TimeSet either(const TimeSet& other) const;   ///< in one of them
  TimeSet without(const TimeSet& other) const;  ///< in this, not in the other

 private:
  std::vector<Interval> intervals_;
};

}  // namespace muster::runs
