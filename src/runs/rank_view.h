// One rank's events, put in order for the judge and the report: attempts, and the steps that count.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runs/judge.h"

namespace muster::runs {

/// A finite number under a key, or nothing (absent, null, another type).
std::optional<double> number(const nlohmann::json& event, const char* key);
std::optional<long long> integer(const nlohmann::json& event, const char* key);
std::string text(const nlohmann::json& event, const char* key);  ///< empty when absent or no text

/// Whether the writer says that the figure was there and was not finite.
bool is_nonfinite(const nlohmann::json& event, const char* key);

/// From one `start` event to the next. Pointers are into RankEvents and live as long as it does.
struct Attempt {
  using Event = const nlohmann::json*;
  Event start = nullptr;  ///< null: events without a start
  Event resume = nullptr;
  Event end = nullptr;
  std::vector<Event> steps;
  std::vector<Event> evals;
  std::vector<Event> checkpoints;
  std::vector<Event> reloads;
  std::vector<Event> errors;
  std::vector<Event> peaks;
  std::vector<Event> data;
  std::vector<Event> joined;
  Event log = nullptr;  ///< what could be read of the log, where events come from one
};

struct RankView {
  int rank = 0;
  std::string host;  ///< of the last attempt; empty: not known
  const RankEvents* source = nullptr;
  std::vector<Attempt> attempts;  ///< never empty
  const Attempt& last() const { return attempts.back(); }

  /// Steps and evaluations of all attempts by step: a later attempt replaces what it does again,
  /// and drops what lies beyond the step it resumed from.
  std::map<long long, Attempt::Event> steps;
  std::map<long long, Attempt::Event> evals;

  /// "rank 3 on node-b", or "rank 3" when the host is not known.
  std::string name() const;
};

/// Sorted by rank, then by file.
std::vector<RankView> view(const std::vector<RankEvents>& ranks);

/// "0-3, 7": sorted and without repetition.
std::string ranges(std::vector<int> numbers);

}  // namespace muster::runs
