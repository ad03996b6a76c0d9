// The checks on how it ran: transport, throughput against the measured peak, stragglers.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "runs/judge_checks.h"
#include "runs/statistics.h"

namespace muster::runs::checks {
namespace {

using nlohmann::json;

/// Steps that speed is judged by: those of the last attempt but its first, which pays for what is
/// done once.
std::vector<Attempt::Event> timed_steps(const RankView& rank) {
  std::vector<Attempt::Event> steps = rank.last().steps;
  if (steps.size() > 1) {
    steps.erase(steps.begin());
  }
  return steps;
}

std::optional<double> median_of(const std::vector<Attempt::Event>& events, const char* key) {
  std::vector<double> values;
  for (const Attempt::Event event : events) {
    if (const auto value = number(*event, key)) {
      values.push_back(*value);
    }
  }
  return median(std::move(values));
}

/// Median of `sorted` (two values or more, ascending) without one occurrence of `own`, which is in
/// it.
double median_of_others(const std::vector<double>& sorted, double own) {
  const auto place = static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), own) -
                                              sorted.begin());
  const auto other = [&](std::size_t i) { return sorted[i < place ? i : i + 1]; };
  const std::size_t others = sorted.size() - 1;
  return others % 2 == 1 ? other(others / 2) : (other(others / 2 - 1) + other(others / 2)) / 2;
}

std::string flops(double per_second) {
  return per_second >= 1e12 ? fmt::format("{:.3g} TFLOP/s", per_second / 1e12)
                            : fmt::format("{:.3g} GFLOP/s", per_second / 1e9);
}

}  // namespace

Check transport(const Material& material) {
  Seen seen("transport");
  const std::string& asked = material.asked.transport;
  std::map<std::string, std::vector<int>> used;
  std::string version;
  for (const RankView& rank : material.ranks) {
    if (rank.source->events.empty()) {
      continue;
    }
    const std::string name =
        rank.last().start != nullptr ? text(*rank.last().start, "transport") : "";
    if (name.empty()) {
      seen.unknown(fmt::format("{} does not say its transport", rank.name()));
      continue;
    }
    used[name].push_back(rank.rank);
    if (asked != "auto" && name != asked) {
      seen.fail(fmt::format("{} used {}, {} was asked for", rank.name(), name, asked));
    }
    if (const auto versions = rank.last().start->find("versions");
        name == "mpi" && version.empty() && versions != rank.last().start->end() &&
        versions->is_object()) {
      version = text(*versions, "mpi");
    }
  }
  if (const auto absent = material.absent(); !absent.empty()) {
    seen.unknown(fmt::format("no start event of {} {}", absent.size() == 1 ? "rank" : "ranks",
                             ranges(absent)));
  }
  if (used.size() > 1) {
    std::string names;
    for (const auto& [name, who] : used) {
      names += fmt::format("{}{} on ranks {}", names.empty() ? "" : ", ", name, ranges(who));
    }
    seen.fail("different transports: " + names);
  } else if (used.size() == 1) {
    const auto& [name, who] = *used.begin();
    seen.pass(fmt::format("{}{}, as the start {} {} says; {} asked for", name,
                          version.empty() ? "" : fmt::format(" ({})", version),
                          who.size() == 1 ? "event of rank" : "event of ranks", ranges(who),
                          asked == "auto" ? "any was" : "it was"));
  }
  return seen.check();
}

Check throughput(const Material& material) {
  Seen seen("throughput");
  const Expectations& asked = material.asked;
  const RankView* witness = material.witness();
  if (witness == nullptr || witness->last().steps.empty()) {
    seen.unknown("no step was timed");
    return seen.check();
  }
  const auto steps = timed_steps(*witness);
  const auto rate = median_of(steps, "tokens_per_second");
  if (!rate || *rate <= 0) {
    seen.unknown("no step says its tokens per second");
    return seen.check();
  }
  std::optional<double> peak;
  std::string peak_type;
  for (const Attempt::Event event : witness->last().peaks) {
    if (const auto value = number(*event, "flops_per_second"); value && *value > 0) {
      peak = value;
      peak_type = text(*event, "dtype");
    }
  }
  const auto achieved = median_of(steps, "flops_per_second");
  auto share = median_of(steps, "mfu");
  if (!share && achieved && peak) {
    share = *achieved / *peak;
  }
  std::string what = fmt::format("{} tokens/s (median of {} steps)", grouped(*rate), steps.size());
  // A log tells what its program rounds to nothing, and a share of a peak that nobody measured
  // here.
  if (achieved && (*achieved > 0 || !asked.from_log)) {
    what += ", " + flops(*achieved) + " a rank";
  }
  if (share && asked.from_log) {
    if (*share > 0)
      what += fmt::format(", {:.1f} % of the peak that its program assumes", 100 * *share);
  } else if (share) {
    what += fmt::format(", {:.1f} % of the measured {}peak", 100 * *share,
                        peak_type.empty() ? "" : peak_type + " ");
    if (peak) {
      what += " of " + flops(*peak);
    }
  }

  // A rate that its own step time contradicts, or a share above the peak, is no evidence of
  // anything.
  const auto seconds = median_of(steps, "seconds");
  const auto per_step = witness->last().start != nullptr
                            ? number(*witness->last().start, "tokens_per_step")
                            : std::nullopt;
  if (seconds && per_step && *seconds > 0 &&
      std::abs(std::log(*rate * *seconds / *per_step)) > std::log(1.5)) {
    seen.unknown(fmt::format("{}, but {:.4g} tokens in steps of {:.4g} s are {:.4g} tokens/s", what,
                             *per_step, *seconds, *per_step / *seconds));
  }
  if (share && *share > 1.1) {
    seen.unknown(what + ": more than the peak, which can't have been measured right");
  }
  if (asked.tokens_per_second_min) {
    const std::string line =
        fmt::format("{}; at least {} tokens/s asked", what, grouped(*asked.tokens_per_second_min));
    *rate < *asked.tokens_per_second_min ? seen.fail(line) : seen.pass(line);
  }
  if (asked.mfu_min) {
    if (!share) {
      seen.unknown(
          fmt::format("{}; at least {:.1f} % of the peak is asked, but no peak was measured", what,
                      100 * *asked.mfu_min));
    } else {
      const std::string line =
          fmt::format("{}; at least {:.1f} % asked", what, 100 * *asked.mfu_min);
      *share < *asked.mfu_min ? seen.fail(line) : seen.pass(line);
    }
  }
  if (!asked.tokens_per_second_min && !asked.mfu_min) {
    seen.pass(what + "; no minimum asked");
  }
  return seen.check();
}

Check stragglers(const Material& material) {
  constexpr std::size_t kFewestSteps = 3;
  constexpr double kSigma =
      1.4826;  // of a normal distribution, in units of its median absolute deviation
  Seen seen("stragglers");

  // Own time: what a rank computed, without its waiting for others.
  std::map<long long, std::map<int, double>> own;  // step -> rank -> seconds
  std::map<int, std::vector<double>> times;        // rank -> seconds
  for (const RankView& rank : material.ranks) {
    if (!material.wanted(rank.rank)) {
      continue;
    }
    for (const Attempt::Event event : timed_steps(rank)) {
      const auto step = integer(*event, "step");
      const auto seconds = number(*event, "seconds");
      const auto waited = number(*event, "wait_seconds");
      if (step && seconds && waited) {
        own[*step][rank.rank] = std::max(*seconds - *waited, 0.0);
      }
    }
  }
  const auto world = static_cast<std::size_t>(material.asked.world);
  std::map<int, std::vector<double>>
      ratios;  // rank -> own time over the median of the other ranks, each step
  for (const auto& [step, by_rank] : own) {
    if (by_rank.size() != world) {
      continue;
    }
    std::vector<double> sorted;
    for (const auto& [rank, seconds] : by_rank) {
      sorted.push_back(seconds);
    }
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [rank, seconds] : by_rank) {
      times[rank].push_back(seconds);
      ratios[rank].push_back(seconds / std::max(median_of_others(sorted, seconds), 1e-9));
    }
  }
  if (ratios.empty() || ratios.begin()->second.size() < kFewestSteps) {
    seen.unknown(fmt::format("{} steps with times of all {} ranks; at least {} are needed",
                             ratios.empty() ? 0 : ratios.begin()->second.size(), world,
                             kFewestSteps));
    return seen.check();
  }
  std::vector<double> rank_times;
  std::vector<double> rank_ratios;
  for (const auto& [rank, values] : times) {
    rank_times.push_back(*median(values));
    rank_ratios.push_back(*median(ratios[rank]));
  }
  const double spread = kSigma * *median_absolute_deviation(rank_ratios);
  const double centre = *median(rank_ratios);
  const std::string group =
      fmt::format("median {:.4g} s, MAD {:.2g} s over {} ranks", *median(rank_times),
                  *median_absolute_deviation(rank_times), world);
  int slowest = 0;
  double worst = 0;
  std::size_t index = 0;
  for (const auto& [rank, values] : times) {
    const double ratio = rank_ratios[index++];
    if (ratio > worst) {
      worst = ratio;
      slowest = rank;
    }
    // With two ranks each is the other's only measure: the ratio alone decides.
    const bool apart = world < 3 || ratio > centre + material.asked.straggler_mads * spread;
    if (ratio > material.asked.straggler_ratio && apart) {
      seen.fail(fmt::format("{}: {:.4g} s of its own a step, {:.2f} times the other{} ({})",
                            material.find(rank)->name(), *median(values), ratio,
                            world < 3 ? "" : "s' median", group));
    }
  }
  if (seen.none_worse_than_pass()) {
    seen.pass(
        fmt::format("own time a step: {}; slowest is {}, {:.2f} times the other{} (limit {:.2f})",
                    group, material.find(slowest)->name(), worst, world < 3 ? "" : "s' median",
                    material.asked.straggler_ratio));
  }
  return seen.check();
}

}  // namespace muster::runs::checks
