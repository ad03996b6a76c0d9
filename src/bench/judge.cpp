#include "bench/judge.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/formulas.h"
#include "bench/judge_checks.h"
#include "runs/statistics.h"

namespace muster::bench {
namespace {

using Json = nlohmann::ordered_json;

/// "all_reduce" of a run, for messages.
std::string name_of(const Run& run) {
  return run.operation.empty() ? run.tool : fmt::format("{} {}", run.tool, run.operation);
}

/// Whether the tool can check its data and so could have.
bool can_check(const Run& run) {
  return run.tool != "perftest" && run.tool != "nvshmem" && run.tool != "pplx-kernels" &&
         run.tool != "pplx-garden";
}

/// A rate of one pair, and between whom; of one rank when there is no other.
struct Pair {
  std::string from, to;
  double rate = 0;
  std::string where;
};

/// Pairs by what they share: the test, the size.
using PairGroups = std::map<std::string, std::vector<Pair>>;

void add_matrix_pairs(const Log& log, PairGroups& groups) {
  const Regex& pair_form = pattern(R"(^(.*\S) (?:->|<-|<->) (\S.*)$)");
  Regex::Match match;
  for (const Run& run : log.runs) {
    for (const Record& record : run.records) {
      const auto rate = rate_of(record);
      if (!rate) continue;
      if (record.variant.starts_with("rank ") && record.variant.find("->") == std::string::npos) {
        groups[fmt::format("{}/{}/ranks", log.file, record.operation)].push_back(
            {record.operation + " of " + record.variant, {}, *rate, place(log, record.line)});
      }
      if (!finds(pair_form, record.variant, match)) continue;
      groups[fmt::format("{}/{}/{}", log.file, record.operation, record.size.value_or(0))]
          .push_back({std::string(group(match, 1)), std::string(group(match, 2)), *rate,
                      place(log, record.line)});
    }
  }
}

/// Runs of two hosts each, of one operation: each is a pair at its largest size.
void add_host_pairs(const std::vector<Log>& logs, PairGroups& groups) {
  for (const Log& log : logs) {
    for (const Run& run : log.runs) {
      const auto hosts = hosts_of(run);
      if (hosts.size() != 2) continue;
      const Record* largest = nullptr;
      for (const Record& record : run.records) {
        if (!rate_of(record) || !record.size) continue;
        if (largest == nullptr || *record.size > *largest->size ||
            (record.size == largest->size && *rate_of(record) > *rate_of(*largest))) {
          largest = &record;
        }
      }
      if (largest == nullptr) continue;
      groups[fmt::format("hosts/{}/{}/{}", run.operation, *largest->size, largest->type)].push_back(
          {hosts[0], hosts[1], *rate_of(*largest), place(log, largest->line)});
    }
  }
}

}  // namespace

std::string place(const Log& log, int line) {
  return line > 0 ? fmt::format("{}:{}", log.file, line) : log.file;
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

void check_results(const std::vector<Log>& logs, Verdict& verdict) {
  std::size_t records = 0, figures = 0, runs = 0, unread = 0;
  std::string first_unread;
  std::vector<std::string> empty, bare;
  for (const Log& log : logs) {
    if (log.empty()) empty.push_back(log.file);
    runs += log.runs.size();
    for (const Run& run : log.runs) {
      records += run.records.size();
      figures += static_cast<std::size_t>(
          std::count_if(run.records.begin(), run.records.end(), [](const Record& record) {
            return record.time.has_value() || rate_of(record).has_value();
          }));
      const bool says = !run.records.empty() || !run.wrong.empty() || !run.broken.empty();
      if (!says && !run.ended)
        bare.push_back(fmt::format("{} ({})", place(log, run.line), name_of(run)));
    }
    unread += log.findings.size();
    if (first_unread.empty() && !log.findings.empty()) {
      first_unread = fmt::format("{}: {}", place(log, log.findings.front().where.line),
                                 log.findings.front().message);
    }
  }
  if (!empty.empty()) {
    verdict.add("results", Outcome::kUnknown,
                fmt::format("nothing in {} was understood as the output of a benchmark",
                            fmt::join(empty, ", ")));
    return;
  }
  if (unread > 0) {
    verdict.add("results", Outcome::kUnknown,
                fmt::format("{} rows, and {} that could not be read, the first at {}", records,
                            unread, first_unread));
    return;
  }
  if (!bare.empty()) {
    verdict.add(
        "results", Outcome::kUnknown,
        fmt::format("{} rows, and none of what began at {}", records, fmt::join(bare, ", ")));
    return;
  }
  verdict.add(
      "results", figures > 0 ? Outcome::kPass : Outcome::kUnknown,
      fmt::format("{} {} of {} {}{}", records, records == 1 ? "row" : "rows", runs,
                  runs == 1 ? "run" : "runs", figures > 0 ? "" : ", none with a time or a rate"));
}

void check_completed(const std::vector<Log>& logs, Verdict& verdict) {
  std::vector<std::string> broken, open;
  std::size_t ended = 0;
  for (const Log& log : logs) {
    for (const Run& run : log.runs) {
      for (const Remark& remark : run.broken)
        broken.push_back(fmt::format("{}: {}", place(log, remark.line), remark.text));
      if (!run.has_summary) continue;
      if (run.ended) {
        ++ended;
      } else {
        open.push_back(place(log, run.line));
      }
    }
  }
  if (!broken.empty()) {
    verdict.add("completed", Outcome::kFail,
                broken.size() == 1
                    ? broken.front()
                    : fmt::format("{} (and {} more)", broken.front(), broken.size() - 1));
  } else if (!open.empty()) {
    verdict.add("completed", Outcome::kUnknown,
                fmt::format("the run at {} has no summary: it was ended, or the log is cut off",
                            fmt::join(open, ", ")));
  } else if (ended > 0) {
    verdict.add(
        "completed", Outcome::kPass,
        fmt::format("{} with {} summary", ended == 1 ? "1 run" : fmt::format("{} runs", ended),
                    ended == 1 ? "its" : "their"));
  }
}

void check_correctness(const std::vector<Log>& logs, const JudgeOptions& options,
                       Verdict& verdict) {
  std::vector<std::string> wrong, unchecked;
  std::size_t checked = 0;
  for (const Log& log : logs) {
    for (const Run& run : log.runs) {
      for (const Remark& remark : run.wrong)
        wrong.push_back(fmt::format("{}: {}", place(log, remark.line), remark.text));
      if (run.records.empty()) continue;
      const auto known =
          std::count_if(run.records.begin(), run.records.end(),
                        [](const Record& record) { return record.wrong.has_value(); });
      checked += static_cast<std::size_t>(known);
      if (known == 0) {
        unchecked.push_back(fmt::format(
            "{} ({})", place(log, run.line),
            can_check(run) ? name_of(run) + " ran without its check" : run.tool + " has no check"));
      }
    }
  }
  if (!wrong.empty()) {
    verdict.add(
        "correctness", Outcome::kFail,
        fmt::format(
            "wrong data: {}{}", wrong.front(),
            wrong.size() > 1 ? fmt::format(" (and {} more places)", wrong.size() - 1) : ""));
  } else if (!unchecked.empty() && !options.allow_unchecked) {
    verdict.add(
        "correctness", Outcome::kUnknown,
        fmt::format("not checked: {}; --allow-unchecked accepts that", fmt::join(unchecked, ", ")));
  } else if (checked > 0) {
    verdict.add("correctness", Outcome::kPass, fmt::format("no wrong value in {} rows", checked));
  }
}

void check_pairs(const std::vector<Log>& logs, const JudgeOptions& options, Verdict& verdict) {
  PairGroups groups;
  for (const Log& log : logs) add_matrix_pairs(log, groups);
  add_host_pairs(logs, groups);
  std::vector<std::string> slow;
  std::size_t judged = 0;
  for (const auto& [key, pairs] : groups) {
    if (pairs.size() < 3) continue;
    std::vector<double> rates;
    for (const Pair& pair : pairs) rates.push_back(pair.rate);
    const double middle = *runs::median(rates);
    if (middle <= 0) continue;  // nothing to be slower than
    const double spread = *runs::median_absolute_deviation(rates);
    judged += pairs.size();
    for (const Pair& pair : pairs) {
      if (pair.rate >= middle * (1 - options.pair_tolerance) || pair.rate >= middle - 5 * spread)
        continue;
      slow.push_back(fmt::format("{}: {:.4g} GB/s, the median {:.4g} ({})",
                                 pair.to.empty() ? pair.from : pair.from + " and " + pair.to,
                                 pair.rate, middle, pair.where));
    }
  }
  if (!slow.empty()) {
    verdict.add("pairs", Outcome::kFail, fmt::format("slow: {}", fmt::join(slow, "; ")));
  } else if (judged > 0) {
    verdict.add("pairs", Outcome::kPass,
                fmt::format("{} pairs or ranks, none more than {:.0f} % below the median", judged,
                            100 * options.pair_tolerance));
  }
}

Verdict judge_logs(const std::vector<Log>& logs, const JudgeOptions& options,
                   const JudgeReferences& references) {
  Verdict verdict;
  check_results(logs, verdict);
  check_completed(logs, verdict);
  check_correctness(logs, options, verdict);
  check_world(logs, options, references, verdict);
  check_transport(logs, options, references, verdict);
  check_pairs(logs, options, verdict);
  if (!options.speed) return verdict;
  // The speed of wrong results, or of another run than the one asked for, says nothing.
  for (const Check& check : verdict.checks()) {
    const bool decides =
        check.name == "correctness" || check.name == "world-size" || check.name == "completed";
    if (decides && check.outcome == Outcome::kFail) {
      verdict.add("speed", Outcome::kUnknown,
                  fmt::format("not judged, since {} fails", check.name));
      return verdict;
    }
  }
  check_speed(logs, options, references, verdict);
  return verdict;
}

Json series_figures(const std::vector<Log>& logs, std::uint64_t min_size) {
  Json list = Json::array();
  for (const Log& log : logs) {
    std::map<std::string, std::map<std::uint64_t, const Record*>> series;
    for (const Run& run : log.runs) {
      for (const Record& record : run.records) {
        if (record.size) series[series_key(run, record)][*record.size] = &record;
      }
    }
    for (const auto& [key, sizes] : series) {
      std::vector<std::pair<double, double>> rates, times;
      double large = 0;
      int large_count = 0;
      std::optional<double> latency;
      for (const auto& [size, record] : sizes) {
        const double bytes = static_cast<double>(size);
        if (record->time) {
          times.emplace_back(bytes, *record->time);
          if (!latency) latency = record->time;
        }
        if (const auto rate = rate_of(*record)) {
          rates.emplace_back(bytes, *rate);
          if (size >= min_size) {
            large += *rate;
            ++large_count;
          }
        }
      }
      const auto or_null = [](const std::optional<double>& value) {
        return value ? Json(*value) : Json(nullptr);
      };
      std::optional<double> peak;
      for (const auto& point : rates) peak = std::max(peak.value_or(0), point.second);
      const auto fit = fit_time(times);
      list.push_back(
          {{"file", log.file},
           {"series", key},
           {"points", sizes.size()},
           {"latency_us", or_null(latency)},
           {"peak", or_null(peak)},
           {"plateau", or_null(plateau(rates))},
           {"mean_large", large_count > 0 ? Json(large / large_count) : Json(nullptr)},
           {"half_peak_size", or_null(half_peak_size(rates))},
           {"fit", fit ? Json{{"latency_us", fit->latency}, {"bandwidth", fit->bandwidth}}
                       : Json(nullptr)}});
    }
  }
  return list;
}

}  // namespace muster::bench
