#include "facts/alerts.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

const TextForm kAlertName = {"a name in camel case", "[A-Z][A-Za-z0-9]*", "GpuXid"};
const TextForm kRecordName = {"the name of a recording rule", "[a-z_]+:[a-z_:]+",
                              "muster:instance_gpus"};

TestSeries read_series(const Node& row) {
  return {placed(*row.find("series")), text_at(row, "values")};
}

std::vector<TestSeries> all_series(const Node* rows) {
  std::vector<TestSeries> series;
  if (rows == nullptr) return series;
  for (const Node& row : rows->items()) series.push_back(read_series(row));
  return series;
}

Alert read_alert(const Node& row) {
  Alert read;
  read.name = text_at(row, "name");
  read.group = text_at(row, "group");
  read.expr = placed(*row.find("expr"));
  read.hold = text_at(row, "for");
  read.severity = text_at(row, "severity");
  read.summary = placed(*row.find("summary"));
  read.action = text_at(row, "action");
  read.fault = all_series(row.find("fault"));
  for (const Node& labels : row.find("fires")->items()) {
    std::map<std::string, std::string> one;
    for (const Node::Entry& label : labels.entries()) one[label.key] = label.value.text();
    read.fires.push_back(std::move(one));
  }
  read.also = texts_at(row, "also");
  read.where = row.where();
  return read;
}

}  // namespace

const Schema& alerts_schema() {
  static const Schema kSchema = [] {
    const Schema series = Schema::object(
        "One series",
        {{"series", Schema::text("Metric and labels, as promtool reads it").required()},
         {"values", Schema::text("Values in promtool's notation; absent: none")}});
    const Schema record = Schema::object(
        "One rule", {{"name", Schema::text("Name").form(kRecordName).required()},
                     {"doc", Schema::text("What it is").required()},
                     {"figure", Schema::text("Figure of facts/instances.yaml")
                                    .one_of({"gpus", "gpu_memory_bytes", "efa_devices",
                                             "network_bytes_per_second"})
                                    .required()}});
    const Schema alert = Schema::object(
        "One alert",
        {{"name", Schema::text("Name").form(kAlertName).required()},
         {"group", Schema::text("Group of rules").required()},
         {"expr", Schema::text("PromQL, on one line; ${health.NAME} is a threshold of "
                               "facts/health.yaml")
                      .required()},
         {"for", Schema::text("How long it has to hold").form(kDuration).required()},
         {"severity",
          Schema::text("Whom it wakes").one_of({"critical", "warning", "info"}).required()},
         {"summary", Schema::text("What is wrong, with {{ $labels.NAME }}").required()},
         {"action", Schema::text("What to do").required()},
         {"fault",
          Schema::list("What differs from a healthy cluster", series).at_least(1).required()},
         {"fires", Schema::list("Labels of the alerts that it brings",
                                Schema::map("Labels", Schema::text("Value")))
                       .at_least(1)
                       .required()},
         {"also", Schema::list("Other alerts that the fault brings", Schema::text("Name"))}});
    auto fields = envelope("Alerts");
    fields.push_back(
        {"records", Schema::list("Figures of instance types as metrics", record).required()});
    fields.push_back({"healthy", Schema::list("A cluster with nothing wrong", series).required()});
    fields.push_back({"alerts", Schema::list("Alerts", alert).required()});
    return Schema::object("Alerts", std::move(fields));
  }();
  return kSchema;
}

Findings check_alerts(const Node& document) {
  const Node& rows = *document.find("alerts");
  Findings findings = repeated_names(rows);
  for (Finding& finding : repeated_names(*document.find("records")))
    findings.push_back(std::move(finding));
  std::vector<std::string> names;
  for (const Node& row : rows.items()) names.push_back(text_at(row, "name"));
  for (const Node& row : rows.items()) {
    for (const std::string& name : texts_at(row, "also")) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      findings.push_back(error_at(row.find("also")->where(), "facts-alert",
                                  fmt::format("there is no alert \"{}\"", name)));
    }
  }
  return findings;
}

Result<Alerts> parse_alerts(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, alerts_schema(), check_alerts);
  if (!document) return document.error();
  Alerts read;
  for (const Node& row : document->find("records")->items())
    read.records.push_back({text_at(row, "name"), text_at(row, "doc"), text_at(row, "figure")});
  read.healthy = all_series(document->find("healthy"));
  for (const Node& row : document->find("alerts")->items()) read.alerts.push_back(read_alert(row));
  return read;
}

Result<Alerts> load_alerts(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "alerts.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_alerts(*text, path.string());
}

}  // namespace muster::facts
