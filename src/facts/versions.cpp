#include "facts/versions.h"

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {

const Schema& versions_schema() {
  static const Schema kSchema = [] {
    const Schema row = Schema::object(
        "One floor", {{"name", Schema::text("Component, as image.pins names it").required()},
                      {"version", Schema::text("Oldest version that passes").required()},
                      {"source", Schema::text("Where the floor comes from").required()},
                      {"date", Schema::text("When it was read").required()}});
    auto fields = envelope("Versions");
    fields.push_back({"floors", Schema::list("Rows", row).required()});
    return Schema::object("Version floors", std::move(fields));
  }();
  return kSchema;
}

Findings check_versions(const Node& document) {
  return repeated_names(*document.find("floors"));
}

Result<Floors> parse_floors(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, versions_schema(), check_versions);
  if (!document) return document.error();
  Floors floors;
  for (const Node& row : document->find("floors")->items())
    floors[text_at(row, "name")] = text_at(row, "version");
  return floors;
}

Result<Floors> load_floors(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "versions.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_floors(*text, path.string());
}

}  // namespace muster::facts
