// Traces and rules for tests of breakdowns.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "facts/nsight.h"
#include "runs/trace.h"

namespace muster::runs::testing {

inline const facts::Nsight& rules() {
  static const facts::Nsight kRules = [] {
    auto loaded = facts::load_nsight(real_file_system(), MUSTER_SOURCE_DIR);
    if (!loaded) ADD_FAILURE() << to_string(loaded.findings().front());
    return loaded ? *loaded : facts::Nsight{};
  }();
  return kRules;
}

inline TraceSpan span(TraceSpan::Kind kind, const std::string& name, std::int64_t begin,
                      std::int64_t end, std::uint64_t number = 0) {
  TraceSpan one;
  one.kind = kind;
  one.name = name;
  one.begin = begin;
  one.end = end;
  one.step = 1;
  if (kind == TraceSpan::Kind::kOperation || kind == TraceSpan::Kind::kWait) {
    one.group = "world";
    one.number = number;
  }
  return one;
}

/// One step of [0, wall) in which operation 1 is begun at `begin` and waited for over [wait, end).
inline RankTrace one_step(int rank, int world, std::int64_t wall, std::int64_t begin,
                          std::int64_t wait, std::int64_t end) {
  RankTrace trace;
  trace.rank = rank;
  trace.world = world;
  trace.host = "node-" + std::to_string(rank);
  trace.spans = {span(TraceSpan::Kind::kStep, "step 1", 0, wall),
                 span(TraceSpan::Kind::kOperation, "all_reduce", begin, end, 1),
                 span(TraceSpan::Kind::kWait, "wait for all_reduce", wait, end, 1)};
  sort_spans(trace.spans);
  return trace;
}

}  // namespace muster::runs::testing
