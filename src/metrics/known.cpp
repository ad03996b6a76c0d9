#include "metrics/known.h"

#include <algorithm>

#include "metrics/catalogue.h"

namespace muster::metrics {
namespace {

void merge_words(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& word : from) {
    if (std::find(to.begin(), to.end(), word) == to.end()) to.push_back(word);
  }
}

}  // namespace

KnownMetrics::KnownMetrics(const facts::Exporters& exporters)
    : target_labels_(exporters.target_labels) {
  for (const MetricRow& row : catalogue())
    add({row.name, to_string(row.type), label_names(row), {kOwnExporter}});
  for (const facts::Exporter& exporter : exporters.exporters) {
    for (const facts::ExportedMetric& metric : exporter.metrics) {
      std::vector<std::string> labels = exporter.labels;
      merge_words(labels, metric.labels);
      if (metric.type != "histogram") {
        add({metric.name, metric.type, std::move(labels), {exporter.name}});
        continue;
      }
      add({metric.name + "_sum", "counter", labels, {exporter.name}});
      add({metric.name + "_count", "counter", labels, {exporter.name}});
      labels.emplace_back("le");
      add({metric.name + "_bucket", "counter", std::move(labels), {exporter.name}});
    }
  }
}

void KnownMetrics::add(KnownMetric metric) {
  const auto [place, is_new] = metrics_.try_emplace(metric.name, metric);
  if (is_new) return;
  merge_words(place->second.labels, metric.labels);
  merge_words(place->second.exporters, metric.exporters);
}

void KnownMetrics::add_record(const std::string& name, std::vector<std::string> labels) {
  add({name, "gauge", std::move(labels), {}});
}

const KnownMetric* KnownMetrics::find(std::string_view name) const {
  const auto found = metrics_.find(name);
  return found == metrics_.end() ? nullptr : &found->second;
}

std::vector<std::string> KnownMetrics::names() const {
  std::vector<std::string> names;
  for (const auto& [name, metric] : metrics_) names.push_back(name);
  return names;
}

}  // namespace muster::metrics
