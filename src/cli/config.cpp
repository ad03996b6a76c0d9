// muster config: the settings in force, each with its origin.
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "cli/context.h"

namespace muster::cli {

void add_config(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("config", "The settings in force, each with its origin");
  sub->group("This machine");
  sub->footer(
      "A flag wins over the environment (MUSTER_RUNS_DIR, …), that over .muster.yaml of the "
      "project, that over\n"
      "~/.config/muster/config.yaml, that over the default.");
  sub->callback([&context] {
    Output output;
    output.name = "config";
    output.rows = "items";
    output.columns = {
        {"SETTING", "name"}, {"VALUE", "value"}, {"ORIGIN", "origin"}, {"MEANING", "help", true}};
    auto& items = output.data["items"] = nlohmann::ordered_json::array();
    for (const auto& [name, setting] : context.settings.all()) {
      nlohmann::ordered_json item{
          {"name", name}, {"value", setting.value}, {"origin", setting.origin}};
      for (const SettingDefinition& definition : setting_definitions()) {
        if (name == definition.name) item["help"] = definition.help;
      }
      items.push_back(std::move(item));
    }
    context.print(output);
  });
}

}  // namespace muster::cli
