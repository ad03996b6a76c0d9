#include "facts/reading.h"

#include <map>

#include <fmt/format.h>

#include "facts/facts.h"

namespace muster::facts {

std::vector<Schema::Field> envelope(const std::string& kind) {
  return {{"apiVersion", Schema::text("Version of this format").one_of({"muster/v1"}).required()},
          {"kind", Schema::text("Kind of the file").one_of({kind}).required()}};
}

std::filesystem::path facts_file(const FileSystem& files, const std::filesystem::path& root,
                                 const std::string& name) {
  const auto own = root / "facts" / name;
  const auto shared = share_directory() / "facts" / name;
  return !files.exists(own) && files.exists(shared) ? shared : own;
}

Result<Node> parse_facts(const std::string& text, const std::string& file, const Schema& schema,
                         Findings (*rules)(const Node&)) {
  auto document = parse_yaml(text, file);
  if (!document) return document;
  Findings findings = schema.check(*document, "facts");
  if (!has_errors(findings)) findings = rules(*document);
  if (has_errors(findings)) return Failure(std::move(findings));
  return document;
}

Findings repeated_names(const Node& rows) {
  std::map<std::string, Position> seen;
  Findings findings;
  for (const Node& row : rows.items()) {
    const Node* name = row.find("name");
    const auto [first, is_new] = seen.emplace(name->text(), name->where());
    if (is_new) continue;
    findings.push_back(error_at(name->where(), "facts-repeated",
                                fmt::format("\"{}\" is listed twice", name->text()),
                                fmt::format("first on line {}", first->second.line)));
  }
  return findings;
}

Failure unknown_name(const std::string& what, const std::string& name,
                     const std::vector<std::string>& known) {
  const auto meant = did_you_mean(name, known);
  std::string hint = meant ? fmt::format("did you mean \"{}\"?", *meant) : std::string();
  if (hint.empty() && !known.empty() && known.size() <= 10)
    hint = fmt::format("known: {}", fmt::join(known, ", "));
  return failure("unknown-name", fmt::format("unknown {} \"{}\"", what, name), std::move(hint));
}

}  // namespace muster::facts
