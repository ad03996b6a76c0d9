#include "cli/kind_metrics.h"

#include "facts/reading.h"
#include "metrics/catalogue.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json metric_item(const metrics::MetricRow& row) {
  return {{"name", row.name},           {"type", metrics::to_string(row.type)},
          {"unit", row.unit},           {"labels", metrics::label_names(row)},
          {"collector", row.collector}, {"help", row.help}};
}

}  // namespace

std::vector<OutputColumn> metric_columns() {
  return {{"NAME", "name"},           {"TYPE", "type"}, {"UNIT", "unit"},
          {"COLLECTOR", "collector"}, {"HELP", "help"}, {"LABELS", "labels", true}};
}

Result<Json> list_metrics(const Context& /*context*/) {
  Json items = Json::array();
  for (const metrics::MetricRow& row : metrics::catalogue()) items.push_back(metric_item(row));
  return items;
}

Result<Shown> show_metric(const Context& /*context*/, const std::string& name) {
  if (const metrics::MetricRow* row = metrics::find_metric(name))
    return Shown{metric_item(*row), {}};
  std::vector<std::string> names;
  for (const metrics::MetricRow& row : metrics::catalogue()) names.emplace_back(row.name);
  return facts::unknown_name("metric", name, names);
}

}  // namespace muster::cli
