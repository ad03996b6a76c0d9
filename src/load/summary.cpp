#include "load/summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/schema.h"

namespace muster::load {
namespace {

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

double as_seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

bool meets(const Sample& sample, const Objectives& objectives) {
  if (!sample.error.empty()) return false;
  const auto within = [](std::int64_t from, std::int64_t to, const std::optional<double>& limit) {
    return !limit || (to >= 0 && as_seconds(to - from) <= *limit);
  };
  if (!within(sample.scheduled, sample.first, objectives.ttft)) return false;
  if (!within(sample.scheduled, sample.end, objectives.e2e)) return false;
  if (!objectives.tpot || sample.tokens() < 2) return true;
  return as_seconds(sample.last - sample.first) / (sample.tokens() - 1) <= *objectives.tpot;
}

/// Adds what one request sent in the window, and to the curve over time.
struct Flow {
  std::int64_t from, to;
  double tokens = 0, prompts = 0, complete = 0;
  std::vector<Second>* timeline;

  Second* second_of(std::int64_t at) const {
    const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, at) / 1'000'000'000);
    return index < timeline->size() ? &(*timeline)[index] : nullptr;
  }

  void add(const Sample& sample) {
    if (!sample.error.empty()) {
      if (Second* const second = second_of(sample.end)) ++second->failed;
      return;
    }
    // A piece of text may hold several tokens; the server's count is spread over them.
    const double each = sample.pieces.empty() ? 0
                                              : static_cast<double>(sample.tokens()) /
                                                    static_cast<double>(sample.pieces.size());
    for (const std::int64_t at : sample.pieces) {
      if (at >= from && at < to) tokens += each;
      if (Second* const second = second_of(at)) second->tokens += each;
    }
    if (sample.end >= from && sample.end < to) {
      ++complete;
      prompts += std::max(0, sample.prompt_tokens);
    }
    if (Second* const second = second_of(sample.end)) ++second->complete;
    if (Second* const second = second_of(sample.first); second != nullptr && sample.first >= 0)
      second->ttft.record(sample.first - sample.scheduled);
  }
};

/// Adds the latencies of one complete request that counts.
void count_complete(const Sample& sample, Summary& summary, int& counted_by_server) {
  ++summary.complete;
  if (sample.first >= 0) summary.ttft.record(sample.first - sample.scheduled);
  summary.e2e.record(sample.end - sample.scheduled);
  for (std::size_t i = 1; i < sample.pieces.size(); ++i)
    summary.itl.record(sample.pieces[i] - sample.pieces[i - 1]);
  const int tokens = sample.tokens();
  if (tokens > 1 && sample.pieces.size() > 1)
    summary.tpot.record((sample.last - sample.first) / (tokens - 1));
  summary.output_tokens.record(tokens);
  if (sample.prompt_tokens >= 0) summary.prompt_tokens.record(sample.prompt_tokens);
  if (sample.output_tokens >= 0) ++counted_by_server;
  if (tokens < sample.asked_tokens) ++summary.short_answers;
}

/// {mean, p50, p95, max} of counts.
nlohmann::ordered_json counts_json(const Histogram& histogram) {
  if (histogram.count() == 0) return nullptr;
  return {{"mean", rounded(histogram.mean())},
          {"p50", histogram.percentile(50)},
          {"p95", histogram.percentile(95)},
          {"max", histogram.max()}};
}

std::string level_name(const Level& level) {
  return level.concurrency > 0 ? fmt::format("concurrency {}", level.concurrency)
                               : fmt::format("{:.4g} requests/s", level.rate);
}

void judge_answers(const Level& level, Verdict& verdict) {
  const Summary& summary = level.summary;
  const std::string name = "answered: " + level_name(level);
  if (summary.requests == 0) {
    verdict.add(name, Outcome::kUnknown, "no request was due after the warm-up: nothing measured");
    return;
  }
  std::string errors;
  bool unreachable = summary.complete == 0;
  for (const auto& [kind, count] : summary.errors) {
    errors += fmt::format("; {} × {} ({})", count, kind, summary.examples.at(kind));
    unreachable = unreachable && kind == "unreachable";
  }
  const std::string seen =
      fmt::format("{} of {} requests complete{}", summary.complete, summary.requests, errors);
  const bool all = summary.complete == summary.requests;
  verdict.add(name, all ? Outcome::kPass : unreachable ? Outcome::kUnknown : Outcome::kFail, seen);
}

}  // namespace

Result<Objectives> parse_objectives(const std::string& text) {
  Objectives objectives;
  const auto bad = [](const std::string& part) -> Failure {
    return failure("load-slo", fmt::format("\"{}\" is no objective", part),
                   "ttft=500ms,tpot=50ms,e2e=10s: time to the first token, for each token after "
                   "it, and to the end; each at most once");
  };
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string part = text.substr(from, comma - from);
    const std::size_t equal = part.find('=');
    if (equal == std::string::npos) return bad(part);
    const std::string key = part.substr(0, equal);
    const auto seconds = parse_duration(part.substr(equal + 1));
    std::optional<double>* const field = key == "ttft"   ? &objectives.ttft
                                         : key == "tpot" ? &objectives.tpot
                                         : key == "e2e"  ? &objectives.e2e
                                                         : nullptr;
    if (field == nullptr || *field || !seconds || *seconds <= 0) return bad(part);
    *field = *seconds;
    from = comma + 1;
  }
  return objectives;
}

Summary summarise(const DriveResult& result, std::chrono::nanoseconds warm_up,
                  std::chrono::nanoseconds duration, const Objectives& objectives) {
  Summary summary;
  const std::int64_t from = warm_up.count(), to = std::min(duration.count(), result.wall);
  constexpr std::int64_t kLongestTimeline = 7200;
  summary.timeline.resize(static_cast<std::size_t>(
      std::clamp<std::int64_t>(result.wall / 1'000'000'000 + 1, 1, kLongestTimeline)));
  Flow flow{from, to, 0, 0, 0, &summary.timeline};
  int good = 0, counted_by_server = 0;
  for (const Sample& sample : result.samples) {
    flow.add(sample);
    if (sample.scheduled < from) continue;
    ++summary.requests;
    if (meets(sample, objectives)) ++good;
    if (sample.error.empty()) {
      count_complete(sample, summary, counted_by_server);
    } else {
      ++summary.errors[sample.error];
      summary.examples.emplace(sample.error, sample.detail);
    }
  }
  summary.tokens_from = counted_by_server == 0                  ? "pieces"
                        : counted_by_server == summary.complete ? "server"
                                                                : "mixed";
  summary.seconds = std::max(0.0, as_seconds(to - from));
  if (summary.seconds > 0) {
    summary.requests_per_second = flow.complete / summary.seconds;
    summary.output_tokens_per_second = flow.tokens / summary.seconds;
    summary.total_tokens_per_second = (flow.tokens + flow.prompts) / summary.seconds;
  }
  if (objectives.any() && summary.requests > 0) {
    summary.good_share = static_cast<double>(good) / summary.requests;
    if (summary.seconds > 0) summary.good_per_second = good / summary.seconds;
  }
  return summary;
}

nlohmann::ordered_json to_json(const Summary& summary, int accelerators) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["requests"] = summary.requests;
  json["complete"] = summary.complete;
  Json errors = Json::object();
  for (const auto& [kind, count] : summary.errors)
    errors[kind] = {{"count", count}, {"example", summary.examples.at(kind)}};
  json["errors"] = std::move(errors);
  json["ttft_ms"] = to_json(summary.ttft);
  json["itl_ms"] = to_json(summary.itl);
  json["tpot_ms"] = to_json(summary.tpot);
  json["e2e_ms"] = to_json(summary.e2e);
  json["prompt_tokens"] = counts_json(summary.prompt_tokens);
  json["output_tokens"] = counts_json(summary.output_tokens);
  json["tokens_from"] = summary.tokens_from;
  json["short_answers"] = summary.short_answers;
  json["window_seconds"] = rounded(summary.seconds);
  json["requests_per_second"] = rounded(summary.requests_per_second);
  json["output_tokens_per_second"] = rounded(summary.output_tokens_per_second);
  json["total_tokens_per_second"] = rounded(summary.total_tokens_per_second);
  if (accelerators > 0) {
    json["output_tokens_per_second_per_accelerator"] =
        rounded(summary.output_tokens_per_second / accelerators);
  }
  if (summary.good_share) json["good_share"] = rounded(*summary.good_share);
  if (summary.good_per_second) json["good_per_second"] = rounded(*summary.good_per_second);
  Json timeline = Json::array();
  for (const Second& second : summary.timeline) {
    Json row = {{"tokens", rounded(second.tokens)},
                {"complete", second.complete},
                {"failed", second.failed}};
    row["ttft_p50_ms"] = second.ttft.count() == 0
                             ? Json()
                             : Json(rounded(static_cast<double>(second.ttft.percentile(50)) / 1e6));
    timeline.push_back(std::move(row));
  }
  json["timeline"] = std::move(timeline);
  return json;
}

Verdict judge_levels(const std::vector<Level>& levels, const Objectives& objectives, double share,
                     std::chrono::nanoseconds lag) {
  Verdict verdict;
  for (const Level& level : levels) {
    judge_answers(level, verdict);
    if (level.drive.interrupted) {
      verdict.add("whole: " + level_name(level), Outcome::kUnknown,
                  "the load was ended before its time");
    }
    if (level.summary.complete == 0) continue;
    if (objectives.any() && level.summary.good_share) {
      verdict.add("objectives: " + level_name(level),
                  *level.summary.good_share >= share ? Outcome::kPass : Outcome::kFail,
                  fmt::format("{:.2f} % of the requests keep them, {:.2f} % wanted",
                              *level.summary.good_share * 100, share * 100));
    }
    const std::int64_t slow = level.drive.loop.percentile(99);
    const std::string stolen = level.drive.stolen_share < 0
                                   ? "not known"
                                   : fmt::format("{:.1f} %", level.drive.stolen_share * 100);
    verdict.add("generator: " + level_name(level),
                slow < lag.count() ? Outcome::kPass : Outcome::kUnknown,
                fmt::format("99 of 100 turns of its loop took up to {:.3f} ms (limit {:.3g} ms), "
                            "sent {:.3f} ms late at the 99th percentile, {:.0f} % of a processor; "
                            "stolen by the hypervisor: {}",
                            static_cast<double>(slow) / 1e6, static_cast<double>(lag.count()) / 1e6,
                            static_cast<double>(level.drive.send_delay.percentile(99)) / 1e6,
                            level.drive.wall > 0
                                ? level.drive.cpu_seconds / as_seconds(level.drive.wall) * 100
                                : 0.0,
                            stolen));
  }
  return verdict;
}

namespace {

bool sound(const Level& level, double share) {
  const Summary& summary = level.summary;
  return summary.complete > 0 && summary.errors.empty() &&
         (!summary.good_share || *summary.good_share >= share);
}

}  // namespace

std::optional<std::size_t> knee(const std::vector<Level>& levels, double share) {
  double best = 0;
  for (const Level& level : levels) {
    if (sound(level, share)) best = std::max(best, level.summary.output_tokens_per_second);
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (sound(levels[i], share) && best > 0 &&
        levels[i].summary.output_tokens_per_second >= 0.95 * best)
      return i;
  }
  return std::nullopt;
}

bool sweep_is_over(const std::vector<Level>& levels, double share) {
  if (levels.empty()) return false;
  if (!sound(levels.back(), share)) return true;
  double best = 0;
  int flat = 0;
  for (const Level& level : levels) {
    const double rate = level.summary.output_tokens_per_second;
    flat = best > 0 && rate < 1.05 * best ? flat + 1 : 0;
    best = std::max(best, rate);
  }
  return flat >= 2;
}

}  // namespace muster::load
