#include "runs/intervals.h"

#include <algorithm>

namespace muster::runs {

TimeSet::TimeSet(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& one) { return one.end <= one.begin; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  for (const Interval& one : intervals) {
    if (!intervals_.empty() && one.begin <= intervals_.back().end) {
      intervals_.back().end = std::max(intervals_.back().end, one.end);
    } else {
      intervals_.push_back(one);
    }
  }
}

std::int64_t TimeSet::length() const {
  std::int64_t sum = 0;
  for (const Interval& one : intervals_) sum += one.end - one.begin;
  return sum;
}

TimeSet TimeSet::both(const TimeSet& other) const {
  TimeSet result;
  auto mine = intervals_.begin();
  auto theirs = other.intervals_.begin();
  while (mine != intervals_.end() && theirs != other.intervals_.end()) {
    const Interval common{std::max(mine->begin, theirs->begin), std::min(mine->end, theirs->end)};
    if (common.begin < common.end) result.intervals_.push_back(common);
    // The one that ends first can meet nothing further.
    if (mine->end < theirs->end) {
      ++mine;
    } else {
      ++theirs;
    }
  }
  return result;
}

TimeSet TimeSet::either(const TimeSet& other) const {
  std::vector<Interval> all = intervals_;
  all.insert(all.end(), other.intervals_.begin(), other.intervals_.end());
  return TimeSet(std::move(all));
}

TimeSet TimeSet::without(const TimeSet& other) const {
  TimeSet result;
  auto theirs = other.intervals_.begin();
  for (Interval rest : intervals_) {
    while (theirs != other.intervals_.end() && theirs->end <= rest.begin) ++theirs;
    for (auto cut = theirs; cut != other.intervals_.end() && cut->begin < rest.end; ++cut) {
      if (cut->begin > rest.begin) result.intervals_.push_back({rest.begin, cut->begin});
      rest.begin = cut->end;
    }
    if (rest.begin < rest.end) result.intervals_.push_back(rest);
  }
  return result;
}

}  // namespace muster::runs
