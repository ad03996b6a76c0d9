#include "facts/datasets.h"

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {

const Schema& datasets_schema() {
  static const TextForm kHash{"a SHA-256 in lower-case hexadecimal", "[0-9a-f]{64}", "82fa5f37…"};
  static const Schema kSchema = [] {
    const Schema row = Schema::object(
        "One data set",
        {{"name", Schema::text("As cases name it").required()},
         {"description", Schema::text("One sentence").required()},
         {"package", Schema::text("Debian package that has the command").required()},
         {"command",
          Schema::list("Prints the text", Schema::text("Argument")).at_least(1).required()},
         {"bytes", Schema::integer("Size of the text").at_least(1).required()},
         {"sha256", Schema::text("Checksum of the text").form(kHash).required()},
         {"words", Schema::integer("Words").at_least(1)},
         {"licence", Schema::text("Licence of the text").required()},
         {"source", Schema::text("Where these facts come from").required()},
         {"date", Schema::text("When they were read").required()}});
    auto fields = envelope("Datasets");
    fields.push_back({"datasets", Schema::list("Rows", row).required()});
    return Schema::object("Data sets and what makes them", std::move(fields));
  }();
  return kSchema;
}

Findings check_datasets(const Node& document) {
  return repeated_names(*document.find("datasets"));
}

Result<std::vector<Dataset>> parse_datasets(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, datasets_schema(), check_datasets);
  if (!document) return document.error();
  std::vector<Dataset> datasets;
  for (const Node& row : document->find("datasets")->items()) {
    Dataset set;
    set.name = text_at(row, "name");
    set.description = text_at(row, "description");
    set.package = text_at(row, "package");
    set.command = texts_at(row, "command");
    set.bytes = static_cast<std::uint64_t>(*integer_at(row, "bytes"));
    set.sha256 = text_at(row, "sha256");
    if (const auto words = integer_at(row, "words")) set.words = static_cast<std::uint64_t>(*words);
    set.licence = text_at(row, "licence");
    set.source = text_at(row, "source");
    set.date = text_at(row, "date");
    set.where = row.find("name")->where();
    datasets.push_back(std::move(set));
  }
  return datasets;
}

Result<std::vector<Dataset>> load_datasets(const FileSystem& files,
                                           const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "datasets.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_datasets(*text, path.string());
}

Result<Dataset> find_dataset(const std::vector<Dataset>& datasets, const std::string& name) {
  std::vector<std::string> known;
  for (const Dataset& set : datasets) {
    if (set.name == name) return set;
    known.push_back(set.name);
  }
  return unknown_name("data set", name, known);
}

}  // namespace muster::facts
