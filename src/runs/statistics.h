// The few robust statistics that the judge works with.
#pragma once

#include <optional>
#include <vector>

namespace muster::runs {

/// Middle value (mean of the two middle ones); nothing for no values.
std::optional<double> median(std::vector<double> values);

/// Median of the absolute deviations from the median, as it is (not scaled to a normal
/// distribution's sigma).
std::optional<double> median_absolute_deviation(const std::vector<double>& values);

/// A series y at places x, judged without assuming a distribution of its noise.
struct Trend {
  double slope = 0;  ///< Theil-Sen: the median of the slopes of all pairs, per unit of x
  double z =
      0;  ///< Mann-Kendall: normal score of (rising pairs - falling pairs), corrected for ties
  double p_falling =
      1;  ///< probability of so many falling pairs if there were no trend; small: it falls
  double p_rising = 1;
  double falling_share = 0;  ///< of the pairs with different y
};

/// Series of more than 500 points are reduced to medians of 500 equal blocks first, which bounds
/// the work. Nothing for fewer than three points. `x` is ascending.
std::optional<Trend> trend(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace muster::runs
