#include "runs/report_series.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runs/rank_view.h"
#include "runs/statistics.h"

namespace muster::runs {
namespace {

constexpr std::size_t kMostSteps = 1000;
constexpr std::size_t kMostRankLines = 8;

std::vector<std::optional<double>> thin(const std::vector<std::optional<double>>& values,
                                        std::size_t blocks) {
  std::vector<std::optional<double>> out;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::vector<double> present;
    for (std::size_t i = block * values.size() / blocks; i < (block + 1) * values.size() / blocks;
         ++i) {
      if (values[i]) {
        present.push_back(*values[i]);
      }
    }
    out.push_back(median(std::move(present)));
  }
  return out;
}

/// Leaves out lines without a point, and thins a long chart.
void finish(Chart& chart) {
  std::erase_if(chart.lines, [](const Chart::Line& line) {
    return std::none_of(line.values.begin(), line.values.end(),
                        [](const auto& value) { return value.has_value(); });
  });
  if (chart.steps.size() <= kMostSteps) {
    return;
  }
  for (Chart::Line& line : chart.lines) {
    line.values = thin(line.values, kMostSteps);
  }
  std::vector<long long> steps;
  for (std::size_t block = 0; block < kMostSteps; ++block) {
    steps.push_back(chart.steps[(block + 1) * chart.steps.size() / kMostSteps - 1]);
  }
  chart.steps = std::move(steps);
}

Chart::Line line(const std::string& label, const std::vector<long long>& steps,
                 const std::map<long long, Attempt::Event>& events, const char* key) {
  Chart::Line out{label, {}, false};
  for (const long long step : steps) {
    const auto found = events.find(step);
    out.values.push_back(found == events.end() ? std::nullopt : number(*found->second, key));
  }
  return out;
}

std::optional<double> median_after_first(const std::vector<Attempt::Event>& steps,
                                         const char* key) {
  std::vector<double> values;
  for (std::size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) {
    if (const auto value = number(*steps[i], key)) {
      values.push_back(*value);
    }
  }
  return median(std::move(values));
}

void add_charts(const std::vector<RankView>& ranks, const RankView& witness, Series& out) {
  std::set<long long> all;
  for (const auto& [step, event] : witness.steps) {
    all.insert(step);
  }
  const auto evaluated = std::find_if(ranks.begin(), ranks.end(),
                                      [](const RankView& rank) { return !rank.evals.empty(); });
  if (evaluated != ranks.end()) {
    for (const auto& [step, event] : evaluated->evals) {
      all.insert(step);
    }
  }
  const std::vector<long long> steps(all.begin(), all.end());

  Chart loss{"Loss", "", steps, {line("training", steps, witness.steps, "loss")}};
  if (evaluated != ranks.end()) {
    loss.lines.push_back(line("evaluation", steps, evaluated->evals, "loss"));
    loss.lines.back().points = true;
  }
  Chart waits{"Waiting in collectives", "s a step", steps, {}, true};
  if (ranks.size() > 1) {
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostRankLines); ++i) {
      waits.lines.push_back(line(ranks[i].name(), steps, ranks[i].steps, "wait_seconds"));
    }
    if (ranks.size() > kMostRankLines) {
      waits.title += fmt::format(" (the first {} of {} ranks)", kMostRankLines, ranks.size());
    }
  }
  const auto chart_of = [&](const char* title, const char* unit, const char* label, const char* key,
                            bool from_zero) {
    return Chart{title, unit, steps, {line(label, steps, witness.steps, key)}, from_zero};
  };
  for (Chart chart :
       {loss, chart_of("Throughput", "tokens/s", "all ranks", "tokens_per_second", true),
        chart_of("Learning rate", "", "learning rate", "lr", true),
        chart_of("Gradient norm", "", "before clipping", "grad_norm", true), waits}) {
    finish(chart);
    if (!chart.lines.empty()) {
      out.charts.push_back(std::move(chart));
    }
  }
}

}  // namespace

Series series(const std::vector<RankEvents>& events) {
  const std::vector<RankView> ranks = view(events);
  Series out;
  for (const RankView& rank : ranks) {
    RankFigures figures{rank.rank, rank.host, {}, {}, {}, {}};
    const auto& steps = rank.last().steps;
    figures.step_seconds = median_after_first(steps, "seconds");
    figures.wait_seconds = median_after_first(steps, "wait_seconds");
    if (figures.step_seconds && figures.wait_seconds) {
      figures.own_seconds = std::max(*figures.step_seconds - *figures.wait_seconds, 0.0);
    }
    if (rank.last().end != nullptr) {
      figures.peak_memory = number(*rank.last().end, "peak_memory");
    }
    out.ranks.push_back(std::move(figures));
    if (!rank.evals.empty() && !out.eval_loss) {
      out.eval_loss = number(*rank.evals.rbegin()->second, "loss");
    }
  }
  const auto witness = std::find_if(ranks.begin(), ranks.end(),
                                    [](const RankView& rank) { return !rank.steps.empty(); });
  if (witness == ranks.end()) {
    return out;
  }
  add_charts(ranks, *witness, out);
  out.steps = witness->steps.rbegin()->first;
  out.first_loss = number(*witness->steps.begin()->second, "loss");
  out.last_loss = number(*witness->steps.rbegin()->second, "loss");
  out.tokens_per_second = median_after_first(witness->last().steps, "tokens_per_second");
  out.mfu = median_after_first(witness->last().steps, "mfu");
  if (const Attempt::Event end = witness->last().end) {
    out.seconds = number(*end, "seconds");
    out.start_to_first_step = number(*end, "start_to_first_step_seconds");
  }
  return out;
}

Chart overlay(const std::string& title, const std::string& unit,
              const std::vector<std::pair<std::string, const Chart*>>& runs) {
  std::set<long long> all;
  for (const auto& [label, chart] : runs) {
    all.insert(chart->steps.begin(), chart->steps.end());
  }
  Chart out{
      title, unit, {all.begin(), all.end()}, {}, !runs.empty() && runs.front().second->from_zero};
  for (const auto& [label, chart] : runs) {
    std::map<long long, std::optional<double>> values;
    for (std::size_t i = 0; i < chart->steps.size(); ++i) {
      values[chart->steps[i]] = chart->lines.front().values[i];
    }
    Chart::Line line{label, {}, false};
    for (const long long step : out.steps) {
      const auto found = values.find(step);
      line.values.push_back(found == values.end() ? std::nullopt : found->second);
    }
    out.lines.push_back(std::move(line));
  }
  finish(out);
  return out;
}

}  // namespace muster::runs
