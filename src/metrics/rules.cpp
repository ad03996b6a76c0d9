// Rules of Prometheus and the tests of promtool that show what they fire on.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/document.h"
#include "metrics/boards.h"
#include "metrics/query.h"

namespace muster::metrics {
namespace {

/// When the tests look, in minutes; the values of facts/alerts.yaml go on for longer.
constexpr int kLookAt = 80;

/// What ${NAME} in an expression stands for; nothing: no such threshold.
std::optional<std::string> placeholder(const std::string& name, const BoardFacts& facts) {
  if (name == "xid.flag") {
    std::set<int> codes;
    for (const facts::KernelRow& row : facts.xid.xids) {
      for (const int code : row.codes) {
        const facts::KernelRow* counts = facts.xid.xid(code, {}, {});
        if (counts != nullptr && counts->outcome == "flag") codes.insert(code);
      }
    }
    return fmt::format("{}", fmt::join(codes, "|"));
  }
  constexpr std::string_view kHealth = "health.";
  if (!name.starts_with(kHealth)) return std::nullopt;
  const auto value = facts.thresholds.find(name.substr(kHealth.size()));
  return value ? std::optional(fmt::format("{}", *value)) : std::nullopt;
}

std::optional<double> figure_of(const facts::Instance& instance, const std::string& figure) {
  const bool gpu = instance.accelerators && instance.accelerators->kind == "gpu";
  if (figure == "gpus" && gpu && instance.accelerators->count) return *instance.accelerators->count;
  if (figure == "gpu_memory_bytes" && gpu && instance.accelerators->memory_bytes)
    return static_cast<double>(*instance.accelerators->memory_bytes);
  if (figure == "efa_devices" && instance.network.efa_count.value_or(0) > 0)
    return *instance.network.efa_count;
  if (figure == "network_bytes_per_second" && instance.network.gbps)
    return *instance.network.gbps * 1e9 / 8;
  return std::nullopt;
}

std::string instances_yaml(const BoardFacts& facts) {
  std::string text =
      "# What each instance type has, as series, so that one rule fits all types. Rendered from\n"
      "# facts/instances.yaml by muster dashboards render: change it there.\n"
      "groups:\n- name: muster-instances\n  interval: 1m\n  rules:\n";
  for (const facts::InstanceRecord& record : facts.alerts.records) {
    text += fmt::format("  # {}\n", record.doc);
    for (const facts::Instance& instance : facts.instances) {
      if (const auto value = figure_of(instance, record.figure))
        text +=
            fmt::format("  - {{record: {}, expr: vector({:.0f}), labels: {{instance_type: {}}}}}\n",
                        record.name, *value, instance.name);
    }
  }
  return text;
}

std::string alerts_yaml(const BoardFacts& facts) {
  std::string text =
      "# Rendered from facts/alerts.yaml by muster dashboards render: change it there.\ngroups:\n";
  std::string group;
  for (const facts::Alert& alert : facts.alerts.alerts) {
    if (alert.group != group) text += fmt::format("- name: muster-{}\n  rules:\n", alert.group);
    group = alert.group;
    const auto expr = filled_expression(alert.expr, facts);
    text += fmt::format(
        "  - alert: {}\n    expr: {}\n    for: {}\n    labels: {{severity: {}}}\n"
        "    annotations:\n      summary: {}\n      action: {}\n",
        alert.name, yaml_quoted(expr.ok() ? *expr : alert.expr.text), alert.hold, alert.severity,
        yaml_quoted(alert.summary.text), yaml_quoted(alert.action));
  }
  return text;
}

/// Names behind "$labels." of a summary.
std::vector<std::string> summary_labels(std::string_view summary) {
  constexpr std::string_view kLabels = "$labels.";
  std::vector<std::string> names;
  for (std::size_t at = summary.find(kLabels); at != std::string_view::npos;
       at = summary.find(kLabels, at + 1)) {
    std::size_t end = at + kLabels.size();
    while (end < summary.size() && summary[end] != ' ' && summary[end] != '}') ++end;
    names.emplace_back(summary.substr(at + kLabels.size(), end - at - kLabels.size()));
  }
  return names;
}

/// A summary as Prometheus would write it for these labels.
std::string expanded(std::string summary, const std::map<std::string, std::string>& labels) {
  for (const std::string& name : summary_labels(summary)) {
    const std::string reference = "{{ $labels." + name + " }}";
    const auto value = labels.find(name);
    for (auto at = summary.find(reference); at != std::string::npos; at = summary.find(reference))
      summary.replace(at, reference.size(), value == labels.end() ? "" : value->second);
  }
  return summary;
}

std::string expected_yaml(const facts::Alert& alert) {
  std::string text;
  for (const auto& one : alert.fires) {
    std::string labels = fmt::format("severity: {}", alert.severity);
    for (const auto& [name, value] : one)
      labels += fmt::format(", {}: {}", name, yaml_quoted(value));
    text += fmt::format(
        "    - exp_labels: {{{}}}\n      exp_annotations: {{summary: {}, action: {}}}\n", labels,
        yaml_quoted(expanded(alert.summary.text, one)), yaml_quoted(alert.action));
  }
  return text;
}

/// One test: the healthy series with those of a fault in their place.
std::string test_yaml(const BoardFacts& facts, const facts::Alert* fault) {
  std::map<std::string, std::string> series;
  for (const facts::TestSeries& one : facts.alerts.healthy) series[one.series.text] = one.values;
  if (fault != nullptr) {
    for (const facts::TestSeries& one : fault->fault) {
      series.erase(one.series.text);
      if (!one.values.empty()) series[one.series.text] = one.values;
    }
  }
  std::string text = fmt::format("- name: {}\n  interval: 1m\n  input_series:\n",
                                 fault == nullptr ? "healthy" : fault->name);
  for (const auto& [name, values] : series)
    text += fmt::format("  - {{series: {}, values: {}}}\n", yaml_quoted(name), yaml_quoted(values));
  text += "  alert_rule_test:\n";
  for (const facts::Alert& alert : facts.alerts.alerts) {
    const bool fires = fault != nullptr && (alert.name == fault->name ||
                                            std::find(fault->also.begin(), fault->also.end(),
                                                      alert.name) != fault->also.end());
    text += fmt::format("  - eval_time: {}m\n    alertname: {}\n    exp_alerts:{}", kLookAt,
                        alert.name, fires ? "\n" + expected_yaml(alert) : " []\n");
  }
  return text;
}

class AlertChecker {
 public:
  explicit AlertChecker(const BoardFacts& facts) : facts_(facts), known_(known_metrics(facts)) {}

  Findings check() {
    for (const facts::TestSeries& series : facts_.alerts.healthy) query_of(series.series, false);
    for (const facts::Alert& alert : facts_.alerts.alerts) check_alert(alert);
    for (const auto& [job, alert] : needed_) {
      if (watched_.count(job) > 0) continue;
      wrong(alert->expr.where, "alert-absent",
            fmt::format("when nobody scrapes the job \"{}\" any more, {} is silent", job,
                        alert->name),
            fmt::format("an alert with absent(up{{job=\"{}\"}})", job));
    }
    return std::move(findings_);
  }

 private:
  void wrong(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }

  /// `counts`: whether raw counters are findings; in a list of series they are not.
  CheckedQuery query_of(const facts::Placed& text, bool counts) {
    CheckedQuery query = check_query(text.text, text.where, known_);
    for (const Finding& finding : query.findings) {
      if (counts || finding.rule != "query-counter") findings_.push_back(finding);
    }
    return query;
  }

  void check_alert(const facts::Alert& alert) {
    const auto expr = filled_expression(alert.expr, facts_);
    if (!expr) {
      findings_.insert(findings_.end(), expr.findings().begin(), expr.findings().end());
      return;
    }
    const CheckedQuery query = query_of({*expr, alert.expr.where}, true);
    watched_.insert(query.absent_jobs.begin(), query.absent_jobs.end());
    if (query.findings.empty()) check_labels(alert, query);
    for (const std::string& metric : query.metrics) need(metric, alert);
    for (const facts::TestSeries& series : alert.fault) query_of(series.series, false);
  }

  void check_labels(const facts::Alert& alert, const CheckedQuery& query) {
    for (const std::string& label : summary_labels(alert.summary.text)) {
      if (query.shape.labels.count(label) == 0)
        wrong(alert.summary.where, "alert-label",
              fmt::format("the alert has no label \"{}\"", label));
    }
    for (const auto& one : alert.fires) {
      for (const auto& [label, value] : one) {
        if (query.shape.labels.count(label) == 0)
          wrong(alert.where, "alert-label",
                fmt::format("{} can't fire with the label \"{}\"", alert.name, label));
      }
    }
  }

  // The jobs of which at least one has to be there for a metric.
  void need(const std::string& name, const facts::Alert& alert) {
    const KnownMetric* metric = known_.find(name);
    if (metric == nullptr || metric->exporters.empty()) return;
    for (const facts::Exporter& exporter : facts_.exporters.exporters) {
      if (exporter.job.empty() || exporter.optional || metric->exporters.front() != exporter.name)
        continue;
      needed_.emplace(exporter.job, &alert);
    }
  }

  const BoardFacts& facts_;
  KnownMetrics known_;
  Findings findings_;
  std::set<std::string> watched_;
  std::map<std::string, const facts::Alert*> needed_;
};

}  // namespace

std::string yaml_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

Result<std::string> filled_expression(const facts::Placed& expr, const BoardFacts& facts) {
  std::string text;
  for (std::size_t at = 0;;) {
    const std::size_t start = expr.text.find("${", at);
    text += expr.text.substr(at, start - at);
    if (start == std::string::npos) return text;
    const std::size_t end = expr.text.find('}', start);
    const std::string name =
        expr.text.substr(start + 2, end == std::string::npos ? end : end - start - 2);
    const auto value = placeholder(name, facts);
    if (!value)
      return Failure(error_at(place_of(expr.where, start), "alert-threshold",
                              fmt::format("there is no threshold \"{}\"", name),
                              "${health.NAME} of facts/health.yaml, or ${xid.flag}"));
    text += *value;
    at = end + 1;
  }
}

Findings check_alert_rules(const BoardFacts& facts) {
  return AlertChecker(facts).check();
}

std::vector<BoardFile> render_boards(const BoardFacts& facts) {
  std::vector<BoardFile> files;
  for (const facts::Dashboard& dashboard : facts.dashboards.dashboards)
    files.push_back({fmt::format("dashboards/{}.json", dashboard.name),
                     grafana_json(dashboard, facts.dashboards)});
  files.push_back({"rules/alerts.yaml", alerts_yaml(facts)});
  files.push_back({"rules/instances.yaml", instances_yaml(facts)});
  return files;
}

std::vector<BoardFile> render_alert_tests(const BoardFacts& facts) {
  std::string text =
      "# For promtool test rules. Rendered from facts/alerts.yaml by muster dashboards render.\n"
      "rule_files: [../rules/alerts.yaml, ../rules/instances.yaml]\n"
      "evaluation_interval: 5m\ntests:\n" +
      test_yaml(facts, nullptr);
  for (const facts::Alert& alert : facts.alerts.alerts) text += test_yaml(facts, &alert);
  return {{"tests/alerts.yaml", std::move(text)}};
}

}  // namespace muster::metrics
