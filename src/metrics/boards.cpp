#include "metrics/boards.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/document.h"
#include "base/output.h"
#include "metrics/query.h"

namespace muster::metrics {
namespace {

using Json = nlohmann::ordered_json;

// Of Grafana 12; older ones read it too.
constexpr int kSchemaVersion = 41;
constexpr int kGridColumns = 24;
constexpr int kPanelHeight = 8, kStatHeight = 5;

/// Names between {{ and }} of a legend.
std::vector<std::string> legend_labels(std::string_view legend) {
  std::vector<std::string> labels;
  for (std::size_t at = legend.find("{{"); at != std::string_view::npos;
       at = legend.find("{{", at + 2)) {
    const std::size_t end = legend.find("}}", at);
    if (end == std::string_view::npos) break;
    std::string_view label = legend.substr(at + 2, end - at - 2);
    while (label.starts_with(' ')) label.remove_prefix(1);
    while (label.ends_with(' ')) label.remove_suffix(1);
    labels.emplace_back(label);
  }
  return labels;
}

class BoardChecker {
 public:
  explicit BoardChecker(const BoardFacts& facts) : facts_(facts), known_(known_metrics(facts)) {}

  Findings check() {
    for (const facts::BoardVariable& variable : facts_.dashboards.variables) {
      const CheckedQuery query = query_of(variable.of);
      if (query.findings.empty() && query.shape.labels.count(variable.label) == 0)
        wrong(variable.of.where, "query-label",
              fmt::format("what \"{}\" takes its values from has no label \"{}\"", variable.name,
                          variable.label));
    }
    for (const facts::Dashboard& board : facts_.dashboards.dashboards) check_board(board);
    return std::move(findings_);
  }

 private:
  void wrong(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }

  CheckedQuery query_of(const facts::Placed& text) {
    CheckedQuery query = check_query(text.text, text.where, known_);
    findings_.insert(findings_.end(), query.findings.begin(), query.findings.end());
    return query;
  }

  void check_board(const facts::Dashboard& board) {
    std::set<std::string> used;
    for (const facts::BoardRow& row : board.rows) {
      for (const facts::Panel& panel : row.panels) {
        for (const facts::BoardQuery& query : panel.queries) check_panel(board, query, used);
      }
    }
    for (const std::string& name : board.variables) {
      for (const facts::BoardVariable& variable : facts_.dashboards.variables) {
        if (variable.name != name) continue;
        for (const std::string& other : variables_in(variable.of.text)) {
          if (is_declared(board, other)) continue;
          wrong(board.where, "dashboard-variable",
                fmt::format("\"{}\" chooses by \"{}\", which the dashboard does not have", name,
                            other));
        }
      }
      if (used.count(name) == 0)
        wrong(board.where, "dashboard-variable",
              fmt::format("no query of \"{}\" uses the variable \"{}\"", board.name, name));
    }
  }

  static bool is_declared(const facts::Dashboard& board, const std::string& name) {
    return std::find(board.variables.begin(), board.variables.end(), name) != board.variables.end();
  }

  void check_panel(const facts::Dashboard& board, const facts::BoardQuery& query,
                   std::set<std::string>& used) {
    const CheckedQuery checked = query_of(query.expr);
    for (const std::string& name : checked.variables) {
      used.insert(name);
      if (!is_declared(board, name))
        wrong(query.expr.where, "dashboard-variable",
              fmt::format("\"{}\" has no variable \"{}\"", board.name, name));
    }
    if (is_declared(board, "cluster") &&
        std::find(checked.variables.begin(), checked.variables.end(), "cluster") ==
            checked.variables.end())
      wrong(query.expr.where, "dashboard-variable", "the query shows other clusters too",
            "cluster=~\"$cluster\"");
    for (const std::string& label : legend_labels(query.legend.text)) {
      if (!checked.findings.empty() || checked.shape.labels.count(label) > 0) continue;
      wrong(query.legend.where, "dashboard-legend",
            fmt::format("the result has no label \"{}\"", label));
    }
  }

  const BoardFacts& facts_;
  KnownMetrics known_;
  Findings findings_;
};

Json source() {
  return {{"type", "prometheus"}, {"uid", "${datasource}"}};
}

Json variable_json(const facts::BoardVariable& variable) {
  const std::string query = fmt::format("label_values({}, {})", variable.of.text, variable.label);
  return {{"type", "query"},
          {"name", variable.name},
          {"label", variable.title},
          {"datasource", source()},
          {"definition", query},
          {"query", {{"query", query}, {"refId", variable.name}}},
          {"refresh", 2},  // when the time range changes
          {"sort", 7},     // by number where they have one
          {"multi", true},
          {"includeAll", true},
          {"allValue", ".*"},
          {"current", {{"selected", true}, {"text", {"All"}}, {"value", {"$__all"}}}},
          {"hide", 0},
          {"options", Json::array()}};
}

Json target_json(const facts::BoardQuery& query, const facts::Panel& panel, std::size_t number) {
  const bool instant = panel.kind == "table" || panel.kind == "bargauge";
  return {{"refId", std::string(1, static_cast<char>('A' + number))},
          {"datasource", source()},
          {"editorMode", "code"},
          {"expr", query.expr.text},
          {"legendFormat", query.legend.text.empty() ? "__auto" : query.legend.text},
          {"instant", instant},
          {"range", !instant},
          {"format", panel.kind == "table" ? "table" : "time_series"}};
}

Json options_json(const facts::Panel& panel) {
  if (panel.kind == "timeseries")
    return {{"legend", {{"displayMode", "list"}, {"placement", "bottom"}, {"showLegend", true}}},
            {"tooltip", {{"mode", "multi"}, {"sort", "desc"}}}};
  if (panel.kind == "table") return {{"showHeader", true}, {"cellHeight", "sm"}};
  return {{"reduceOptions", {{"calcs", {"lastNotNull"}}, {"fields", ""}, {"values", false}}},
          {"orientation", "auto"}};
}

Json panel_json(const facts::Panel& panel, int id, int x, int y, int height) {
  Json steps = Json::array();
  steps.push_back({{"color", "green"}, {"value", nullptr}});
  for (const facts::BoardStep& step : panel.steps)
    steps.push_back({{"color", step.color}, {"value", step.value}});
  Json defaults = {
      {"unit", panel.unit},
      {"color", {{"mode", panel.kind == "timeseries" ? "palette-classic" : "thresholds"}}},
      {"thresholds", {{"mode", "absolute"}, {"steps", std::move(steps)}}}};
  if (panel.min) defaults["min"] = *panel.min;
  if (panel.max) defaults["max"] = *panel.max;
  if (panel.kind == "timeseries")  // a gap in the data is a gap in the line
    defaults["custom"] = {{"spanNulls", false}, {"fillOpacity", 0}, {"showPoints", "auto"}};
  Json targets = Json::array();
  for (std::size_t i = 0; i < panel.queries.size(); ++i)
    targets.push_back(target_json(panel.queries[i], panel, i));
  Json json = {{"id", id}, {"type", panel.kind}, {"title", panel.title}};
  if (!panel.doc.empty()) json["description"] = panel.doc;
  json["gridPos"] = {{"x", x}, {"y", y}, {"w", panel.width}, {"h", height}};
  json["datasource"] = source();
  json["fieldConfig"] = {{"defaults", std::move(defaults)}, {"overrides", Json::array()}};
  json["options"] = options_json(panel);
  json["targets"] = std::move(targets);
  return json;
}

int height_of(const facts::Panel& panel) {
  return panel.kind == "stat" || panel.kind == "gauge" ? kStatHeight : kPanelHeight;
}

/// Panels of a row, left to right, in as many lines as they need; `y` moves below them.
void place_panels(const facts::BoardRow& row, Json& panels, int& id, int& y) {
  int x = 0, line = 0;
  for (const facts::Panel& panel : row.panels) {
    if (x + panel.width > kGridColumns) {
      y += line;
      x = line = 0;
    }
    panels.push_back(panel_json(panel, ++id, x, y, height_of(panel)));
    x += panel.width;
    line = std::max(line, height_of(panel));
  }
  y += line;
}

}  // namespace

Result<BoardFacts> load_board_facts(const FileSystem& files, const std::filesystem::path& root) {
  auto exporters = facts::load_exporters(files, root);
  if (!exporters) return exporters.error();
  auto dashboards = facts::load_dashboards(files, root);
  if (!dashboards) return dashboards.error();
  auto alerts = facts::load_alerts(files, root);
  if (!alerts) return alerts.error();
  auto instances = facts::load_instances(files, root);
  if (!instances) return instances.error();
  auto thresholds = facts::load_health(files, root);
  if (!thresholds) return thresholds.error();
  auto xid = facts::load_xid(files, root);
  if (!xid) return xid.error();
  return BoardFacts{std::move(*exporters), std::move(*dashboards), std::move(*alerts),
                    std::move(*instances), std::move(*thresholds), std::move(*xid)};
}

KnownMetrics known_metrics(const BoardFacts& facts) {
  KnownMetrics known(facts.exporters);
  for (const facts::InstanceRecord& record : facts.alerts.records)
    known.add_record(record.name, {"instance_type"});
  return known;
}

Findings check_boards(const BoardFacts& facts) {
  return BoardChecker(facts).check();
}

std::string grafana_json(const facts::Dashboard& dashboard, const facts::Dashboards& all) {
  Json panels = Json::array();
  int id = 0, y = 0;
  for (const facts::BoardRow& row : dashboard.rows) {
    panels.push_back({{"id", ++id},
                      {"type", "row"},
                      {"title", row.title},
                      {"collapsed", false},
                      {"gridPos", {{"x", 0}, {"y", y}, {"w", kGridColumns}, {"h", 1}}},
                      {"panels", Json::array()}});
    place_panels(row, panels, id, ++y);
  }
  Json variables = Json::array();
  variables.push_back({{"type", "datasource"},
                       {"name", "datasource"},
                       {"label", "Data source"},
                       {"query", "prometheus"},
                       {"refresh", 1},
                       {"hide", 0},
                       {"options", Json::array()}});
  for (const std::string& name : dashboard.variables) {
    for (const facts::BoardVariable& variable : all.variables) {
      if (variable.name == name) variables.push_back(variable_json(variable));
    }
  }
  const Json links = {{{"type", "dashboards"},
                       {"title", "Muster"},
                       {"tags", {"muster"}},
                       {"asDropdown", true},
                       {"includeVars", true},
                       {"keepTime", true}}};
  return json_text({{"uid", "muster-" + dashboard.name},
                    {"title", "Muster / " + dashboard.title},
                    {"description", dashboard.doc},
                    {"tags", {"muster"}},
                    {"schemaVersion", kSchemaVersion},
                    {"version", 1},
                    {"editable", true},
                    {"graphTooltip", 1},  // one cross-hair for all panels
                    {"refresh", "30s"},
                    {"time", {{"from", "now-1h"}, {"to", "now"}}},
                    {"timezone", "browser"},
                    {"links", links},
                    {"annotations", {{"list", Json::array()}}},
                    {"templating", {{"list", std::move(variables)}}},
                    {"panels", std::move(panels)}});
}

}  // namespace muster::metrics
