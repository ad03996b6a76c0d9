#include "metrics/foreign.h"

#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"
#include "metrics/query.h"
#include "metrics/scrape.h"

namespace muster::metrics {
namespace {

class ForeignChecker {
 public:
  ForeignChecker(const BoardFacts& facts, ForeignFile& to)
      : known_(known_metrics(facts)), to_(to) {}

  void dashboard(const Node& document) {
    to_.kind = "dashboard";
    variables_ = {"datasource"};
    if (const Node* list = node_at(document, "templating.list"); list && list->is_sequence()) {
      for (const Node& variable : list->items()) variables_.insert(text_at(variable, "name"));
    }
    for (const Node& panel : document.find("panels")->items()) {
      if (panel.is_mapping()) check_panel(panel);
    }
  }

  void rules(const Node& document) {
    to_.kind = "rules";
    std::vector<const Node*> all;
    for (const Node& group : document.find("groups")->items()) {
      const Node* list = group.is_mapping() ? group.find("rules") : nullptr;
      if (list == nullptr || !list->is_sequence()) continue;
      for (const Node& rule : list->items()) {
        if (rule.is_mapping()) all.push_back(&rule);
      }
    }
    // What rules record is known to the others.
    for (const Node* rule : all) {
      const std::string record = text_at(*rule, "record");
      if (record.empty()) continue;
      std::vector<std::string> labels;
      if (const Node* fixed = rule->find("labels"); fixed && fixed->is_mapping()) {
        for (const Node::Entry& label : fixed->entries()) labels.push_back(label.key);
      }
      const CheckedQuery query = check_query(text_at(*rule, "expr"), rule->where(), known_);
      labels.insert(labels.end(), query.shape.labels.begin(), query.shape.labels.end());
      known_.add_record(record, std::move(labels));
    }
    for (const Node* rule : all) {
      if (const Node* expr = rule->find("expr"); expr && expr->is_scalar()) query(*expr);
      if (const Node* alert = rule->find("alert"); alert && rule->find("for") == nullptr)
        to_.findings.push_back(warning_at(
            alert->where(), "alert-for",
            fmt::format("{} fires at the first evaluation, on a single bad sample", alert->text()),
            "for: 5m"));
    }
  }

 private:
  void wrong(const Node& at, const char* rule, std::string message, std::string hint = {}) {
    to_.findings.push_back(error_at(at.where(), rule, std::move(message), std::move(hint)));
  }

  CheckedQuery query(const Node& expr) {
    ++to_.checked;
    CheckedQuery checked = check_query(expr.text(), expr.where(), known_);
    for (Finding& finding : checked.findings) {
      // An escape in the text moves what follows it: the place is the text's.
      finding.where = expr.where();
      to_.findings.push_back(finding);
    }
    return checked;
  }

  void check_panel(const Node& panel) {
    const auto id = integer_at(panel, "id");
    if (id && !ids_.insert(*id).second)
      wrong(panel, "dashboard-panel", fmt::format("a second panel with the id {}", *id));
    check_place(panel);
    check_source(panel);
    if (const Node* inner = panel.find("panels"); inner && inner->is_sequence()) {
      for (const Node& one : inner->items()) {
        if (one.is_mapping()) check_panel(one);
      }
    }
    const Node* targets = panel.find("targets");
    if (targets == nullptr || !targets->is_sequence()) return;
    for (const Node& target : targets->items()) {
      if (!target.is_mapping()) continue;
      check_source(target);
      const Node* expr = target.find("expr");
      if (expr == nullptr || !expr->is_scalar()) continue;
      for (const std::string& name : query(*expr).variables) {
        if (variables_.count(name) == 0)
          wrong(*expr, "dashboard-variable", fmt::format("there is no variable \"{}\"", name));
      }
    }
  }

  void check_source(const Node& node) {
    const Node* uid = node_at(node, "datasource.uid");
    if (uid == nullptr || uid->text().empty() || uid->text()[0] == '$' || uid->text()[0] == '-')
      return;
    if (sources_.insert(uid->text()).second)
      wrong(*uid, "dashboard-source",
            fmt::format("the data source \"{}\" is of one Grafana only", uid->text()),
            "a variable of type datasource: ${datasource}");
  }

  // Cells of the grid that two panels claim.
  void check_place(const Node& panel) {
    const auto x = integer_at(panel, "gridPos.x"), y = integer_at(panel, "gridPos.y"),
               w = integer_at(panel, "gridPos.w"), h = integer_at(panel, "gridPos.h");
    if (!x || !y || !w || !h) return;
    if (*x < 0 || *w < 1 || *x + *w > 24 || *h < 1 || *h > 100 || *y < 0)
      return wrong(panel, "dashboard-panel", "the panel lies outside of the grid of 24 columns");
    bool claimed = false;
    for (auto row = *y; row < *y + *h; ++row) {
      for (auto column = *x; column < *x + *w; ++column)
        claimed |= !cells_.emplace(row, column).second;
    }
    if (claimed) wrong(panel, "dashboard-panel", "the panel lies on another one");
  }

  KnownMetrics known_;
  ForeignFile& to_;
  std::set<std::int64_t> ids_;
  std::set<std::pair<std::int64_t, std::int64_t>> cells_;
  std::set<std::string> variables_, sources_;
};

}  // namespace

ForeignFile check_foreign(const std::string& text, const std::string& file, const FileSystem& files,
                          const BoardFacts& facts) {
  ForeignFile checked;
  const bool json = std::filesystem::path(file).extension() == ".json";
  const auto document = json ? parse_json(text, file) : parse_yaml(text, file);
  if (!document) {
    checked.findings = document.findings();
    return checked;
  }
  if (!document->is_mapping()) return checked;
  const auto list = [&](const char* key) {
    const Node* node = document->find(key);
    return node != nullptr && node->is_sequence();
  };
  ForeignChecker checker(facts, checked);
  if (is_scrape(*document)) {
    checked.kind = "scrape configuration";
    checked.findings = check_scrape(*document, file, files, facts.exporters, facts.instances);
    const Node* jobs = node_at(*document, "scrape_configs");
    if (jobs == nullptr) jobs = node_at(*document, "receivers.prometheus.config.scrape_configs");
    checked.checked = jobs->items().size();
  } else if (list("panels")) {
    checker.dashboard(*document);
  } else if (list("groups")) {
    checker.rules(*document);
  }
  return checked;
}

}  // namespace muster::metrics
