#include "runs/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace muster::runs {
namespace {

constexpr std::size_t kMostPoints = 500;

void reduce(std::vector<double>& x, std::vector<double>& y) {
  const std::size_t size = x.size();
  if (size <= kMostPoints) {
    return;
  }
  std::vector<double> rx;
  std::vector<double> ry;
  for (std::size_t block = 0; block < kMostPoints; ++block) {
    const auto begin = static_cast<std::ptrdiff_t>(block * size / kMostPoints);
    const auto end = static_cast<std::ptrdiff_t>((block + 1) * size / kMostPoints);
    rx.push_back(*median({x.begin() + begin, x.begin() + end}));
    ry.push_back(*median({y.begin() + begin, y.begin() + end}));
  }
  x = std::move(rx);
  y = std::move(ry);
}

double normal_tail(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

}  // namespace

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  const double upper = *middle;
  const double lower = *std::max_element(values.begin(), middle);
  return lower + (upper - lower) / 2;
}

std::optional<double> median_absolute_deviation(const std::vector<double>& values) {
  const auto centre = median(values);
  if (!centre) {
    return std::nullopt;
  }
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) {
    deviations.push_back(std::abs(value - *centre));
  }
  return median(std::move(deviations));
}

std::optional<Trend> trend(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> xs = x;
  std::vector<double> ys = y;
  reduce(xs, ys);
  const std::size_t n = ys.size();
  if (n < 3 || xs.size() != n) {
    return std::nullopt;
  }
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  long long rising = 0;
  long long falling = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      rising += ys[j] > ys[i] ? 1 : 0;
      falling += ys[j] < ys[i] ? 1 : 0;
      if (xs[j] > xs[i]) {
        slopes.push_back((ys[j] - ys[i]) / (xs[j] - xs[i]));
      }
    }
  }
  std::map<double, long long> ties;
  for (const double value : ys) {
    ++ties[value];
  }
  // Kendall (1975): Var S = (n(n-1)(2n+5) - sum over groups of equal values t(t-1)(2t+5)) / 18.
  const auto term = [](double t) { return t * (t - 1) * (2 * t + 5); };
  double variance = term(static_cast<double>(n));
  for (const auto& [value, count] : ties) {
    variance -= term(static_cast<double>(count));
  }
  variance /= 18;

  Trend result;
  result.slope = median(std::move(slopes)).value_or(0);
  if (rising + falling > 0) {
    result.falling_share = static_cast<double>(falling) / static_cast<double>(rising + falling);
  }
  if (const long long score = rising - falling; score != 0 && variance > 0) {
    // One off towards zero: the continuity correction of the normal approximation.
    result.z = (static_cast<double>(score) - (score > 0 ? 1.0 : -1.0)) / std::sqrt(variance);
  }
  result.p_falling = normal_tail(-result.z);
  result.p_rising = normal_tail(result.z);
  return result;
}

}  // namespace muster::runs
