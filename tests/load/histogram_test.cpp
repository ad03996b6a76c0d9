#include "load/histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

using muster::load::Histogram;

TEST(LoadHistogram, NothingIsNothing) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.percentile(99), 0);
  EXPECT_TRUE(to_json(histogram).is_null());
}

TEST(LoadHistogram, SmallValuesAreExact) {
  Histogram histogram;
  for (int value = 1; value <= 100; ++value) histogram.record(value);
  EXPECT_EQ(histogram.percentile(50), 50);
  EXPECT_EQ(histogram.percentile(99), 99);
  EXPECT_EQ(histogram.percentile(100), 100);
  EXPECT_EQ(histogram.percentile(0), 1);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50.5);
}

TEST(LoadHistogram, ValuesBeyondTheRangeAreKeptAtItsEnds) {
  Histogram histogram;
  histogram.record(-5);
  histogram.record(Histogram::kLargest + 1000);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), Histogram::kLargest);
}

namespace {

std::int64_t exact_percentile(std::vector<std::int64_t> values, double percent) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(
      std::max(1.0, std::ceil(percent / 100 * static_cast<double>(values.size()) - 1e-9)));
  return values[rank - 1];
}

}  // namespace

RC_GTEST_PROP(LoadHistogram, PercentilesAreWithinTheWidthOfABucket, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 40)));
  const double percent = *rc::gen::element(0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0);
  Histogram histogram;
  for (const std::int64_t value : values) histogram.record(value);
  const std::int64_t exact = exact_percentile(values, percent);
  const std::int64_t found = histogram.percentile(percent);
  RC_ASSERT(found >= exact);
  RC_ASSERT(found - exact <= exact / 1024);
}

RC_GTEST_PROP(LoadHistogram, PartsAddUpToTheWhole, ()) {
  const auto values = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, 5'000'000'000));
  Histogram whole, first, second;
  for (std::size_t i = 0; i < values.size(); ++i) {
    whole.record(values[i]);
    (i % 3 == 0 ? first : second).record(values[i]);
  }
  first.add(second);
  RC_ASSERT(first.count() == whole.count());
  RC_ASSERT(first.min() == whole.min());
  RC_ASSERT(first.max() == whole.max());
  for (const double percent : {50.0, 99.0})
    RC_ASSERT(first.percentile(percent) == whole.percentile(percent));
}
