// Curves and figures of a run, taken from its events: what the report draws. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/judge.h"

#include <nlohmann/json.hpp>

namespace muster::runs {

/// One chart: x and any number of lines over it; a missing point is nothing.
struct Chart {
  struct Line {
    std::string label;
    std::vector<std::optional<double>> values;  ///< as long as x
    bool points = false;                        ///< marks instead of a line
    bool reference = false;                     ///< not measured here, but what that is held to
  };
  std::string title;
  std::string unit;  ///< of the values, e.g. "tokens/s"; empty: none
  std::vector<long long> steps;
  std::vector<Line> lines;
  bool from_zero = false;  ///< read by size, not by change: the axis begins at nought
  std::string x = "step";  ///< what `steps` are
  bool log_x = false;      ///< sizes: each step is twice the one before
};

/// A rank's medians over the steps of its last attempt but the first one.
struct RankFigures {
  int rank = 0;
  std::string host;
  std::optional<double> step_seconds, own_seconds, wait_seconds;
  std::optional<double> peak_memory;  ///< bytes
};

struct Series {
  std::vector<Chart>
      charts;  ///< loss, throughput, learning rate, gradient norm, waits; those that have points
  std::vector<RankFigures> ranks;
  std::optional<long long> steps;
  std::optional<double> first_loss, last_loss, eval_loss, tokens_per_second, mfu, seconds,
      start_to_first_step;
};

/// Charts are thinned to at most 1,000 steps: the median of each block of steps, missing points
/// left out.
Series series(const std::vector<RankEvents>& ranks);

/// One chart of the same line of several runs, each run a line; steps are the union.
Chart overlay(const std::string& title, const std::string& unit,
              const std::vector<std::pair<std::string, const Chart*>>& runs);

}  // namespace muster::runs
