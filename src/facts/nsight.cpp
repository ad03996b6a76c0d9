#include "facts/nsight.h"

#include <stdexcept>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

/// What the analysis asks for.
constexpr const char* kLimitNames[] = {"communication",   "copied-gigabytes", "synchronisation",
                                       "jitter-top",      "jitter-instances", "jitter",
                                       "straggler-share", "straggler-blame",  "straggler-ratio"};

Schema source_field() {
  return Schema::text("A name of the sources above").required();
}

Schema bounds_schema(const char* doc, std::vector<std::string> shares) {
  return Schema::list(doc,
                      Schema::object(
                          "One rule",
                          {{"bound", Schema::text("What it is bound by").required()},
                           {"share", Schema::text("Of what").one_of(std::move(shares)).required()},
                           {"above", Schema::number("From which share on").at_least(0).required()},
                           {"source", source_field()}}))
      .required();
}

Schema capture_schema() {
  const Schema plugin =
      Schema::object("A spelling", {{"since", Schema::text("Version of nsys").required()},
                                    {"plugin", Schema::text("As --enable takes it").required()}});
  return Schema::object(
             "What a capture asks for",
             {{"trace", Schema::list("APIs", Schema::text("Name")).at_least(1).required()},
              {"delay", Schema::integer("Seconds before it starts").at_least(0).required()},
              {"duration", Schema::integer("Seconds that it lasts").at_least(1).required()},
              {"statistics", Schema::list("Reports", Schema::text("Name")).at_least(1).required()},
              {"efa", Schema::list("Plugins, newest first", plugin).at_least(1).required()},
              {"source", source_field()}})
      .required();
}

void check_pattern(const Node& node, Findings& findings) {
  if (const auto pattern = Regex::compile(node.text()); !pattern)
    findings.push_back(error_at(node.where(), "facts-nsight", pattern.findings().front().message));
}

std::shared_ptr<const Regex> read_pattern(const Node& node) {
  auto pattern = Regex::compile(node.text());  // checked before
  return pattern ? std::make_shared<const Regex>(std::move(*pattern)) : nullptr;
}

double number_in(const Node& row, const char* key) {
  const Node* node = node_at(row, key);
  return node ? node->as_double().value_or(0) : 0;
}

}  // namespace

const Schema& nsight_schema() {
  static const Schema kSchema = [] {
    const Schema table = Schema::object(
        "One table of nsys stats",
        {{"name", Schema::text("Report").required()},
         {"also", Schema::list("Names in other versions", Schema::text("Name")).required()},
         {"count", Schema::text("Column that counts").required()},
         {"item", Schema::text("Column that names").required()},
         {"what", Schema::text("What its rows are")
                      .one_of({"kernels", "calls", "system", "memory-time", "memory-size", "ranges",
                               "other"})
                      .required()},
         {"named", Schema::boolean("Told apart by its name alone")}});
    const Schema category = Schema::object(
        "One kind of kernel",
        {{"name", Schema::text("Name").required()},
         {"group",
          Schema::text("What it counts as").one_of({"communication", "core", "other"}).required()},
         {"pattern", Schema::text("PCRE2, in the kernel's name").required()},
         {"source", source_field()}});
    const Schema limit =
        Schema::object("One limit", {{"name", Schema::text("Name").required()},
                                     {"value", Schema::number("Value").at_least(0).required()},
                                     {"doc", Schema::text("What is compared").required()},
                                     {"source", source_field()}});
    auto fields = envelope("Nsight");
    fields.push_back(
        {"sources", Schema::map("Where rows come from", Schema::text("Source")).required()});
    fields.push_back({"date", Schema::text("When it was read").required()});
    fields.push_back({"capture", capture_schema()});
    fields.push_back({"tables", Schema::list("Tables", table).at_least(1).required()});
    fields.push_back({"categories", Schema::list("Kinds of kernels", category).required()});
    fields.push_back(
        {"bounds",
         Schema::object("What a profile is bound by",
                        {{"nsys", bounds_schema("From nsys", {"communication", "synchronisation",
                                                              "core", "memory"})},
                         {"native", bounds_schema("From the native engine's traces",
                                                  {"transfer", "own", "waiting"})}})
             .required()});
    fields.push_back({"synchronises", Schema::text("Pattern of calls that wait").required()});
    fields.push_back({"limits", Schema::list("Limits", limit).required()});
    return Schema::object("How Nsight Systems captures, and what its statistics mean",
                          std::move(fields));
  }();
  return kSchema;
}

Findings check_nsight(const Node& document) {
  Findings findings = repeated_names(*document.find("limits"));
  for (const char* list : {"tables", "categories"}) {
    const Findings repeated = repeated_names(*document.find(list));
    findings.insert(findings.end(), repeated.begin(), repeated.end());
  }
  const Node& sources = *document.find("sources");
  const auto check_source = [&](const Node& row) {
    const Node* source = row.find("source");
    if (sources.find(source->text()) == nullptr)
      findings.push_back(error_at(source->where(), "facts-nsight",
                                  fmt::format("\"{}\" is no source of this file", source->text()),
                                  "a name under sources"));
  };
  check_source(*document.find("capture"));
  for (const Node& row : document.find("categories")->items()) {
    check_pattern(*row.find("pattern"), findings);
    check_source(row);
  }
  for (const char* kind : {"nsys", "native"}) {
    for (const Node& row : document.find("bounds")->find(kind)->items()) check_source(row);
  }
  for (const Node& row : document.find("limits")->items()) check_source(row);
  check_pattern(*document.find("synchronises"), findings);
  for (const char* name : kLimitNames) {
    bool found = false;
    for (const Node& row : document.find("limits")->items()) found |= text_at(row, "name") == name;
    if (!found)
      findings.push_back(error_at(document.find("limits")->where(), "facts-nsight",
                                  fmt::format("the limit \"{}\" is missing", name)));
  }
  return findings;
}

double Nsight::limit(std::string_view name) const {
  const auto found = limits.find(name);
  if (found == limits.end()) throw std::logic_error("no limit " + std::string(name));
  return found->second;
}

const KernelCategory* Nsight::category(std::string_view kernel) const {
  for (const KernelCategory& one : categories) {
    Regex::Match match;
    if (one.pattern && one.pattern->search(kernel, 0, match) == Regex::Found::kYes) return &one;
  }
  return nullptr;
}

Result<Nsight> parse_nsight(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, nsight_schema(), check_nsight);
  if (!document) return document.error();
  Nsight nsight;
  nsight.trace = texts_at(*document, "capture.trace");
  nsight.statistics = texts_at(*document, "capture.statistics");
  nsight.delay = static_cast<int>(integer_at(*document, "capture.delay").value_or(0));
  nsight.duration = static_cast<int>(integer_at(*document, "capture.duration").value_or(0));
  for (const Node& row : node_at(*document, "capture.efa")->items())
    nsight.efa.push_back({text_at(row, "since"), text_at(row, "plugin")});
  for (const Node& row : document->find("tables")->items())
    nsight.tables.push_back({text_at(row, "name"), texts_at(row, "also"), text_at(row, "count"),
                             text_at(row, "item"), text_at(row, "what"),
                             text_at(row, "named") == "true"});
  for (const Node& row : document->find("categories")->items())
    nsight.categories.push_back(
        {text_at(row, "name"), text_at(row, "group"), read_pattern(*row.find("pattern"))});
  const auto bounds = [&](const char* kind, std::vector<BoundRule>& rules) {
    for (const Node& row : document->find("bounds")->find(kind)->items())
      rules.push_back({text_at(row, "bound"), text_at(row, "share"), number_in(row, "above")});
  };
  bounds("nsys", nsight.nsys_bounds);
  bounds("native", nsight.native_bounds);
  nsight.synchronises = read_pattern(*document->find("synchronises"));
  for (const Node& row : document->find("limits")->items())
    nsight.limits[text_at(row, "name")] = number_in(row, "value");
  return nsight;
}

Result<Nsight> load_nsight(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "nsight.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_nsight(*text, path.string());
}

}  // namespace muster::facts
