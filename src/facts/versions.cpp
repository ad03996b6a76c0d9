#include "facts/versions.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/version.h"
#include "facts/compatibility.h"
#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

const TextForm kSha256{"a SHA-256", "[0-9a-f]{64}",
                       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"};
const TextForm kDayRead{"a date", "[0-9]{4}-[0-9]{2}-[0-9]{2}", "2026-11-30"};

using Fields = std::vector<Schema::Field>;

Fields with_origin(Fields fields) {
  fields.push_back({"source", Schema::text("Where this comes from").required()});
  fields.push_back({"date", Schema::text("When it was read").form(kDayRead).required()});
  return fields;
}

Schema floor_schema() {
  return Schema::object(
      "One floor",
      with_origin({{"name", Schema::text("Component, as image.pins names it").required()},
                   {"version", Schema::text("Oldest version that passes").required()}}));
}

Schema component_schema() {
  return Schema::object(
      "One component",
      with_origin(
          {{"name", Schema::text("Name, as image.pins has it").required()},
           {"title", Schema::text("What it is").required()},
           {"version", Schema::text("Version that images hold; absent: the distribution's")},
           {"tag", Schema::text("Tag of the version in its repository")},
           {"repository", Schema::text("Git repository")},
           {"url", Schema::text("Archive of the version; ${version}, ${arch} (x86_64) and "
                                "${goarch} (amd64) are filled in")},
           {"sha256", Schema::map("SHA-256 of the archive by architecture",
                                  Schema::text("SHA-256").form(kSha256))},
           {"comes_with", Schema::text("Component that brings it along")}}));
}

Schema gpu_schema() {
  return Schema::object("One model",
                        {{"name", Schema::text("Model, as instances.yaml names it").required()},
                         {"generation", Schema::text("Generation").required()},
                         {"compute", Schema::text("Compute capability").required()}});
}

Schema compatibility_schema() {
  const Schema range =
      Schema::text("Range, e.g. \">=580,<590\"; a version alone: all that start with it");
  return Schema::object(
      "One rule",
      with_origin(
          {{"name", Schema::text("Name").required()},
           {"when", Schema::map("Component -> range: when the rule applies", range)},
           {"gpus", Schema::list("Models or generations: it applies to images for one of these",
                                 Schema::text("Model or generation"))},
           {"needs", Schema::map("Component -> range that must hold then", range)},
           {"same", Schema::list("Components of one version", Schema::text("Component"))},
           {"reason", Schema::text("Why, in a sentence").required()}}));
}

std::map<std::string, std::string> texts_by_key(const Node& row, const char* key) {
  std::map<std::string, std::string> texts;
  if (const Node* map = row.find(key)) {
    for (const Node::Entry& entry : map->entries()) texts[entry.key] = entry.value.text();
  }
  return texts;
}

const std::vector<Node>& rows_of(const Node& document, const char* key) {
  static const std::vector<Node> kNone;
  const Node* list = document.find(key);
  return list ? list->items() : kNone;
}

VersionCatalog read(const Node& document) {
  VersionCatalog catalog;
  for (const Node& row : rows_of(document, "floors"))
    catalog.floors[text_at(row, "name")] = text_at(row, "version");
  for (const Node& row : rows_of(document, "components")) {
    catalog.components.push_back(
        {text_at(row, "name"), text_at(row, "title"), text_at(row, "version"), text_at(row, "tag"),
         text_at(row, "repository"), text_at(row, "url"), text_at(row, "comes_with"),
         texts_by_key(row, "sha256"), text_at(row, "source"), text_at(row, "date"),
         row.find("name")->where()});
  }
  for (const Node& row : rows_of(document, "gpus")) {
    catalog.gpus.push_back(
        {text_at(row, "name"), text_at(row, "generation"), text_at(row, "compute")});
  }
  for (const Node& row : rows_of(document, "compatibility")) {
    catalog.compatibility.push_back(
        {text_at(row, "name"), texts_by_key(row, "when"), texts_by_key(row, "needs"),
         texts_at(row, "gpus"), texts_at(row, "same"), text_at(row, "reason"),
         text_at(row, "source"), text_at(row, "date"), row.find("name")->where()});
  }
  return catalog;
}

// Names that no row of the catalog has, and ranges that are none.
class References {
 public:
  explicit References(const VersionCatalog& catalog) {
    for (const Component& component : catalog.components) components_.push_back(component.name);
    for (const Gpu& gpu : catalog.gpus) {
      gpus_.push_back(gpu.name);
      gpus_.push_back(gpu.generation);
    }
  }

  Findings check(const Node& document) {
    for (const Node& row : rows_of(document, "components")) {
      if (const Node* name = row.find("comes_with")) known(*name, name->text(), components_);
    }
    for (const Node& row : rows_of(document, "compatibility")) check_row(row);
    return std::move(findings_);
  }

 private:
  void check_row(const Node& row) {
    for (const char* key : {"when", "needs"}) {
      const Node* map = row.find(key);
      if (!map) continue;
      for (const Node::Entry& entry : map->entries()) {
        if (std::find(components_.begin(), components_.end(), entry.key) == components_.end())
          unknown(entry.where, entry.key, components_);
        if (!is_range(entry.value.text())) {
          findings_.push_back(error_at(entry.value.where(), "facts-range",
                                       fmt::format("\"{}\" is no range", entry.value.text()),
                                       "\">=580,<590\", or a version alone"));
        }
      }
    }
    for (const Node& gpu : rows_of(row, "gpus")) known(gpu, gpu.text(), gpus_);
    for (const Node& name : rows_of(row, "same")) known(name, name.text(), components_);
    if (!row.find("needs") && !row.find("same")) {
      findings_.push_back(
          error_at(row.where(), "facts-range", "the rule asks for nothing", "needs: or same:"));
    }
  }

  void known(const Node& node, const std::string& name, const std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      unknown(node.where(), name, names);
  }

  void unknown(const Position& where, const std::string& name,
               const std::vector<std::string>& names) {
    const auto meant = did_you_mean(name, names);
    findings_.push_back(error_at(where, "facts-unknown-component",
                                 fmt::format("\"{}\" is no row of the catalog", name),
                                 meant ? fmt::format("did you mean \"{}\"?", *meant) : ""));
  }

  std::vector<std::string> components_, gpus_;
  Findings findings_;
};

void check_floors(const VersionCatalog& catalog, Findings& findings) {
  for (const auto& [name, floor] : catalog.floors) {
    const Component* component = catalog.find(name);
    if (!component || component->version.empty()) continue;
    if (compare_versions(component->version, floor).value_or(0) >= 0) continue;
    findings.push_back(
        error_at(component->where, "facts-below-floor",
                 fmt::format("{} {} is below its floor {}", name, component->version, floor)));
  }
}

}  // namespace

const Component* VersionCatalog::find(const std::string& name) const {
  const auto found = std::find_if(components.begin(), components.end(),
                                  [&](const Component& row) { return row.name == name; });
  return found == components.end() ? nullptr : &*found;
}

const Gpu* VersionCatalog::find_gpu(const std::string& name) const {
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& row) { return row.name == name; });
  return found == gpus.end() ? nullptr : &*found;
}

const Schema& versions_schema() {
  static const Schema kSchema = [] {
    auto fields = envelope("Versions");
    fields.push_back(
        {"floors", Schema::list("Oldest versions that pass", floor_schema()).required()});
    fields.push_back({"components", Schema::list("What images are made of", component_schema())});
    fields.push_back({"gpus", Schema::list("Models of GPU", gpu_schema())});
    fields.push_back(
        {"compatibility", Schema::list("Which versions go together", compatibility_schema())});
    return Schema::object("Versions that images hold, and which go together", std::move(fields));
  }();
  return kSchema;
}

Findings check_versions(const Node& document) {
  Findings findings;
  for (const char* key : {"floors", "components", "gpus", "compatibility"}) {
    if (const Node* rows = document.find(key)) {
      const Findings repeated = repeated_names(*rows);
      findings.insert(findings.end(), repeated.begin(), repeated.end());
    }
  }
  const VersionCatalog catalog = read(document);
  const Findings unknown = References(catalog).check(document);
  findings.insert(findings.end(), unknown.begin(), unknown.end());
  if (has_errors(findings)) return findings;
  check_floors(catalog, findings);
  const Findings clashes = check_compatibility(everything(catalog), catalog);
  findings.insert(findings.end(), clashes.begin(), clashes.end());
  return findings;
}

Result<VersionCatalog> parse_versions(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, versions_schema(), check_versions);
  if (!document) return document.error();
  return read(*document);
}

Result<VersionCatalog> load_versions(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "versions.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_versions(*text, path.string());
}

}  // namespace muster::facts
