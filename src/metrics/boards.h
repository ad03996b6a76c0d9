// Dashboards for Grafana, rules and their tests for Prometheus, rendered from facts/dashboards.yaml
// and facts/alerts.yaml; and what in those can't work.
#pragma once

#include <string>
#include <vector>

#include "facts/alerts.h"
#include "facts/dashboards.h"
#include "facts/exporters.h"
#include "facts/health.h"
#include "facts/instances.h"
#include "facts/xid.h"
#include "metrics/known.h"

namespace muster::metrics {

/// All facts that dashboards and rules are made of.
struct BoardFacts {
  facts::Exporters exporters;
  facts::Dashboards dashboards;
  facts::Alerts alerts;
  std::vector<facts::Instance> instances;
  facts::Thresholds thresholds;
  facts::KernelPolicy xid;
};

Result<BoardFacts> load_board_facts(const FileSystem& files, const std::filesystem::path& root);

/// What exporters have and what the rules of alerts.yaml make.
KnownMetrics known_metrics(const BoardFacts& facts);

struct BoardFile {
  std::string path;
  std::string content;
};

/// Queries that name what no exporter has, legends and variables that are none, panels that show
/// nothing of what the reader chose. Rules: query-…, dashboard-legend, dashboard-variable.
Findings check_boards(const BoardFacts& facts);

/// As check_boards; also thresholds that are not there, alerts whose exporters nobody watches
/// (alert-absent), summaries that name labels which the alert does not have (alert-label), series
/// of tests that no exporter has.
Findings check_alert_rules(const BoardFacts& facts);

/// The JSON of one dashboard, as Grafana imports it. Expects facts without findings.
std::string grafana_json(const facts::Dashboard& dashboard, const facts::Dashboards& all);

/// dashboards/NAME.json, rules/instances.yaml, rules/alerts.yaml.
std::vector<BoardFile> render_boards(const BoardFacts& facts);

/// tests/alerts.yaml for `promtool test rules`: a healthy cluster, then each fault.
std::vector<BoardFile> render_alert_tests(const BoardFacts& facts);

/// An alert's expression with its thresholds filled in; the name of one that there is not.
Result<std::string> filled_expression(const facts::Placed& expr, const BoardFacts& facts);

/// A text in single quotes, as YAML has it.
std::string yaml_quoted(std::string_view text);

}  // namespace muster::metrics
