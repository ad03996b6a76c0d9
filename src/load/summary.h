// What the samples of a load say: latencies, rates, goodput, errors. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "base/verdict.h"
#include "load/drive.h"
#include "load/histogram.h"

namespace muster::load {

/// What a request has to keep to be a good one; seconds.
struct Objectives {
  std::optional<double> ttft, tpot, e2e;
  bool any() const { return ttft || tpot || e2e; }
};

/// "ttft=500ms,tpot=50ms,e2e=10s", each at most once.
Result<Objectives> parse_objectives(const std::string& text);

/// One second of the load, for the curve over time.
struct Second {
  double tokens = 0;
  int complete = 0, failed = 0;
  Histogram ttft;
};

/// Requests that were due in [warm-up, duration) count; rates are of what came in the window
/// [warm-up, the earlier of duration and last answer].
struct Summary {
  int requests = 0, complete = 0;
  std::map<std::string, int> errors;            ///< by kind
  std::map<std::string, std::string> examples;  ///< of each kind, what was said first
  Histogram ttft;  ///< time to first token, from when the request was due
  Histogram itl;   ///< between two pieces of text of one answer
  Histogram tpot;  ///< a request's mean time for each token after the first
  Histogram e2e;   ///< from due to complete
  Histogram prompt_tokens, output_tokens;
  double seconds = 0;  ///< of the window
  double requests_per_second = 0, output_tokens_per_second = 0, total_tokens_per_second = 0;
  std::string tokens_from;  ///< server: its usage; pieces: text pieces were counted; mixed
  int short_answers = 0;    ///< complete, with fewer tokens than asked for
  std::optional<double> good_share, good_per_second;  ///< where there are objectives
  std::vector<Second> timeline;
};

Summary summarise(const DriveResult& result, std::chrono::nanoseconds warm_up,
                  std::chrono::nanoseconds duration, const Objectives& objectives);

/// Milliseconds, tokens and rates. `accelerators` 0: not known.
nlohmann::ordered_json to_json(const Summary& summary, int accelerators);

/// One level of a load: its setting and what came of it.
struct Level {
  int concurrency = 0;  ///< 0: open loop
  double rate = 0;      ///< of an open loop, requests a second
  Summary summary;
  DriveResult drive;  ///< samples may have been taken out
};

/// answered: every request that counts was answered completely; unknown when none was due, or
/// nobody could be reached.
/// objectives: the share of good requests is at least `share`.
/// generator: 99 of 100 turns of its own loop took less than `lag`; a slower generator measures
/// itself, so the latencies are unknown then.
Verdict judge_levels(const std::vector<Level>& levels, const Objectives& objectives, double share,
                     std::chrono::nanoseconds lag);

/// Where more concurrency stops paying: the lowest level that reaches 95 % of the highest output
/// rate among those without errors that keep the objectives. Nothing when none does.
std::optional<std::size_t> knee(const std::vector<Level>& levels, double share);

/// Whether a sweep that doubles has seen enough: objectives missed, errors, or twice in a row less
/// than 5 % more output than the best so far.
bool sweep_is_over(const std::vector<Level>& levels, double share);

}  // namespace muster::load
