#include "base/output.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/junit.h"
#include "base/sarif.h"
#include "base/schema.h"
#include "base/table.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

std::string scalar_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A cell: lists of scalars are joined, what is absent is empty.
std::string cell_text(const Json& row, const std::string& path) {
  const Json* value = &row;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    const auto found =
        value->is_object() ? value->find(path.substr(start, end - start)) : value->end();
    if (!value->is_object() || found == value->end()) return "";
    value = &*found;
    start = end + 1;
  }
  if (!value->is_array()) return scalar_text(*value);
  std::string text;
  for (const Json& item : *value) text += (text.empty() ? "" : ",") + scalar_text(item);
  return text;
}

/// The rows of the table; none when there are no such data.
const Json& rows_of(const Output& output) {
  static const Json kNone = Json::array();
  const auto found = output.data.find(output.rows);
  return found != output.data.end() && found->is_array() ? *found : kNone;
}

Json with_version(const Json& data) {
  Json result;
  result["schema_version"] = 1;
  for (const auto& [key, value] : data.items()) result[key] = value;
  return result;
}

Node to_node(const Json& value) {
  if (value.is_null()) return Node::null({});
  if (value.is_array()) {
    std::vector<Node> items;
    for (const Json& item : value) items.push_back(to_node(item));
    return Node::sequence(std::move(items), {});
  }
  if (value.is_object()) {
    std::vector<Node::Entry> entries;
    for (const auto& [key, member] : value.items()) {
      Node node = to_node(member);
      entries.push_back({key, Position(), std::move(node)});
    }
    return Node::mapping(std::move(entries), {});
  }
  return Node::scalar(scalar_text(value), value.is_string(), {});
}

void write_table(std::ostream& out, const Output& output, bool wide, bool color) {
  if (output.text) {
    out << *output.text;
    return;
  }
  std::vector<OutputColumn> columns;
  std::vector<Table::Column> titles;
  for (const OutputColumn& column : output.columns) {
    if (column.wide_only && !wide) continue;
    columns.push_back(column);
    titles.push_back({column.title, column.right});
  }
  Table table(std::move(titles));
  for (const Json& row : rows_of(output)) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const OutputColumn& column : columns) cells.push_back(cell_text(row, column.path));
    table.add(std::move(cells));
  }
  if (table.empty()) {
    out << (output.empty.empty() ? "nothing to show" : output.empty) << '\n';
  } else {
    table.write(out, color);
  }
}

void write_csv(std::ostream& out, const Output& output) {
  std::vector<std::string> cells;
  for (const OutputColumn& column : output.columns) cells.push_back(column.path);
  write_csv_row(out, cells);
  for (const Json& row : rows_of(output)) {
    cells.clear();
    for (const OutputColumn& column : output.columns) cells.push_back(cell_text(row, column.path));
    write_csv_row(out, cells);
  }
}

Failure no_form(const Output& output, const char* format, const char* needed) {
  return failure("output-format",
                 fmt::format("{} has no {} form: it has no {}", output.name, format, needed),
                 "use table, wide, json or yaml");
}

}  // namespace

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> kNames = {"table", "wide",  "json", "yaml",
                                                  "csv",   "junit", "sarif"};
  return kNames;
}

std::optional<Format> parse_format(std::string_view name) {
  const auto& names = format_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Format>(found - names.begin());
}

Result<void> write_output(std::ostream& out, const Output& output, Format format, bool color) {
  switch (format) {
    case Format::kTable:
      write_table(out, output, false, color);
      return {};
    case Format::kWide:
      write_table(out, output, true, color);
      return {};
    case Format::kJson:
      out << json_text(with_version(output.data));
      return {};
    case Format::kYaml:
      out << to_yaml(to_node(with_version(output.data)));
      return {};
    case Format::kCsv:
      if (output.columns.empty()) return no_form(output, "csv", "rows");
      write_csv(out, output);
      return {};
    case Format::kJunit:
      if (!output.judges) return no_form(output, "junit", "checks");
      write_junit(out, output.name, output.checks, output.findings);
      return {};
    case Format::kSarif:
      if (!output.judges) return no_form(output, "sarif", "findings");
      out << json_text(to_sarif(output.checks, output.findings, output.text_of));
      return {};
  }
  return {};
}

Json to_json(const Finding& finding) {
  Json result{{"file", finding.where.file.str()},        {"line", finding.where.line},
              {"column", finding.where.column},          {"rule", finding.rule},
              {"severity", to_string(finding.severity)}, {"message", finding.message}};
  if (!finding.hint.empty()) result["hint"] = finding.hint;
  return result;
}

Json to_json(const Findings& findings) {
  Json result = Json::array();
  for (const Finding& finding : findings) result.push_back(to_json(finding));
  return result;
}

Json to_json(const Check& check) {
  return {
      {"name", check.name}, {"outcome", to_string(check.outcome)}, {"evidence", check.evidence}};
}

Json to_json(const Verdict& verdict) {
  Json checks = Json::array();
  for (const Check& check : verdict.worst_first()) checks.push_back(to_json(check));
  return {{"outcome", to_string(verdict.outcome())}, {"checks", checks}};
}

std::string json_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster
