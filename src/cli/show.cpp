// muster show KIND NAME: the same arguments for every kind.
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/kinds.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

// One row a value, by dotted name: what csv makes of one thing.
void flatten(const Json& value, const std::string& path, Json& rows) {
  if (value.is_object() || value.is_array()) {
    std::size_t index = 0;
    for (const auto& [key, member] : value.items()) {
      const std::string name = value.is_array() ? fmt::format("{}[{}]", path, index++)
                               : path.empty()   ? key
                                                : fmt::format("{}.{}", path, key);
      flatten(member, name, rows);
    }
    return;
  }
  rows.push_back({{"property", path}, {"value", value}});
}

std::string as_yaml(const Json& data) {
  Output output;
  output.data = data;
  std::ostringstream text;
  (void)write_output(text, output, Format::kYaml, false);
  const std::string yaml = text.str();
  return yaml.substr(yaml.find('\n') + 1);  // without schema_version
}

void show(Context& context, const std::string& word, const std::string& name) {
  const auto kind = find_kind(word);
  if (!kind) return context.fail(kind.findings(), kExitInternal);
  const auto shown = (*kind)->show(context, name);
  if (!shown) return context.fail(shown.findings(), (*kind)->exit_code(shown.findings()));
  Output output;
  output.name = "show";
  if (context.format() == Format::kCsv) {
    output.rows = "properties";
    output.columns = {{"PROPERTY", "property"}, {"VALUE", "value"}};
    flatten(shown->data, "", output.data["properties"]);
  } else {
    output.data = shown->data;
    output.text = shown->text.empty() ? as_yaml(shown->data) : shown->text;
  }
  context.print(output);
}

}  // namespace

void add_show(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("show", "One thing of a kind, with all that is known of it");
  sub->group("Look");
  auto kind = std::make_shared<std::string>();
  auto name = std::make_shared<std::string>();
  sub->add_option("kind", *kind, "Its kind, one or many")->required()->type_name(kind_type());
  sub->add_option("name", *name, "Its name, as list gives it; \"last\" is the newest run")
      ->required()
      ->type_name("NAME");
  sub->footer(
      "Examples:\n  muster show instance p5.48xlarge\n  muster show case training/native/llama\n  "
      "muster show run last -o json");
  sub->callback([&context, kind, name] { show(context, *kind, *name); });
}

}  // namespace muster::cli
