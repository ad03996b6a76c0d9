// Sets of time against the same worked out instant by instant.
#include "runs/intervals.h"

#include <bitset>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::runs {
namespace {

constexpr int kInstants = 64;
using Instants = std::bitset<kInstants>;

std::vector<Interval> any_intervals() {
  std::vector<Interval> all;
  const int count = *rc::gen::inRange(0, 9);
  for (int i = 0; i < count; ++i)
    all.push_back({*rc::gen::inRange(0, kInstants), *rc::gen::inRange(0, kInstants)});
  return all;
}

Instants instants(const std::vector<Interval>& intervals) {
  Instants set;
  for (const Interval& one : intervals) {
    for (auto at = one.begin; at < one.end; ++at) set.set(static_cast<std::size_t>(at));
  }
  return set;
}

void expect_same(const TimeSet& set, const Instants& expected) {
  RC_ASSERT(instants(set.intervals()) == expected);
  RC_ASSERT(static_cast<std::size_t>(set.length()) == expected.count());
  for (std::size_t i = 0; i < set.intervals().size(); ++i) {
    RC_ASSERT(set.intervals()[i].begin < set.intervals()[i].end);
    if (i > 0) RC_ASSERT(set.intervals()[i - 1].end < set.intervals()[i].begin);
  }
}

RC_GTEST_PROP(TimeSet, IsWhatItsInstantsAre, ()) {
  const auto a = any_intervals();
  const auto b = any_intervals();
  const TimeSet left(a), right(b);
  expect_same(left, instants(a));
  expect_same(left.both(right), instants(a) & instants(b));
  expect_same(left.either(right), instants(a) | instants(b));
  expect_same(left.without(right), instants(a) & ~instants(b));
}

RC_GTEST_PROP(TimeSet, HiddenAndExposedCommunicationAddUp, ()) {
  const TimeSet communication(any_intervals()), waiting(any_intervals());
  RC_ASSERT(communication.both(waiting).length() + communication.without(waiting).length() ==
            communication.length());
  RC_ASSERT(communication.either(waiting).length() ==
            waiting.length() + communication.without(waiting).length());
}

}  // namespace
}  // namespace muster::runs
