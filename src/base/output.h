// What a verb prints, once as data and once as a table, so that every output format comes from one
// call.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/finding.h"
#include "base/result.h"
#include "base/sarif.h"
#include "base/verdict.h"

namespace muster {

enum class Format { kTable, kWide, kJson, kYaml, kCsv, kJunit, kSarif };

/// table, wide, json, yaml, csv, junit, sarif.
const std::vector<std::string>& format_names();
std::optional<Format> parse_format(std::string_view name);

/// One column of the table: its title and where its value is in a row.
struct OutputColumn {
  std::string title;
  std::string path;        ///< dotted path in the row's object, e.g. "accelerator.count"
  bool wide_only = false;  ///< shown by wide and csv, not by table
  bool right = false;      ///< figures: aligned to the right
};

/// Everything that a verb has to say.
struct Output {
  std::string name;  ///< what was done, e.g. "validate": the suite of JUnit, the run of SARIF
  nlohmann::ordered_json data =
      nlohmann::ordered_json::object();  ///< JSON and YAML print this, after schema_version
  std::string rows;  ///< member of `data` that holds the table's rows, a list of objects
  std::vector<OutputColumn> columns;
  std::string empty;                ///< what a table without rows says, e.g. "no runs"
  std::optional<std::string> text;  ///< what table and wide print instead of a table
  bool judges = false;        ///< whether there are checks or findings to write as SARIF and JUnit
  Findings findings;          ///< for SARIF and JUnit
  std::vector<Check> checks;  ///< for SARIF and JUnit
  TextOf text_of;             ///< of the files that findings name: for SARIF's columns
};

/// Writes it. Failure: the format has no form for this (junit and sarif need a verb that judges,
/// csv needs columns).
Result<void> write_output(std::ostream& out, const Output& output, Format format, bool color);

/// {file, line, column, rule, severity, message} and, when there is one, hint; line and column are
/// 0 when not known.
nlohmann::ordered_json to_json(const Finding& finding);
nlohmann::ordered_json to_json(const Findings& findings);

/// {name, outcome, evidence}.
nlohmann::ordered_json to_json(const Check& check);

/// {outcome, checks}, the checks worst first.
nlohmann::ordered_json to_json(const Verdict& verdict);

/// JSON text, indented by two, with a final newline; bytes that are not UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace muster
