#include "runs/report_serving.h"

#include <algorithm>
#include <string>
#include <utility>

namespace muster::runs {
namespace {

using nlohmann::json;

std::optional<double> figure_at(const json& object, const char* pointer) {
  const json::json_pointer where(pointer);
  if (!object.is_object() || !object.contains(where) || !object[where].is_number())
    return std::nullopt;
  return object[where].get<double>();
}

using Figures = std::vector<std::pair<const char*, const char*>>;  ///< label, pointer

/// One chart of `rows`, a line for each figure; rows without the figure are gaps.
Chart chart_of(std::string title, std::string unit, std::string x,
               const std::vector<long long>& steps, const std::vector<const json*>& rows,
               const Figures& figures) {
  Chart chart;
  chart.title = std::move(title);
  chart.unit = std::move(unit);
  chart.x = std::move(x);
  chart.steps = steps;
  chart.from_zero = true;
  for (const auto& [label, pointer] : figures) {
    Chart::Line line;
    line.label = label;
    for (const json* row : rows) line.values.push_back(figure_at(*row, pointer));
    const bool any = std::any_of(line.values.begin(), line.values.end(),
                                 [](const auto& value) { return value.has_value(); });
    if (any) chart.lines.push_back(std::move(line));
  }
  return chart;
}

void keep(std::vector<Chart>& charts, Chart chart) {
  if (!chart.lines.empty()) charts.push_back(std::move(chart));
}

std::vector<Chart> over_users(const std::vector<const json*>& levels) {
  std::vector<std::pair<long long, const json*>> sorted;
  for (const json* level : levels) {
    if (const auto users = figure_at(*level, "/concurrency"))
      sorted.emplace_back(static_cast<long long>(*users), level);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<long long> users;
  std::vector<const json*> rows;
  for (const auto& [count, level] : sorted) {
    users.push_back(count);
    rows.push_back(level);
  }
  std::vector<Chart> charts;
  keep(charts, chart_of("Output", "tokens/s", "users", users, rows,
                        {{"output", "/output_tokens_per_second"}}));
  keep(charts, chart_of("Time to first token", "ms", "users", users, rows,
                        {{"median", "/ttft_ms/p50"}, {"99 %", "/ttft_ms/p99"}}));
  keep(charts, chart_of("Between pieces", "ms", "users", users, rows,
                        {{"median", "/itl_ms/p50"}, {"99 %", "/itl_ms/p99"}}));
  for (Chart& chart : charts) chart.log_x = true;
  return charts;
}

std::vector<Chart> over_seconds(const json& level) {
  const auto timeline = level.find("timeline");
  if (timeline == level.end() || !timeline->is_array()) return {};
  std::vector<long long> seconds;
  std::vector<const json*> rows;
  for (const json& row : *timeline) {
    seconds.push_back(static_cast<long long>(rows.size()));
    rows.push_back(&row);
  }
  std::vector<Chart> charts;
  keep(charts, chart_of("Output", "tokens/s", "second", seconds, rows, {{"output", "/tokens"}}));
  keep(charts, chart_of("Time to first token", "ms", "second", seconds, rows,
                        {{"median", "/ttft_p50_ms"}}));
  keep(charts, chart_of("Requests", "a second", "second", seconds, rows,
                        {{"complete", "/complete"}, {"failed", "/failed"}}));
  return charts;
}

}  // namespace

std::vector<Chart> load_charts(const json& bench) {
  if (!bench.is_object()) return {};
  const auto found = bench.find("levels");
  if (found == bench.end() || !found->is_array()) return {};
  std::vector<const json*> levels;
  for (const json& level : *found) {
    if (level.is_object()) levels.push_back(&level);
  }
  if (levels.empty()) return {};
  return levels.size() == 1 ? over_seconds(*levels.front()) : over_users(levels);
}

}  // namespace muster::runs
