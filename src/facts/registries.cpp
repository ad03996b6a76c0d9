#include "facts/registries.h"

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {

const Schema& registries_schema() {
  static const TextForm kAccount = {"an account", "[0-9]{12}", "\"123456789012\""};
  static const Schema kSchema = [] {
    const Schema row = Schema::object(
        "One registry",
        {{"account", Schema::text("Account that it belongs to").form(kAccount).required()},
         {"holds", Schema::text("What it holds").required()},
         {"source", Schema::text("Where this comes from").required()},
         {"date", Schema::text("When it was read").required()}});
    auto fields = envelope("Registries");
    fields.push_back({"registries", Schema::list("Rows", row).required()});
    return Schema::object("Registries that AWS runs for everybody", std::move(fields));
  }();
  return kSchema;
}

Findings check_registries(const Node&) {
  return {};
}

Result<PublicAccounts> parse_registries(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, registries_schema(), check_registries);
  if (!document) return document.error();
  PublicAccounts accounts;
  for (const Node& row : document->find("registries")->items())
    accounts.insert(text_at(row, "account"));
  return accounts;
}

Result<PublicAccounts> load_registries(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "registries.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_registries(*text, path.string());
}

}  // namespace muster::facts
