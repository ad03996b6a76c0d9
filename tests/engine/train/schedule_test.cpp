#include "engine/train/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::train {
namespace {

TEST(Schedule, RisesToThePeakAndFallsToTheFloor) {
  const Schedule schedule{.peak = 1.0, .floor = 0.1, .warmup = 4, .total = 104};
  EXPECT_DOUBLE_EQ(schedule.at(1), 0.25);
  EXPECT_DOUBLE_EQ(schedule.at(4), 1.0);
  EXPECT_NEAR(schedule.at(54), 0.55, 1e-12);  // half of the cosine
  EXPECT_DOUBLE_EQ(schedule.at(104), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(1000), 0.1);
}

TEST(Schedule, WithoutWarmupTheFirstStepIsNearThePeak) {
  const Schedule schedule{.peak = 1.0, .floor = 0.0, .warmup = 0, .total = 1000};
  EXPECT_GT(schedule.at(1), 0.99);
}

RC_GTEST_PROP(Schedule, NeverRisesAfterTheWarmupAndStaysInBounds, ()) {
  const auto warmup = *rc::gen::inRange<std::int64_t>(0, 50);
  const auto total = *rc::gen::inRange<std::int64_t>(warmup + 1, 500);
  const Schedule schedule{.peak = 3e-4, .floor = 3e-5, .warmup = warmup, .total = total};
  for (std::int64_t step = 1; step <= total + 3; ++step) {
    const double rate = schedule.at(step);
    RC_ASSERT(rate > 0.0 && rate <= schedule.peak);
    if (step > warmup) RC_ASSERT(rate >= schedule.floor);
    if (step > warmup + 1) RC_ASSERT(rate <= schedule.at(step - 1));
  }
}

}  // namespace
}  // namespace muster::train
