// When conversations begin in an open loop: times that don't depend on how the server answers, so
// that a slow answer delays no later request (no coordinated omission). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::load {

/// One conversation of a trace, or of a drawn schedule (then without lengths).
struct Arrival {
  std::int64_t at = 0;               ///< nanoseconds since the start
  std::optional<int> input, output;  ///< tokens, where the trace says so
};

/// At most this many: more is a mistake in the rate or the duration.
inline constexpr std::size_t kMostArrivals = 5'000'000;

enum class Process { kPoisson, kConstant };

/// Arrivals in [0, seconds) at a rate that goes in a straight line from `from` to `to` a second.
/// Poisson: the times are those of an inhomogeneous Poisson process; constant: the n-th is where
/// the expected count reaches n. Same seed, same times.
Result<std::vector<Arrival>> draw_arrivals(Process process, double from, double to, double seconds,
                                           std::uint64_t seed);

/// A trace, ascending in time, its first request at 0. Either JSON lines with "timestamp" in
/// milliseconds, "input_length" and "output_length" (Mooncake's), or CSV with the columns
/// TIMESTAMP, ContextTokens, GeneratedTokens (Azure's; a date and time, or seconds). `speed` 2
/// plays it twice as fast.
Result<std::vector<Arrival>> parse_trace(const std::string& text, const std::string& file,
                                         double speed);

}  // namespace muster::load
