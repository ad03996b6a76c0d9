#include "facts/datasets.h"

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {

const Schema& datasets_schema() {
  static const TextForm kHash{"a SHA-256 in lower-case hexadecimal", "[0-9a-f]{64}", "82fa5f37…"};
  static const Schema kSchema = [] {
    const Schema file =
        Schema::object("One file", {{"name", Schema::text("Name").required()},
                                    {"bytes", Schema::integer("Size").at_least(1).required()},
                                    {"sha256", Schema::text("Checksum").form(kHash).required()}});
    const Schema row = Schema::object(
        "One data set",
        {{"name", Schema::text("As cases name it").required()},
         {"description", Schema::text("One sentence").required()},
         {"package", Schema::text("Debian package that has the command or the files").required()},
         {"command",
          Schema::list("Prints the text; or directory and files", Schema::text("Argument"))
              .at_least(1)},
         {"bytes", Schema::integer("Size of the text").at_least(1)},
         {"sha256", Schema::text("Checksum of the text").form(kHash)},
         {"directory", Schema::text("Where the package puts the files, instead of a command")},
         {"files", Schema::list("Files in the directory", file).at_least(1)},
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
  const Node& rows = *document.find("datasets");
  Findings findings = repeated_names(rows);
  for (const Node& row : rows.items()) {
    const auto has = [&row](const char* key) { return row.find(key) != nullptr; };
    const bool text = has("command") && has("bytes") && has("sha256");
    const bool installed = has("directory") && has("files");
    const bool mixed =
        (has("command") || has("bytes") || has("sha256")) && (has("directory") || has("files"));
    if ((text || installed) && !mixed) continue;
    findings.push_back(error_at(row.find("name")->where(), "facts-dataset",
                                "a data set is a text or a directory of files",
                                "command, bytes and sha256; or directory and files"));
  }
  return findings;
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
    set.bytes = static_cast<std::uint64_t>(integer_at(row, "bytes").value_or(0));
    set.sha256 = text_at(row, "sha256");
    set.directory = text_at(row, "directory");
    if (const Node* list = row.find("files")) {
      for (const Node& file : list->items()) {
        set.files.push_back({text_at(file, "name"),
                             static_cast<std::uint64_t>(*integer_at(file, "bytes")),
                             text_at(file, "sha256")});
      }
    }
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
