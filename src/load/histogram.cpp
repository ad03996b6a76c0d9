#include "load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace muster::load {

// Values below 2^(kBits+1) have a bucket each; above, every doubling has 2^kBits of them.
std::size_t Histogram::bucket_of(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - kBits - 1);
  return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(bits >> shift);
}

std::int64_t Histogram::upper_end(std::size_t bucket) {
  const std::size_t shift = bucket < (std::size_t{2} << kBits) ? 0 : (bucket >> kBits) - 1;
  const auto low = static_cast<std::int64_t>((bucket - (shift << kBits)) << shift);
  return low + (std::int64_t{1} << shift) - 1;
}

void Histogram::record(std::int64_t value, std::uint64_t times) {
  if (times == 0) return;
  value = std::clamp<std::int64_t>(value, 0, kLargest);
  const std::size_t bucket = bucket_of(value);
  if (bucket >= counts_.size()) counts_.resize(bucket + 1);
  counts_[bucket] += times;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += times;
  const auto number = static_cast<double>(value);
  sum_ += number * static_cast<double>(times);
  squares_ += number * number * static_cast<double>(times);
}

void Histogram::add(const Histogram& other) {
  if (other.count_ == 0) return;
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  squares_ += other.squares_;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

double Histogram::deviation() const {
  if (count_ == 0) return 0;
  const double middle = mean();
  return std::sqrt(std::max(0.0, squares_ / static_cast<double>(count_) - middle * middle));
}

std::int64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  const double share = std::clamp(percent, 0.0, 100.0) / 100;
  // The tiny part taken off keeps 99 % of 100 values at the 99th, not the 100th.
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_) - 1e-9)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted) return std::clamp(upper_end(bucket), min_, max_);
  }
  return max_;
}

nlohmann::ordered_json to_json(const Histogram& histogram) {
  if (histogram.count() == 0) return nullptr;
  const auto milliseconds = [](double nanoseconds) {
    return std::round(nanoseconds / 1e3) / 1e3;  // microseconds are as fine as a clock is here
  };
  const auto at = [&](double percent) {
    return milliseconds(static_cast<double>(histogram.percentile(percent)));
  };
  return {{"count", histogram.count()},
          {"mean", milliseconds(histogram.mean())},
          {"deviation", milliseconds(histogram.deviation())},
          {"min", milliseconds(static_cast<double>(histogram.min()))},
          {"p50", at(50)},
          {"p90", at(90)},
          {"p95", at(95)},
          {"p99", at(99)},
          {"p999", at(99.9)},
          {"max", milliseconds(static_cast<double>(histogram.max()))}};
}

}  // namespace muster::load
