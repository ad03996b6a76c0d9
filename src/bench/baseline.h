// A stored baseline: what earlier runs of one's own measured, series by series, with median and
// median absolute deviation. One YAML file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/record.h"

namespace muster::bench {

/// Samples of one series at one size. Rates in GB/s; of series without rates the times.
struct BaselineSamples {
  std::vector<double> rates;
  std::vector<double> times;  ///< microseconds
};

struct Baseline {
  std::string file;
  /// By series_key, then size (0 where records have none).
  std::map<std::string, std::map<std::uint64_t, BaselineSamples>> series;
};

/// At most this many samples of a series and size are kept, the newest.
inline constexpr std::size_t kMostSamples = 100;

/// Adds what a log measured: bus bandwidth, else algorithm bandwidth, and time.
void add_to_baseline(const Log& log, Baseline& baseline);

/// The file: apiVersion, kind: Baseline, series.
std::string baseline_text(const Baseline& baseline);
Result<Baseline> parse_baseline(const std::string& text, const std::string& file);

/// The rate that a record is judged by: busbw where there is one, else algbw.
std::optional<double> rate_of(const Record& record);

}  // namespace muster::bench
