#include "cli/kind_architectures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "architectures/catalogue.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json stacks_of(const catalog::Architecture& architecture) {
  Json stacks = Json::array();
  for (const catalog::StackStep& step : architecture.stacks) {
    stacks.push_back({{"name", step.name},
                      {"template", step.template_file},
                      {"when", step.when},
                      {"each", step.each}});
  }
  return stacks;
}

std::string architecture_text(const catalog::Architecture& architecture,
                              const std::vector<std::filesystem::path>& examples) {
  std::string text = fmt::format("{}: {}\n", architecture.name, architecture.description);
  if (!architecture.stacks.empty()) text += "\nstacks, in order:\n";
  for (const catalog::StackStep& step : architecture.stacks)
    text += fmt::format("  {:<14} {}{}{}\n", step.name, step.template_file,
                        step.each.empty() ? "" : ", one a group",
                        step.when.empty() ? "" : ", when " + step.when);
  if (!architecture.documents.empty()) text += "\nfiles for other tools:\n";
  for (const catalog::DocumentStep& step : architecture.documents)
    text += fmt::format("  {}{}\n", step.file, step.apply.empty() ? "" : ": " + step.apply);
  const auto list = [&text](const char* title, const std::vector<std::string>& items) {
    if (!items.empty()) text += fmt::format("{}: {}\n", title, fmt::join(items, ", "));
  };
  text += "\n";
  list("capacity", architecture.capacities);
  list("accounting", architecture.accounting);
  list("directory", architecture.directories);
  list("monitoring", architecture.monitoring);
  list("needs", architecture.needs);
  for (const auto& example : examples) text += fmt::format("example: {}\n", example.string());
  return text;
}

}  // namespace

Result<Json> list_architectures(const Context& context) {
  Json items = Json::array();
  for (const std::string& name :
       architectures::architecture_names(context.files, context.project())) {
    const auto architecture =
        architectures::load_architecture(context.files, context.project(), name);
    if (!architecture) return architecture.error();
    items.push_back({{"name", name},
                     {"description", architecture->description},
                     {"capacity", architecture->capacities},
                     {"stacks", architecture->stacks.size()}});
  }
  return items;
}

Result<Shown> show_architecture(const Context& context, const std::string& name) {
  const auto architecture =
      architectures::load_architecture(context.files, context.project(), name);
  if (!architecture) return architecture.error();
  auto examples = architectures::example_clusters(context.files, context.project(), name);
  for (auto& example : examples) example = example.lexically_proximate(context.project());
  Json data = {{"name", name}, {"description", architecture->description}};
  data["stacks"] = stacks_of(*architecture);
  data["documents"] = Json::array();
  for (const catalog::DocumentStep& step : architecture->documents)
    data["documents"].push_back({{"file", step.file}, {"apply", step.apply}});
  data["supports"] = {
      {"capacity", architecture->capacities},   {"accounting", architecture->accounting},
      {"directory", architecture->directories}, {"monitoring", architecture->monitoring},
      {"roles", architecture->roles},           {"min_zones", architecture->min_zones}};
  data["needs"] = architecture->needs;
  data["examples"] = Json::array();
  for (const auto& example : examples) data["examples"].push_back(example.string());
  return Shown{data, architecture_text(*architecture, examples)};
}

}  // namespace muster::cli
