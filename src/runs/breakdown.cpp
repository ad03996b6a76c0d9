#include "runs/breakdown.h"

#include <algorithm>

#include <fmt/format.h>

#include "runs/breakdown_parts.h"
#include "runs/intervals.h"
#include "runs/statistics.h"

namespace muster::runs {
namespace {

constexpr double kNanosecond = 1e-9;

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * kNanosecond;
}

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

using Key = std::pair<std::string, std::uint64_t>;  // an operation: its group and number there

/// Who came last to an operation, and when.
struct Arrival {
  int rank = -1;
  std::int64_t at = 0;
  int ranks = 0;  ///< that came
};

std::map<Key, Arrival> arrivals(const std::vector<RankTrace>& traces) {
  std::map<Key, Arrival> last;
  for (const RankTrace& trace : traces) {
    for (const TraceSpan& span : trace.spans) {
      if (span.kind != TraceSpan::Kind::kOperation || span.number == 0) continue;
      Arrival& arrival = last[{span.group, span.number}];
      ++arrival.ranks;
      if (arrival.rank < 0 || span.begin > arrival.at) {
        arrival.rank = trace.rank;
        arrival.at = span.begin;
      }
    }
  }
  return last;
}

/// One rank's spans as sets of time.
struct Times {
  std::vector<const TraceSpan*> steps;
  TimeSet waits, operations, late;
};

/// The whole of a trace; waiting for a rank goes into `waited_for` of that rank.
class FromTraces {
 public:
  FromTraces(const std::vector<RankTrace>& traces, const facts::Nsight& rules)
      : traces_(traces), rules_(rules) {
    std::sort(traces_.begin(), traces_.end(),
              [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
    for (const RankTrace& trace : traces_) world_ = std::max(world_, trace.world);
    // Without one rank's trace nobody can say when all had come.
    complete_ = static_cast<int>(traces_.size()) == world_;
    arrivals_ = arrivals(traces_);
  }

  Breakdown make() {
    Breakdown out;
    out.source = "native";
    for (const RankTrace& trace : traces_) out.ranks.push_back(rank(trace));
    tell_waits(out);
    note_gaps(out);
    parts::judge_native(out, rules_);
    return out;
  }

 private:
  Times times_of(const RankTrace& trace) {
    Times times;
    std::vector<Interval> waits, operations, late;
    for (const TraceSpan& span : trace.spans) {
      if (span.kind == TraceSpan::Kind::kStep) times.steps.push_back(&span);
      if (span.kind == TraceSpan::Kind::kOperation) operations.push_back({span.begin, span.end});
      // What other threads wait for holds up the program only where it waits for them in turn.
      if (span.kind != TraceSpan::Kind::kWait || span.other_thread) continue;
      waits.push_back({span.begin, span.end});
      if (!complete_) continue;
      const auto found = arrivals_.find({span.group, span.number});
      if (found == arrivals_.end() || found->second.rank == trace.rank) continue;
      const Interval waited{span.begin, std::min(span.end, found->second.at)};
      if (waited.end <= waited.begin) continue;
      late.push_back(waited);
      waited_for_[found->second.rank] += seconds(waited.end - waited.begin);
    }
    times.waits = TimeSet(std::move(waits));
    times.operations = TimeSet(std::move(operations));
    times.late = TimeSet(std::move(late));
    return times;
  }

  TimeShares shares_in(const Times& times, const TimeSet& when) const {
    const TimeSet waits = times.waits.both(when);
    const TimeSet operations = times.operations.both(when);
    TimeShares shares;
    shares.wall = seconds(when.length());
    shares.waiting = seconds(waits.length());
    shares.own = seconds(when.without(waits).length());
    shares.communication = seconds(operations.either(waits).length());
    shares.hidden = seconds(operations.without(waits).length());
    if (complete_) shares.late = seconds(times.late.both(waits).length());
    return shares;
  }

  RankBreakdown rank(const RankTrace& trace) {
    const Times times = times_of(trace);
    RankBreakdown out;
    out.rank = trace.rank;
    out.host = trace.host;
    std::vector<Interval> whole;
    for (const TraceSpan* step : times.steps) {
      whole.push_back({step->begin, step->end});
      StepBreakdown one{step->step, shares_in(times, TimeSet({whole.back()})), {}};
      one.bound = parts::native_bound(one.shares, rules_);
      out.steps.push_back(std::move(one));
    }
    out.shares = shares_in(times, TimeSet(std::move(whole)));
    out.bound = parts::native_bound(out.shares, rules_);
    return out;
  }

  void tell_waits(Breakdown& out) const {
    if (!complete_ || world_ < 2) return;
    std::map<int, int> last;
    for (const auto& [key, arrival] : arrivals_) {
      if (arrival.ranks > 1) ++last[arrival.rank];
    }
    for (RankBreakdown& rank : out.ranks) {
      const auto waited = waited_for_.find(rank.rank);
      rank.waited_for = waited == waited_for_.end() ? 0 : waited->second;
      rank.last = last[rank.rank];
    }
  }

  void note_gaps(Breakdown& out) const {
    if (!complete_) {
      std::vector<int> missing;
      for (int rank = 0; rank < world_; ++rank) {
        if (std::none_of(traces_.begin(), traces_.end(),
                         [rank](const RankTrace& one) { return one.rank == rank; }))
          missing.push_back(rank);
      }
      out.gaps.push_back(fmt::format("no trace of rank {} of {}: who came late can't be told",
                                     ranges(missing), world_));
    }
    for (const RankTrace& trace : traces_) {
      if (trace.cut)
        out.gaps.push_back(
            fmt::format("the trace of rank {} ends before its range: it was full", trace.rank));
    }
    for (const RankBreakdown& rank : out.ranks) {
      if (rank.steps.empty())
        out.gaps.push_back(fmt::format("the trace of rank {} holds no whole step", rank.rank));
    }
  }

  std::vector<RankTrace> traces_;
  const facts::Nsight& rules_;
  int world_ = 0;
  bool complete_ = false;
  std::map<Key, Arrival> arrivals_;
  std::map<int, double> waited_for_;
};

void add_shares(nlohmann::ordered_json& out, const TimeShares& shares) {
  out["wall_seconds"] = shares.wall;
  out["own_seconds"] = shares.own;
  out["communication_seconds"] = shares.communication;
  for (const auto& [name, value] :
       {std::pair{"hidden_seconds", shares.hidden}, std::pair{"waiting_seconds", shares.waiting},
        std::pair{"late_seconds", shares.late}, std::pair{"memory_seconds", shares.memory}})
    out[name] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

namespace parts {

std::string native_bound(const TimeShares& shares, const facts::Nsight& rules) {
  if (shares.wall <= 0 || !shares.waiting) return "unknown";
  const double transfer = *shares.waiting - shares.late.value_or(0);
  if (share_of(shares.late.value_or(0), shares.wall) > rules.limit("straggler-share") &&
      shares.late.value_or(0) > transfer)
    return "straggler";
  for (const facts::BoundRule& rule : rules.native_bounds) {
    const double part = rule.share == "own"        ? shares.own
                        : rule.share == "transfer" ? transfer
                                                   : *shares.waiting;
    if (share_of(part, shares.wall) > rule.above) return rule.bound;
  }
  return "mixed";
}

void judge_native(Breakdown& out, const facts::Nsight& rules) {
  TimeShares sum;
  double late = 0;
  for (const RankBreakdown& rank : out.ranks) {
    sum.wall += rank.shares.wall;
    sum.own += rank.shares.own;
    sum.waiting = sum.waiting.value_or(0) + rank.shares.waiting.value_or(0);
    if (rank.shares.late) sum.late = sum.late.value_or(0) + *rank.shares.late;
    late += rank.waited_for.value_or(0);
  }
  if (sum.wall <= 0) return;  // unknown
  out.bound = native_bound(sum, rules);
  out.evidence =
      fmt::format("of the steps' time the ranks compute {:.0f} % and wait {:.0f} %",
                  100 * share_of(sum.own, sum.wall), 100 * share_of(*sum.waiting, sum.wall));
  if (sum.late)
    out.evidence += fmt::format(", {:.0f} % for ranks that had not come yet",
                                100 * share_of(*sum.late, sum.wall));
  const auto slow = std::max_element(out.ranks.begin(), out.ranks.end(),
                                     [](const RankBreakdown& a, const RankBreakdown& b) {
                                       return a.waited_for.value_or(0) < b.waited_for.value_or(0);
                                     });
  if (slow == out.ranks.end() || !slow->waited_for || out.ranks.size() < 2) return;
  const double others = sum.wall - slow->shares.wall;
  if (share_of(*slow->waited_for, others) > rules.limit("straggler-share") &&
      share_of(*slow->waited_for, late) > rules.limit("straggler-blame")) {
    out.straggler = slow->rank;
    out.bound = "straggler";
    out.remarks.push_back(
        {"profile-straggler",
         fmt::format("rank {} on {} is what the others wait for: {:.0f} % of their time, {:.0f} % "
                     "of all waiting for late ranks; it came last to {} operations and computes "
                     "{:.3f} s of {:.3f} s",
                     slow->rank, slow->host, 100 * share_of(*slow->waited_for, others),
                     100 * share_of(*slow->waited_for, late), slow->last.value_or(0),
                     slow->shares.own, slow->shares.wall),
         "its host: clocks, throttling, other work there, its part of the data"});
  } else if (out.bound == "straggler") {
    // Now one, now another is late: no rank is to blame.
    out.bound = "mixed";
    out.remarks.push_back({"profile-imbalance",
                           "the ranks wait for each other in turn: none is late more than others",
                           "uneven parts of the data, or machines with other work"});
  }
}

}  // namespace parts

Breakdown break_down(const std::vector<RankTrace>& traces, const facts::Nsight& rules) {
  if (traces.empty()) return {};
  return FromTraces(traces, rules).make();
}

nlohmann::ordered_json to_json(const Breakdown& breakdown) {
  using json = nlohmann::ordered_json;
  json out;
  out["source"] = breakdown.source;
  out["bound"] = breakdown.bound;
  out["evidence"] = breakdown.evidence;
  out["straggler"] = breakdown.straggler ? json(*breakdown.straggler) : json(nullptr);
  auto& ranks = out["ranks"] = json::array();
  for (const RankBreakdown& rank : breakdown.ranks) {
    json one = {{"rank", rank.rank}, {"host", rank.host}, {"bound", rank.bound}};
    add_shares(one, rank.shares);
    one["waited_for_seconds"] = rank.waited_for ? json(*rank.waited_for) : json(nullptr);
    one["last_operations"] = rank.last ? json(*rank.last) : json(nullptr);
    if (!rank.categories.empty()) one["categories"] = rank.categories;
    auto& steps = one["steps"] = json::array();
    for (const StepBreakdown& step : rank.steps) {
      json row = {{"step", step.step}, {"bound", step.bound}};
      add_shares(row, step.shares);
      steps.push_back(std::move(row));
    }
    ranks.push_back(std::move(one));
  }
  auto& remarks = out["remarks"] = json::array();
  for (const Remark& remark : breakdown.remarks)
    remarks.push_back({{"rule", remark.rule}, {"message", remark.message}, {"hint", remark.hint}});
  out["gaps"] = breakdown.gaps;
  return out;
}

}  // namespace muster::runs
