#include "facts/models.h"

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

Model read_row(const Node& row) {
  Model model;
  model.name = text_at(row, "name");
  model.parameters = *integer_at(row, "parameters");
  model.layers = *integer_at(row, "layers");
  model.hidden = *integer_at(row, "hidden");
  model.heads = *integer_at(row, "heads");
  model.kv_heads = *integer_at(row, "kv_heads");
  model.head_size = *integer_at(row, "head_size");
  model.ffn = *integer_at(row, "ffn");
  model.vocabulary = *integer_at(row, "vocabulary");
  model.tied = *boolean_at(row, "tied");
  model.context = *integer_at(row, "context");
  model.rope_theta = *number_at(row, "rope.theta");
  model.rope_factor = number_at(row, "rope.factor");
  model.source = text_at(row, "source");
  model.date = text_at(row, "date");
  model.where = row.find("name")->where();
  return model;
}

}  // namespace

std::int64_t Model::count_parameters() const {
  const std::int64_t attention = 2 * hidden * head_size * (heads + kv_heads);
  const std::int64_t layer = attention + 3 * hidden * ffn + 2 * hidden;
  return vocabulary * hidden * (tied ? 1 : 2) + layers * layer + hidden;
}

const Schema& models_schema() {
  static const Schema kSchema = [] {
    const auto size = [](const char* doc) {
      return Schema::integer(doc).at_least(1).at_most(1e6).required();
    };
    const Schema rope =
        Schema::object("Rotary positions",
                       {{"theta", Schema::number("Base").at_least(1).required()},
                        {"factor", Schema::number("Llama-3 scaling factor").at_least(1)}})
            .required();
    const Schema row = Schema::object(
        "One model",
        {{"name", Schema::text("As cases name it").required()},
         {"parameters", Schema::integer("Weights, each counted once").at_least(1).required()},
         {"layers", size("Blocks")},
         {"hidden", size("Width")},
         {"heads", size("Query heads")},
         {"kv_heads", size("Key and value heads")},
         {"head_size", size("Width of a head")},
         {"ffn", size("Width of the feed-forward part")},
         {"vocabulary", size("Token ids")},
         {"tied", Schema::boolean("The head is the embedding matrix").required()},
         {"context", Schema::integer("Longest sequence").at_least(1).required()},
         {"rope", rope},
         {"source", Schema::text("Where these facts come from").required()},
         {"date", Schema::text("When they were read").required()}});
    auto fields = envelope("Models");
    fields.push_back({"models", Schema::list("Rows", row).required()});
    return Schema::object("Decoder sizes", std::move(fields));
  }();
  return kSchema;
}

Findings check_models(const Node& document) {
  Findings findings = repeated_names(*document.find("models"));
  for (const Node& row : document.find("models")->items()) {
    const Model model = read_row(row);
    if (model.parameters == model.count_parameters()) continue;
    findings.push_back(error_at(row.find("parameters")->where(), "facts-parameters",
                                fmt::format("{}: {} parameters, but the sizes make {}", model.name,
                                            model.parameters, model.count_parameters())));
  }
  return findings;
}

Result<std::vector<Model>> parse_models(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, models_schema(), check_models);
  if (!document) return document.error();
  std::vector<Model> models;
  for (const Node& row : document->find("models")->items()) models.push_back(read_row(row));
  return models;
}

Result<std::vector<Model>> load_models(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "models.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_models(*text, path.string());
}

const Model* find_model(const std::vector<Model>& models, const std::string& name) {
  for (const Model& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

Result<Model> require_model(const std::vector<Model>& models, const std::string& name) {
  if (const Model* model = find_model(models, name)) return *model;
  std::vector<std::string> known;
  known.reserve(models.size());
  for (const Model& model : models) known.push_back(model.name);
  return unknown_name("model", name, known);
}

}  // namespace muster::facts
