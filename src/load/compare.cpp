#include "load/compare.h"

#include <fmt/format.h>

namespace muster::load {
namespace {

using nlohmann::json;

struct Figure {
  const char* name;
  const char* pointer;
  bool more_is_better;
};

constexpr Figure kFigures[] = {
    {"output tokens/s", "/output_tokens_per_second", true},
    {"requests/s", "/requests_per_second", true},
    {"ttft p50 ms", "/ttft_ms/p50", false},
    {"ttft p99 ms", "/ttft_ms/p99", false},
    {"itl p50 ms", "/itl_ms/p50", false},
    {"itl p99 ms", "/itl_ms/p99", false},
    {"e2e p50 ms", "/e2e_ms/p50", false},
    {"e2e p99 ms", "/e2e_ms/p99", false},
};

bool is_load(const json& document) {
  return document.is_object() && document.contains("workload") &&
         document["workload"].is_object() && document.contains("levels") &&
         document["levels"].is_array();
}

std::optional<double> figure_in(const json& level, const char* pointer) {
  const json::json_pointer where(pointer);
  if (!level.contains(where) || !level[where].is_number()) return std::nullopt;
  return level[where].get<double>();
}

std::string level_of(const json& level) {
  const auto text = [&level](const char* key) {
    return level.is_object() && level.contains(key) ? level[key].dump() : std::string("?");
  };
  return text("concurrency") != "0" ? "concurrency " + text("concurrency")
                                    : text("rate") + " requests/s";
}

/// Names of the settings that are not the same in both.
std::vector<std::string> unlike(const json& before, const json& after) {
  std::vector<std::string> names;
  json all = before;
  all.update(after);
  for (const auto& [key, value] : all.items()) {
    if (!before.contains(key) || !after.contains(key) || before[key] != after[key])
      names.push_back(fmt::format("{} ({} and {})", key,
                                  before.contains(key) ? before[key].dump() : "absent",
                                  after.contains(key) ? after[key].dump() : "absent"));
  }
  return names;
}

void judge_change(const Change& change, double tolerance, Verdict& verdict) {
  const auto ratio = change.ratio();
  if (!ratio) return;
  const double worse = change.more_is_better ? 1 / *ratio : *ratio;
  verdict.add(
      fmt::format("{}: {}", change.figure, change.level),
      worse <= 1 + tolerance ? Outcome::kPass : Outcome::kFail,
      fmt::format("{:.4g} before, {:.4g} now: {:.3f} of it", change.before, change.after, *ratio));
}

}  // namespace

std::optional<double> Change::ratio() const {
  if (!(before > 0) || !(after > 0)) return std::nullopt;
  return after / before;
}

Result<Comparison> compare_loads(const json& before, const json& after, double tolerance) {
  for (const json* document : {&before, &after}) {
    if (!is_load(*document))
      return failure("load-compare", "not a result of muster load",
                     "a file that --out has written");
  }
  Comparison comparison;
  const auto different = unlike(before["workload"], after["workload"]);
  if (!different.empty()) {
    comparison.verdict.add("like", Outcome::kUnknown,
                           fmt::format("not the same workload: {}", fmt::join(different, ", ")));
    return comparison;
  }
  for (const json& old_level : before["levels"]) {
    for (const json& new_level : after["levels"]) {
      if (level_of(old_level) != level_of(new_level)) continue;
      for (const Figure& figure : kFigures) {
        const auto first = figure_in(old_level, figure.pointer);
        const auto second = figure_in(new_level, figure.pointer);
        if (!first || !second) continue;
        comparison.changes.push_back(
            {level_of(old_level), figure.name, *first, *second, figure.more_is_better});
        judge_change(comparison.changes.back(), tolerance, comparison.verdict);
      }
    }
  }
  if (comparison.changes.empty())
    comparison.verdict.add("like", Outcome::kUnknown, "no level is in both");
  return comparison;
}

}  // namespace muster::load
