#include "cli/kind_dashboards.h"

#include "facts/reading.h"
#include "metrics/boards.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json board_item(const facts::Dashboard& board) {
  std::size_t panels = 0;
  Json rows = Json::array();
  for (const facts::BoardRow& row : board.rows) {
    Json titles = Json::array();
    for (const facts::Panel& panel : row.panels) titles.push_back(panel.title);
    panels += row.panels.size();
    rows.push_back({{"title", row.title}, {"panels", std::move(titles)}});
  }
  return {{"name", board.name},       {"kind", "dashboard"},          {"panels", panels},
          {"description", board.doc}, {"variables", board.variables}, {"rows", std::move(rows)}};
}

Json alert_item(const facts::Alert& alert) {
  return {{"name", alert.name},          {"kind", "alert"},
          {"group", alert.group},        {"severity", alert.severity},
          {"description", alert.action}, {"expr", alert.expr.text},
          {"for", alert.hold},           {"summary", alert.summary.text}};
}

Result<Json> board_items(const Context& context) {
  const auto boards = facts::load_dashboards(context.files, context.project());
  if (!boards) return boards.error();
  const auto alerts = facts::load_alerts(context.files, context.project());
  if (!alerts) return alerts.error();
  Json items = Json::array();
  for (const facts::Dashboard& board : boards->dashboards) items.push_back(board_item(board));
  for (const facts::Alert& alert : alerts->alerts) items.push_back(alert_item(alert));
  return items;
}

}  // namespace

std::vector<OutputColumn> dashboard_columns() {
  return {{"NAME", "name"},
          {"KIND", "kind"},
          {"PANELS", "panels", false, true},
          {"SEVERITY", "severity"},
          {"DESCRIPTION", "description"},
          {"FOR", "for", true},
          {"EXPRESSION", "expr", true}};
}

Result<Json> list_dashboards(const Context& context) {
  return board_items(context);
}

Result<Shown> show_dashboard(const Context& context, const std::string& name) {
  const auto items = board_items(context);
  if (!items) return items.error();
  std::vector<std::string> names;
  for (const Json& item : *items) {
    if (item["name"] == name) return Shown{item, {}};
    names.push_back(item["name"]);
  }
  return facts::unknown_name("dashboard or alert", name, names);
}

}  // namespace muster::cli
