#include "facts/health.h"

#include <stdexcept>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

/// What the checks ask for.
constexpr const char* kNames[] = {
    "retired-pages",      "corrected-errors",    "remapped-rows",    "memlock",
    "open-files-base",    "open-files-per-peer", "pcie-replays",     "clock-offset",
    "clock-offset-worst", "memory-installed",    "memory-available", "swap-used",
    "disk-fill",          "disk-full",           "disk-write",       "disk-read"};

std::optional<double> value_of(const Node& row) {
  const Node* value = row.find("value");
  if (const auto number = Node::scalar(value->text(), false, value->where()).as_double())
    return number;
  return parse_size(value->text());
}

}  // namespace

const Schema& health_schema() {
  static const Schema kSchema = [] {
    const Schema row = Schema::object(
        "One threshold", {{"name", Schema::text("Name").required()},
                          {"value", Schema::text("A number, or a size as in 16 GiB").required()},
                          {"doc", Schema::text("What is counted").required()},
                          {"source", Schema::text("A name of the sources above").required()}});
    auto fields = envelope("HealthThresholds");
    fields.push_back(
        {"sources", Schema::map("Where rows come from", Schema::text("Source")).required()});
    fields.push_back({"date", Schema::text("When it was read").required()});
    fields.push_back({"thresholds", Schema::list("Rows", row).required()});
    return Schema::object("Thresholds of the health checks", std::move(fields));
  }();
  return kSchema;
}

Findings check_health(const Node& document) {
  const Node& rows = *document.find("thresholds");
  Findings findings = repeated_names(rows);
  for (const Node& row : rows.items()) {
    if (value_of(row)) continue;
    findings.push_back(
        error_at(row.find("value")->where(), "facts-threshold",
                 fmt::format("\"{}\" is neither a number nor a size", row.find("value")->text()),
                 "e.g. \"60\" or 16 GiB"));
  }
  for (const char* name : kNames) {
    bool found = false;
    for (const Node& row : rows.items()) found |= text_at(row, "name") == name;
    if (!found) {
      findings.push_back(error_at(rows.where(), "facts-threshold",
                                  fmt::format("the threshold \"{}\" is missing", name)));
    }
  }
  return findings;
}

double Thresholds::at(std::string_view name) const {
  const auto row = rows_.find(name);
  if (row == rows_.end()) throw std::logic_error(fmt::format("no threshold {}", name));
  return row->second.value;
}

std::optional<double> Thresholds::find(std::string_view name) const {
  const auto row = rows_.find(name);
  return row == rows_.end() ? std::nullopt : std::optional(row->second.value);
}

Result<Thresholds> parse_health(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, health_schema(), check_health);
  if (!document) return document.error();
  std::map<std::string, Threshold, std::less<>> rows;
  for (const Node& row : document->find("thresholds")->items()) {
    rows[text_at(row, "name")] = {value_of(row).value_or(0), text_at(row, "doc"),
                                  text_at(*document->find("sources"), text_at(row, "source"))};
  }
  return Thresholds(std::move(rows));
}

Result<Thresholds> load_health(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "health.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_health(*text, path.string());
}

}  // namespace muster::facts
