#include "cli/kind_facts.h"

#include "facts/describe.h"
#include "facts/facts.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename Row>
Result<Json> items_of(const Result<std::vector<Row>>& rows) {
  if (!rows) return rows.error();
  Json items = Json::array();
  for (const Row& row : *rows) items.push_back(facts::to_json(row));
  return items;
}

}  // namespace

std::vector<OutputColumn> instance_columns() {
  return {{"NAME", "name"},
          {"COUNT", "accelerators.count", false, true},
          {"ACCELERATOR", "accelerators.model"},
          {"EACH", "accelerators.memory", false, true},
          {"MEMORY", "memory", false, true},
          {"VCPUS", "cpu.vcpus", false, true},
          {"GBIT/S", "network.gbps", false, true},
          {"CARDS", "network.cards", true, true},
          {"EFA", "network.efa.count", false, true},
          {"RDMA READ", "network.rdma.read", true},
          {"NVLINKS", "nvlink.links", true, true},
          {"ARCH", "cpu.arch", true},
          {"ML", "ml"}};
}

Result<Json> list_instances(const Context& context) {
  return items_of(facts::load_instances(context.files, context.project()));
}

Result<Shown> show_instance(const Context& context, const std::string& name) {
  const auto instances = facts::load_instances(context.files, context.project());
  if (!instances) return instances.error();
  const auto instance = facts::find_instance(*instances, name);
  if (!instance) return instance.error();
  return Shown{facts::to_json(*instance), facts::describe(*instance)};
}

std::vector<OutputColumn> dataset_columns() {
  return {{"NAME", "name"},
          {"BYTES", "bytes", false, true},
          {"WORDS", "words", false, true},
          {"PACKAGE", "package"},
          {"LICENCE", "licence"},
          {"SHA256", "sha256", true},
          {"DESCRIPTION", "description"}};
}

Result<Json> list_datasets(const Context& context) {
  return items_of(facts::load_datasets(context.files, context.project()));
}

Result<Shown> show_dataset(const Context& context, const std::string& name) {
  const auto datasets = facts::load_datasets(context.files, context.project());
  if (!datasets) return datasets.error();
  const auto dataset = facts::find_dataset(*datasets, name);
  if (!dataset) return dataset.error();
  return Shown{facts::to_json(*dataset), {}};
}

std::vector<OutputColumn> model_columns() {
  return {{"NAME", "name"},
          {"PARAMETERS", "parameters", false, true},
          {"LAYERS", "layers", false, true},
          {"HIDDEN", "hidden", false, true},
          {"HEADS", "heads", false, true},
          {"KV HEADS", "kv_heads", false, true},
          {"FFN", "ffn", false, true},
          {"VOCABULARY", "vocabulary", false, true},
          {"CONTEXT", "context", true, true},
          {"TIED", "tied", true},
          {"SOURCE", "source", true}};
}

Result<Json> list_models(const Context& context) {
  return items_of(facts::load_models(context.files, context.project()));
}

Result<Shown> show_model(const Context& context, const std::string& name) {
  const auto models = facts::load_models(context.files, context.project());
  if (!models) return models.error();
  const auto model = facts::require_model(*models, name);
  if (!model) return model.error();
  return Shown{facts::to_json(*model), {}};
}

}  // namespace muster::cli
