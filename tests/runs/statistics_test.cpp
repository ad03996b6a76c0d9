#include "runs/statistics.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::runs {
namespace {

TEST(Median, OfFewValues) {
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1}), 5);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median_absolute_deviation({1, 1, 2, 2, 4, 6, 9}),
            1);  // the textbook's example: median 2
}

TEST(Trend, AgreesWithFiguresComputedByHand) {
  // y falls in 9 of 10 pairs: S = -8, Var S = 5*4*15/18, z = -7/sqrt(16.67).
  const auto result = trend({1, 2, 3, 4, 5}, {5, 4, 2, 3, 1});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->z, -7 / std::sqrt(300.0 / 18), 1e-12);
  EXPECT_NEAR(result->p_falling, 0.0432, 1e-4);
  EXPECT_NEAR(result->slope, -1, 1e-12);
  EXPECT_NEAR(result->falling_share, 0.9, 1e-12);
}

TEST(Trend, NeedsThreePointsAndSaysNothingOfAFlatSeries) {
  EXPECT_FALSE(trend({1, 2}, {2, 1}));
  const auto flat = trend({1, 2, 3, 4}, {7, 7, 7, 7});
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->z, 0);
  EXPECT_EQ(flat->slope, 0);
}

TEST(Trend, OneWildValueDoesNotTurnIt) {
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < 50; ++i) {
    x.push_back(i);
    y.push_back(10 - 0.1 * i);
  }
  y.back() = 1e6;
  const auto result = trend(x, y);
  EXPECT_NEAR(result->slope, -0.1, 0.01);
  EXPECT_LT(result->p_falling, 1e-6);
}

TEST(Trend, ALongSeriesKeepsItsSlope) {
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < 20011; ++i) {
    x.push_back(i);
    y.push_back(3 - 1e-4 * i + 0.3 * std::sin(i * 1.1));
  }
  EXPECT_NEAR(trend(x, y)->slope, -1e-4, 1e-5);
}

RC_GTEST_PROP(Median, LiesInTheMiddle, (const std::vector<int>& ints)) {
  RC_PRE(!ints.empty());
  const std::vector<double> values(ints.begin(), ints.end());
  const double middle = *median(values);
  const auto below =
      std::count_if(values.begin(), values.end(), [&](double v) { return v < middle; });
  const auto above =
      std::count_if(values.begin(), values.end(), [&](double v) { return v > middle; });
  RC_ASSERT(2 * below <= static_cast<long>(values.size()));
  RC_ASSERT(2 * above <= static_cast<long>(values.size()));
}

RC_GTEST_PROP(Trend, TurnedUpsideDownItTurnsItsSign, (const std::vector<short>& ints)) {
  RC_PRE(ints.size() >= 3U);
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> negative;
  for (std::size_t i = 0; i < ints.size(); ++i) {
    x.push_back(static_cast<double>(i));
    y.push_back(ints[i]);
    negative.push_back(-ints[i]);
  }
  const auto up = trend(x, y);
  const auto down = trend(x, negative);
  RC_ASSERT(std::abs(up->slope + down->slope) < 1e-9);
  RC_ASSERT(std::abs(up->z + down->z) < 1e-9);
  RC_ASSERT(std::abs(up->p_falling - down->p_rising) < 1e-12);
}

}  // namespace
}  // namespace muster::runs
