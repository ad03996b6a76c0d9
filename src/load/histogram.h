// Counts of durations, in buckets whose width is a fixed share of their value: the layout of Gil
// Tene's HDR histogram. A percentile is off by at most one part in 1,024, whatever the range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

namespace muster::load {

class Histogram {
 public:
  /// Nanoseconds. Negative values count as 0, those above kLargest as kLargest.
  void record(std::int64_t value, std::uint64_t times = 1);
  void add(const Histogram& other);

  std::uint64_t count() const { return count_; }
  std::int64_t min() const { return count_ == 0 ? 0 : min_; }  ///< exact
  std::int64_t max() const { return max_; }                    ///< exact
  double mean() const;                                         ///< exact
  double deviation() const;                                    ///< of the whole population, exact

  /// The smallest bucket's upper end that at least this share (0 … 100) of the values does not
  /// exceed, never above max(). 0 when there are none.
  std::int64_t percentile(double percent) const;

  static constexpr std::int64_t kLargest = (std::int64_t{1} << 43) - 1;  ///< two and a half hours

 private:
  static constexpr int kBits = 10;  ///< a bucket is at most 2^-10 of its value wide

  static std::size_t bucket_of(std::int64_t value);
  static std::int64_t upper_end(std::size_t bucket);

  std::vector<std::uint64_t> counts_;  ///< as long as the highest bucket in use
  std::uint64_t count_ = 0;
  std::int64_t min_ = 0, max_ = 0;
  double sum_ = 0, squares_ = 0;
};

/// {count, mean, deviation, min, p50, p90, p95, p99, p999, max} in milliseconds; null when empty.
nlohmann::ordered_json to_json(const Histogram& histogram);

}  // namespace muster::load
