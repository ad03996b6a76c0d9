// Whether it is fast enough: against what the hardware allows, what others published for the same
// hardware, and what was measured here before. Unlike configurations are never compared.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/ceiling.h"
#include "bench/judge_checks.h"
#include "runs/statistics.h"

namespace muster::bench {
namespace {

/// From here on a healthy fabric is near its rate; below, the ceiling says nothing.
constexpr std::uint64_t kCeilingFrom = std::uint64_t{1} << 30;
constexpr std::size_t kFewestSamples = 3;
/// Of a GPU topology without a switch: the links are shared by all pairs.
constexpr double kTopologyShare = 0.5;

/// A finding at one size of one series against one reference.
struct Shortfall {
  std::uint64_t size = 0;
  std::string text;
};

/// What was judged of one reference: how many sizes, and the first that falls short.
struct Tally {
  std::size_t judged = 0;
  std::optional<Shortfall> first;
  double least = 1e9;  ///< smallest share of what was asked
  std::string against;

  void see(double share_of_floor, std::uint64_t size, const std::string& text) {
    ++judged;
    least = std::min(least, share_of_floor);
    if (share_of_floor < 1 && (!first || size < first->size)) first = Shortfall{size, text};
  }
};

/// The better of the two placements at a size: floors are not kept for each.
struct Best {
  const Record* record = nullptr;
  double rate = 0;
};
using BySize = std::map<std::uint64_t, Best>;

std::string minor_release(const std::string& version) {
  const std::size_t first = version.find('.');
  const std::size_t second = first == std::string::npos ? first : version.find('.', first + 1);
  return version.substr(0, second);
}

/// The rows for this configuration. Of several (the log does not name its NCCL) the lowest counts.
std::vector<const facts::PerformanceFloor*> floors_for(
    const std::vector<facts::PerformanceFloor>& floors, const std::string& instance, int nodes,
    const Run& run, const Record& record, const std::string& nccl) {
  std::vector<const facts::PerformanceFloor*> found, of_release;
  for (const auto& floor : floors) {
    if (floor.instance != instance || floor.nodes != nodes || floor.operation != record.operation) {
      continue;
    }
    if (!floor.type.empty() && !record.type.empty() && floor.type != record.type) continue;
    if (!floor.variant.empty() && floor.variant != record.variant) continue;
    if (floor.ranks && ranks_of(run) != floor.ranks) continue;
    if (!floor.nccl.empty() && !nccl.empty()) {
      if (minor_release(floor.nccl) == minor_release(nccl)) of_release.push_back(&floor);
      continue;
    }
    found.push_back(&floor);
  }
  return of_release.empty() ? found : of_release;
}

/// The figure that holds at a size: of the largest published size that is not larger.
const facts::PerformancePoint* point_at(const facts::PerformanceFloor& floor,
                                        std::optional<std::uint64_t> size) {
  const facts::PerformancePoint* found = nullptr;
  for (const auto& point : floor.points) {
    if (!point.size && !size) return &point;
    if (point.size && size && *point.size <= *size) found = &point;
  }
  return found;
}

void judge_floors(const Log& log, const Run& run, const BySize& rows, const std::string& instance,
                  int nodes, const std::vector<facts::PerformanceFloor>& floors, Tally& tally) {
  for (const auto& [size, best] : rows) {
    const facts::PerformanceFloor* lowest = nullptr;
    double least = 0;
    for (const auto* floor : floors_for(floors, instance, nodes, run, *best.record, log.nccl)) {
      const auto* point = point_at(*floor, best.record->size);
      if (point == nullptr) continue;
      const auto figure = point->busbw ? point->busbw : point->algbw;
      const double wanted = *figure * (1 - floor->tolerance);
      if (lowest == nullptr || wanted < least) {
        lowest = floor;
        least = wanted;
      }
    }
    if (lowest == nullptr) continue;
    const auto measured = best.record->busbw ? best.record->busbw : best.record->algbw;
    tally.against = fmt::format("floor {} ({}; {:.0f} % tolerance)", lowest->name, lowest->source,
                                100 * lowest->tolerance);
    tally.see(*measured / least, size,
              fmt::format("{}: {} at {} reaches {:.4g} GB/s, the floor is {:.4g}",
                          place(log, best.record->line), best.record->operation, size_text(size),
                          *measured, least));
  }
}

void judge_ceiling(const Log& log, const BySize& rows, const facts::Instance& instance, int nodes,
                   int ranks, double share, Tally& tally, std::vector<std::string>& impossible) {
  for (const auto& [size, best] : rows) {
    if (size < kCeilingFrom || !best.record->busbw) continue;
    const auto ceiling = ceiling_of(instance, best.record->operation, nodes, ranks);
    if (!ceiling) continue;
    const double least = share * ceiling->ring;
    tally.against = fmt::format("{:.0f} % of the ceiling {:.4g} GB/s ({})", 100 * share,
                                ceiling->ring, ceiling->how);
    if (*best.record->busbw > 1.02 * ceiling->hard) {
      impossible.push_back(
          fmt::format("{}: {:.4g} GB/s is more than {} on {} {} can move ({:.4g} GB/s: {})",
                      place(log, best.record->line), *best.record->busbw, instance.name, nodes,
                      nodes == 1 ? "node" : "nodes", ceiling->hard, ceiling->how));
      continue;
    }
    tally.see(*best.record->busbw / least, size,
              fmt::format("{}: {} at {} reaches {:.4g} GB/s, {:.0f} % of the ceiling {:.4g} are "
                          "{:.4g}",
                          place(log, best.record->line), best.record->operation, size_text(size),
                          *best.record->busbw, 100 * share, ceiling->ring, least));
  }
}

void judge_topology(const Log& log, const BySize& rows, Tally& tally) {
  if (!log.topology_busbw || rows.empty()) return;
  const auto& [size, best] =
      *std::max_element(rows.begin(), rows.end(),
                        [](const auto& a, const auto& b) { return a.second.rate < b.second.rate; });
  const double least = kTopologyShare * *log.topology_busbw;
  tally.against = fmt::format("expected for this topology: at most {:.4g} GB/s, since {}",
                              *log.topology_busbw, log.topology_how);
  tally.see(best.rate / least, size,
            fmt::format("{}: {} at {} reaches {:.4g} GB/s, this topology allows {:.4g}: {}",
                        place(log, best.record->line), best.record->operation, size_text(size),
                        best.rate, *log.topology_busbw, log.topology_how));
}

/// Below the median by more than five deviations and by more than 5 %.
void judge_baseline(const Log& log, const Run& run, const Baseline& baseline,
                    std::uint64_t min_size, Tally& tally, std::vector<std::string>& unusable) {
  constexpr double kDeviations = 5, kNormal = 1.4826, kShare = 0.05;
  for (const Record& record : run.records) {
    if (record.size && *record.size < min_size && rate_of(record)) continue;
    const auto series = baseline.series.find(series_key(run, record));
    if (series == baseline.series.end()) continue;
    const auto at = series->second.find(record.size.value_or(0));
    if (at == series->second.end()) continue;
    const auto rate = rate_of(record);
    const auto& samples = rate ? at->second.rates : at->second.times;
    const auto measured = rate ? rate : record.time;
    if (!measured) continue;
    if (samples.size() < kFewestSamples) {
      unusable.push_back(fmt::format("{} at {} has {} samples, {} are needed", series->first,
                                     size_text(record.size.value_or(0)), samples.size(),
                                     kFewestSamples));
      continue;
    }
    const double middle = *runs::median(samples);
    const double spread = kNormal * *runs::median_absolute_deviation(samples);
    const double off = std::max(kDeviations * spread, kShare * middle);
    if (middle <= 0 || (rate && off >= middle)) {  // no rate at all would fall short of it
      unusable.push_back(
          fmt::format("{} at {} was measured as {:.4g} ± {:.4g}, which no rate can "
                      "be held to",
                      series->first, size_text(record.size.value_or(0)), middle, spread));
      continue;
    }
    const double share =
        rate ? *measured / (middle - off) : (middle + off) / std::max(*measured, 1e-9);
    tally.against = fmt::format("baseline {} (median less 5 deviations or 5 %)", baseline.file);
    tally.see(share, record.size.value_or(0),
              fmt::format("{}: {} at {} {} {:.4g} {}, the baseline's median of {} is {:.4g}",
                          place(log, record.line), record.operation,
                          size_text(record.size.value_or(0)), rate ? "reaches" : "takes", *measured,
                          rate ? "GB/s" : "µs", samples.size(), middle));
  }
}

/// Rows that bandwidth may be judged by, by size; those that differ in more than size and placement
/// apart. Peaks and single pairs are left to others.
std::vector<BySize> groups_of(const Run& run, std::uint64_t min_size) {
  std::map<std::string, BySize> groups;
  for (const Record& record : run.records) {
    const auto rate = rate_of(record);
    if (!rate || (record.size && *record.size < min_size)) continue;
    if (record.variant.find("->") != std::string::npos || record.variant.ends_with("peak"))
      continue;
    const std::string key =
        fmt::format("{}/{}/{}/{}", record.operation, record.type, record.reduction, record.variant);
    Best& best = groups[key][record.size.value_or(0)];
    if (best.record == nullptr || *rate > best.rate) best = {&record, *rate};
  }
  std::vector<BySize> list;
  list.reserve(groups.size());
  for (auto& [key, rows] : groups) list.push_back(std::move(rows));
  return list;
}

}  // namespace

void check_speed(const std::vector<Log>& logs, const JudgeOptions& options,
                 const JudgeReferences& references, Verdict& verdict) {
  std::vector<Tally> tallies;
  std::vector<std::string> impossible, unusable, unjudged;
  bool any_large = false, any_rate = false;
  for (const Log& log : logs) {
    bool judged = false, held = references.baseline == nullptr;
    for (const Run& run : log.runs) {
      const auto ranks = ranks_of(run);
      auto nodes = nodes_for(run, references.instance);
      if (!nodes) nodes = options.nodes;
      Tally floor, ceiling, topology, baseline;
      for (const Record& record : run.records) any_rate = any_rate || rate_of(record).has_value();
      for (const BySize& rows : groups_of(run, options.min_size)) {
        any_large = any_large || !rows.empty();
        if (references.instance != nullptr && nodes) {
          if (references.floors != nullptr)
            judge_floors(log, run, rows, references.instance->name, *nodes, *references.floors,
                         floor);
          if (ranks)
            judge_ceiling(log, rows, *references.instance, *nodes, *ranks, options.ceiling_share,
                          ceiling, impossible);
        }
        judge_topology(log, rows, topology);
      }
      if (references.baseline != nullptr)
        judge_baseline(log, run, *references.baseline, options.min_size, baseline, unusable);
      // A published figure for this very configuration says more than a share of the ceiling.
      if (floor.judged > 0) ceiling.judged = 0;
      for (const Tally& tally : {floor, ceiling, topology, baseline}) {
        if (tally.judged > 0) tallies.push_back(tally);
        judged = judged || tally.judged > 0;
      }
      held = held || baseline.judged > 0;
    }
    if (!judged) {
      unjudged.push_back(
          fmt::format("{}: no ceiling, floor or baseline says how fast it should be", log.file));
    } else if (!held) {
      unjudged.push_back(
          fmt::format("{}: baseline {} says nothing of it", log.file, references.baseline->file));
    }
  }
  std::vector<std::string> shorts, good;
  for (const Tally& tally : tallies) {
    if (tally.first) {
      shorts.push_back(fmt::format("{} [{}]", tally.first->text, tally.against));
    } else {
      good.push_back(fmt::format("{} {}, at least {:.0f} % of what is asked by {}", tally.judged,
                                 tally.judged == 1 ? "size" : "sizes", 100 * tally.least,
                                 tally.against));
    }
  }
  if (!shorts.empty()) {
    verdict.add("speed", Outcome::kFail,
                fmt::format("first to fall short: {}", fmt::join(shorts, "; ")));
  } else if (!impossible.empty()) {
    verdict.add("speed", Outcome::kUnknown,
                fmt::format("too fast to be true: {}", fmt::join(impossible, "; ")));
  } else if (!good.empty() && !unjudged.empty()) {
    verdict.add("speed", Outcome::kUnknown,
                fmt::format("correct, speed not judged: {}; {}", fmt::join(unjudged, "; "),
                            fmt::join(good, "; ")));
  } else if (!good.empty()) {
    verdict.add("speed", Outcome::kPass, fmt::format("{}", fmt::join(good, "; ")));
  } else if (!unusable.empty()) {
    verdict.add("speed", Outcome::kUnknown,
                fmt::format("correct, speed not judged: {}", unusable.front()));
  } else if (any_rate && !any_large) {
    verdict.add("speed", Outcome::kUnknown,
                fmt::format("correct, speed not judged: no message of {} or more, and small ones "
                            "say nothing of bandwidth",
                            size_text(options.min_size)));
  } else {
    verdict.add("speed", Outcome::kUnknown,
                references.instance == nullptr
                    ? "correct, speed not judged: no ceiling, floor or baseline; --instance and "
                      "--nodes name the hardware, --baseline earlier runs"
                    : fmt::format("correct, speed not judged: no ceiling, floor or baseline is "
                                  "known for this operation on {}",
                                  references.instance->name));
  }
}

nlohmann::ordered_json reference_lines(const std::vector<Log>& logs, const JudgeOptions& options,
                                       const JudgeReferences& references) {
  using Json = nlohmann::ordered_json;
  std::map<std::pair<std::string, std::string>, std::map<std::uint64_t, double>> lines;
  for (const Log& log : logs) {
    for (const Run& run : log.runs) {
      const auto ranks = ranks_of(run);
      auto nodes = nodes_for(run, references.instance);
      if (!nodes) nodes = options.nodes;
      for (const Record& record : run.records) {
        if (!record.size || !rate_of(record)) continue;
        if (references.instance != nullptr && nodes) {
          const auto ceiling =
              ceiling_of(*references.instance, record.operation, *nodes, ranks.value_or(0));
          if (ceiling) {
            const auto label = fmt::format("ceiling of a ring on {} ({})",
                                           references.instance->name, ceiling->how);
            lines[{record.operation, label}][*record.size] = ceiling->ring;
          }
          if (references.floors != nullptr) {
            for (const auto* floor : floors_for(*references.floors, references.instance->name,
                                                *nodes, run, record, log.nccl)) {
              const auto* point = point_at(*floor, record.size);
              if (point != nullptr && point->busbw)
                lines[{record.operation, "floor " + floor->name}][*record.size] =
                    *point->busbw * (1 - floor->tolerance);
            }
          }
        }
        if (references.baseline == nullptr) continue;
        const auto series = references.baseline->series.find(series_key(run, record));
        if (series == references.baseline->series.end()) continue;
        const auto at = series->second.find(*record.size);
        if (at == series->second.end() || at->second.rates.empty()) continue;
        // Tool and operation, which all lines of a plot share, are left out.
        const std::size_t rest = series->first.find('/', series->first.find('/') + 1);
        const std::string label =
            rest == std::string::npos ? "" : ": " + series->first.substr(rest + 1);
        lines[{record.operation, "median of the baseline" + label}][*record.size] =
            *runs::median(at->second.rates);
      }
    }
  }
  Json list = Json::array();
  for (const auto& [name, points] : lines) {
    Json pairs = Json::array();
    for (const auto& [size, rate] : points) pairs.push_back(Json::array({size, rate}));
    Json line = Json::object();
    line["operation"] = name.first;
    line["label"] = name.second;
    line["points"] = std::move(pairs);
    list.push_back(std::move(line));
  }
  return list;
}

}  // namespace muster::bench
