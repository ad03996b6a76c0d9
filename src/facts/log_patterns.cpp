#include "facts/log_patterns.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

constexpr std::array<const char*, 6> kKinds = {"step",   "eval",       "joined",
                                               "resume", "checkpoint", "fabric"};

bool is_known(const std::string& field) {
  const auto& fields = log_fields();
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

/// What the schema can't say of one row.
void check_row(const Node& row, Findings& findings) {
  const Node& pattern = *row.find("pattern");
  const auto compiled = compile_log_pattern(pattern.text());
  if (!compiled) {
    findings.push_back(error_at(pattern.where(), "facts-pattern",
                                compiled.findings().front().message, "see pcre2pattern(3)"));
    return;
  }
  bool loss = false;
  for (const std::string& field : compiled->groups()) {
    if (field.empty() || field == "num" || field == "int") continue;
    loss = loss || field == "loss";
    if (!is_known(field)) {
      findings.push_back(error_at(pattern.where(), "facts-pattern",
                                  fmt::format("a log has no field \"{}\"", field),
                                  fmt::format("fields: {}", fmt::join(log_fields(), ", "))));
    }
  }
  const std::string kind = text_at(row, "kind");
  if ((kind == "step" || kind == "eval") && !loss) {
    findings.push_back(error_at(pattern.where(), "facts-pattern",
                                fmt::format("a pattern of kind {} reads the loss", kind),
                                "(?<loss>(?&num))"));
  }
}

}  // namespace

const std::vector<std::string>& log_fields() {
  static const std::vector<std::string> kFields = {"step",
                                                   "steps",
                                                   "epoch",
                                                   "epoch_steps",
                                                   "loss",
                                                   "lr",
                                                   "seconds",
                                                   "grad_norm",
                                                   "milliseconds",
                                                   "tokens",
                                                   "mfu",
                                                   "tflops",
                                                   "mfu_percent",
                                                   "global_batch",
                                                   "samples_per_second",
                                                   "rank",
                                                   "world",
                                                   "peers",
                                                   "hash",
                                                   "tokens_per_second",
                                                   "path",
                                                   "transport",
                                                   "tokens_per_second_rank"};
  return kFields;
}

Result<Regex> compile_log_pattern(const std::string& pattern) {
  return Regex::compile(
      R"((?(DEFINE)(?<num>[-+]?(?:(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?:[KMGBT](?![A-Za-z]))?|(?i:nan|inf(?:inity)?)))(?<int>\d[\d,]*)))" +
      pattern);
}

const Schema& log_patterns_schema() {
  static const Schema kSchema = [] {
    const Schema example =
        Schema::object("A line as it is logged",
                       {{"line", Schema::text("The line").required()},
                        {"fields", Schema::map("What it says", Schema::text("Value")).required()}});
    const Schema row = Schema::object(
        "One kind of line",
        {{"name", Schema::text("Name, for messages").required()},
         {"framework", Schema::text("Framework of the cases that log so; absent: any")},
         {"library", Schema::text("Library below the framework; absent: any")},
         {"kind", Schema::text("What the line says")
                      .one_of({kKinds.begin(), kKinds.end()})
                      .defaults_to("step")},
         {"contains",
          Schema::text("A text of every such line, looked for before the pattern").required()},
         {"pattern",
          Schema::text("Regular expression in Perl's syntax whose named groups are the fields; "
                       "(?&num) is a number, (?&int) a whole one")
              .required()},
         {"counts_from",
          Schema::integer("Number of the first step").at_least(0).at_most(1).defaults_to("1")},
         {"value", Schema::text("Of kind joined the transport, of kind fabric the fabric")},
         {"examples", Schema::list("Lines that the pattern reads", example).at_least(1).required()},
         {"source", Schema::text("Where this form comes from").required()},
         {"date", Schema::text("When it was read").required()}});
    auto fields = envelope("LogPatterns");
    fields.push_back(
        {"log_patterns", Schema::list("Rows; of two that match the first wins", row).required()});
    return Schema::object("What the logs of frameworks look like", std::move(fields));
  }();
  return kSchema;
}

Findings check_log_patterns(const Node& document) {
  const Node& rows = *document.find("log_patterns");
  Findings findings = repeated_names(rows);
  for (const Node& row : rows.items()) check_row(row, findings);
  return findings;
}

Result<std::vector<LogPattern>> parse_log_patterns(const std::string& text,
                                                   const std::string& file) {
  const auto document = parse_facts(text, file, log_patterns_schema(), check_log_patterns);
  if (!document) return document.error();
  std::vector<LogPattern> patterns;
  for (const Node& row : document->find("log_patterns")->items()) {
    LogPattern one;
    one.name = text_at(row, "name");
    one.framework = text_at(row, "framework");
    one.library = text_at(row, "library");
    const std::string kind = text_at(row, "kind");
    const auto* found = std::find(kKinds.begin(), kKinds.end(), kind);
    if (found != kKinds.end()) one.kind = static_cast<LineKind>(found - kKinds.begin());
    one.contains = text_at(row, "contains");
    one.pattern = text_at(row, "pattern");
    one.counts_from = static_cast<int>(integer_at(row, "counts_from").value_or(1));
    one.value = text_at(row, "value");
    for (const Node& example : row.find("examples")->items()) {
      LogExample line{text_at(example, "line"), {}};
      for (const Node::Entry& entry : example.find("fields")->entries())
        line.fields[entry.key] = entry.value.text();
      one.examples.push_back(std::move(line));
    }
    one.source = text_at(row, "source");
    one.date = text_at(row, "date");
    one.where = row.find("name")->where();
    patterns.push_back(std::move(one));
  }
  return patterns;
}

Result<std::vector<LogPattern>> load_log_patterns(const FileSystem& files,
                                                  const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "log-patterns.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_log_patterns(*text, path.string());
}

}  // namespace muster::facts
