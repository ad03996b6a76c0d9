#include "metrics/scraper.h"

#include <fmt/format.h>

#include "metrics/catalogue.h"
#include "metrics/collectors.h"
#include "metrics/self.h"
#include "metrics/textfiles.h"

namespace muster::metrics {
namespace {

void put_self(Exposition& to, const char* name, Labels labels, double value) {
  const MetricRow& row = metric_row(name);
  to.add(name, row.type, row.help, std::move(labels), value);
}

/// What every collector says of itself.
void put_state(Exposition& to, const std::string& name, const CollectorState& state) {
  const Labels labels = {{"collector", name}};
  put_self(to, "muster_collector_success", labels, state.success ? 1 : 0);
  put_self(to, "muster_collector_present", labels, state.present ? 1 : 0);
  put_self(to, "muster_collector_duration_seconds", labels, state.seconds);
  put_self(to, "muster_collector_unreadable", labels, state.unreadable);
  for (const std::string& file : state.stuck)
    put_self(to, "muster_collector_stuck", {{"collector", name}, {"file", file}}, 1);
  if (name == "efa") {
    const Labels as = {{"collector", "amazonefa"}};
    put_self(to, "node_scrape_collector_success", as, state.success ? 1 : 0);
    put_self(to, "node_scrape_collector_duration_seconds", as, state.seconds);
  }
}

/// Names that are the exporter's own: no file may write them.
const std::set<std::string, std::less<>>& own_names() {
  static const std::set<std::string, std::less<>> kNames = [] {
    std::set<std::string, std::less<>> names;
    for (const MetricRow& row : exporter_rows()) names.insert(row.name);
    return names;
  }();
  return kNames;
}

}  // namespace

Scraper::Scraper(const ScrapeOptions& options, ProcessRunner& processes) {
  if (options.efa) {
    files_.emplace_back("efa", std::make_unique<BoundedCollector>(
                                   options.root,
                                   [](const FileView& view, Exposition& to) {
                                     CollectorState state;
                                     state.present = collect_efa(view, to, &state.unreadable);
                                     state.success = state.unreadable == 0;
                                     return state;
                                   },
                                   options.files));
  }
  if (options.gpu)
    periodic_["gpu"] =
        std::make_unique<PeriodicCollector>(gpu_source(options.gpus), options.gpu_interval);
  if (options.slurm) {
    periodic_["slurm"] = std::make_unique<PeriodicCollector>(
        slurm_source(processes, options.slurm_limit), options.slurm_interval);
  }
  if (options.textfile) {  // last: what the others tell is newer than a file
    files_.emplace_back("textfile",
                        std::make_unique<BoundedCollector>(
                            "",
                            [folder = options.textfiles](const FileView& view, Exposition& to) {
                              return collect_textfiles(view, folder, to);
                            },
                            options.files));
  }
}

void Scraper::wait_for_first(std::chrono::milliseconds limit) const {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (const auto& [name, collector] : periodic_) {
    collector->wait_for_first(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(end - std::chrono::steady_clock::now(), {})));
  }
}

std::string Scraper::scrape(Form form, const server::Counts* counts) {
  Exposition metrics, self;
  std::set<std::string, std::less<>> taken = own_names();
  std::string rest;
  for (const auto& [name, collector] : periodic_) {
    const auto last = collector->last();
    CollectorState state;
    state.present = state.success = false;
    if (last != nullptr) {
      state = last->state;
      rest += form == Form::kText ? last->metrics.text : last->metrics.open_metrics;
      taken.insert(last->metrics.names.begin(), last->metrics.names.end());
      const std::chrono::duration<double> age = std::chrono::steady_clock::now() - last->time;
      put_self(self, "muster_collector_age_seconds", {{"collector", name}}, age.count());
    }
    put_state(self, name, state);
  }
  for (const auto& [name, collector] : files_) {
    Exposition part;
    put_state(self, name, collector->run(part));
    metrics.add_missing(std::move(part), taken);
  }
  put_process(self);
  if (counts != nullptr) put_counts(*counts, self);
  std::string text = metrics.text(form) + rest + self.text(form);
  if (form == Form::kOpenMetrics) text += "# EOF\n";
  return text;
}

}  // namespace muster::metrics
