// The judge of benchmark logs: is the result right, is it of the run that was meant, is it fast
// enough. In this order: a wrong result is not made good by its speed, and the speed of another run
// than the one asked for says nothing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/verdict.h"
#include "bench/baseline.h"
#include "bench/record.h"
#include "facts/instances.h"
#include "facts/performance.h"

namespace muster::bench {

struct JudgeOptions {
  std::optional<int> expect_ranks;
  std::optional<int> nodes;
  std::string transport;         ///< efa, ib, socket, …; empty: a fall-back is not accepted
  bool speed = true;             ///< judge the speed
  bool allow_unchecked = false;  ///< accept results whose data the tool did not check
  double ceiling_share = 0.7;    ///< of the ring's rate that large messages must reach
  std::uint64_t min_size = std::uint64_t{1} << 20;  ///< below, bandwidth says nothing
  double pair_tolerance = 0.15;  ///< share below the median pair that makes a pair slow
};

/// What the speed is judged against; null: not known.
struct JudgeReferences {
  const facts::Instance* instance = nullptr;
  const std::vector<facts::PerformanceFloor>* floors = nullptr;
  const Baseline* baseline = nullptr;
};

/// Checks: results, completed, correctness, world-size, transport, pairs, speed. One that nothing
/// asks for is left out; one without evidence is unknown.
Verdict judge_logs(const std::vector<Log>& logs, const JudgeOptions& options,
                   const JudgeReferences& references);

/// What each series comes to: {file, series, points, latency_us, peak, plateau, half_peak_size,
/// fit {latency_us, bandwidth}, mean_large}; rates in GB/s, null where they can't be told.
/// `mean_large` is the mean over sizes of at least `min_size`: an average over all sizes is one of
/// the small ones.
nlohmann::ordered_json series_figures(const std::vector<Log>& logs, std::uint64_t min_size);

/// What a plot shows beside the results: [{operation, label, points: [[bytes, GB/s]…]}] of the
/// ceiling, the floor and the baseline's median that hold for these logs.
nlohmann::ordered_json reference_lines(const std::vector<Log>& logs, const JudgeOptions& options,
                                       const JudgeReferences& references);

/// A size for people: 8 B, 512 KiB, 16 GiB.
std::string size_text(std::uint64_t bytes);

}  // namespace muster::bench
