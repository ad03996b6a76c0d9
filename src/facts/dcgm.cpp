#include "facts/dcgm.h"

#include <set>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {

const Schema& dcgm_schema() {
  static const Schema kSchema = [] {
    const Schema row = Schema::object(
        "One error code",
        {{"id", Schema::integer("Number").at_least(0)},
         {"name", Schema::text("Name, without DCGM_FR_").required()},
         {"was", Schema::text("Name in 3.x, when it was another")},
         {"severity", Schema::text("Severity")
                          .one_of({"reset", "isolate", "triage", "config", "monitor", "unknown"})
                          .required()}});
    auto fields = envelope("DcgmErrors");
    fields.push_back(
        {"sources", Schema::map("Where rows come from", Schema::text("Source")).required()});
    fields.push_back({"date", Schema::text("When it was read").required()});
    fields.push_back({"errors", Schema::list("Rows", row).required()});
    return Schema::object("Error codes of DCGM's diagnostics", std::move(fields));
  }();
  return kSchema;
}

Findings check_dcgm(const Node& document) {
  const Node& rows = *document.find("errors");
  Findings findings = repeated_names(rows);
  std::set<std::string> numbers;
  for (const Node& row : rows.items()) {
    const Node* id = row.find("id");
    if (id == nullptr || numbers.insert(id->text()).second) continue;
    findings.push_back(error_at(id->where(), "facts-repeated",
                                fmt::format("the number {} is given twice", id->text())));
  }
  return findings;
}

const DcgmError* find_dcgm_error(const DcgmErrors& errors, int id) {
  for (const DcgmError& error : errors) {
    if (error.id == id) return &error;
  }
  return nullptr;
}

const DcgmError* find_dcgm_error(const DcgmErrors& errors, std::string_view name) {
  constexpr std::string_view kPrefix = "DCGM_FR_";
  if (name.substr(0, kPrefix.size()) == kPrefix) name.remove_prefix(kPrefix.size());
  for (const DcgmError& error : errors) {
    if (error.name == name || (!error.was.empty() && error.was == name)) return &error;
  }
  return nullptr;
}

Result<DcgmErrors> parse_dcgm(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, dcgm_schema(), check_dcgm);
  if (!document) return document.error();
  DcgmErrors errors;
  for (const Node& row : document->find("errors")->items()) {
    DcgmError error;
    if (const auto id = integer_at(row, "id")) error.id = static_cast<int>(*id);
    error.name = text_at(row, "name");
    error.was = text_at(row, "was");
    error.severity = text_at(row, "severity");
    errors.push_back(std::move(error));
  }
  return errors;
}

Result<DcgmErrors> load_dcgm(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "dcgm.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_dcgm(*text, path.string());
}

}  // namespace muster::facts
