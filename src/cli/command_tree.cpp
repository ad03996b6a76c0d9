#include "cli/command_tree.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace muster::cli {
namespace {

/// The words of the first "{a,b,c}" in a type name, as CLI11 writes the set of a validator.
std::vector<std::string> choices_in(const std::string& type_name) {
  std::vector<std::string> choices;
  const auto open = type_name.find('{');
  const auto close = type_name.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return choices;
  std::string word;
  for (std::size_t i = open + 1; i <= close; ++i) {
    if (i == close || type_name[i] == ',') {
      if (!word.empty()) choices.push_back(word);
      word.clear();
    } else {
      word += type_name[i];
    }
  }
  return choices;
}

OptionInfo describe_option(const CLI::Option& option) {
  OptionInfo info;
  info.positional = option.get_positional();
  if (info.positional) {
    info.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  }
  info.takes_value = option.get_items_expected_max() > 0;
  info.required = option.get_required();
  info.repeated = option.get_items_expected_max() > 1;
  const std::string type = option.get_type_name();
  info.choices = choices_in(type);
  info.value_name = type.substr(0, type.find(':'));
  if (info.value_name.empty() || info.value_name[0] == '{') info.value_name = "VALUE";
  if (info.value_name == "CASE") info.listed = "cases";
  if (info.value_name == "RUN") info.listed = "runs";
  info.description = option.get_description();
  return info;
}

CommandInfo describe_command(const CLI::App& app, const std::string& parent) {
  CommandInfo info;
  info.name = app.get_name();
  info.path = parent.empty() ? info.name : parent + " " + info.name;
  info.group = app.get_group();
  info.description = app.get_description();
  info.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    OptionInfo described = describe_option(*option);
    const bool after_kind = !info.options.empty() && info.options.back().value_name == "KIND";
    if (described.positional && described.value_name == "NAME" && after_kind)
      described.listed = kOfKindBefore;
    info.options.push_back(std::move(described));
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) info.commands.push_back(describe_command(*sub, info.path));
  }
  return info;
}

void collect(const CommandInfo& command, std::vector<const CommandInfo*>& all) {
  all.push_back(&command);
  for (const CommandInfo& sub : command.commands) collect(sub, all);
}

}  // namespace

CommandInfo describe(const CLI::App& root) {
  return describe_command(root, "");
}

std::vector<const CommandInfo*> flatten(const CommandInfo& root) {
  std::vector<const CommandInfo*> all;
  collect(root, all);
  return all;
}

std::string synopsis(const CommandInfo& command) {
  std::string text = command.path;
  const auto flag = [](const OptionInfo& option) { return !option.positional; };
  if (std::any_of(command.options.begin(), command.options.end(), flag)) text += " [OPTIONS]";
  for (const OptionInfo& option : command.options) {
    if (!option.positional) continue;
    std::string word = option.names.front();
    for (char& c : word) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (option.repeated) word += "…";
    text += option.required ? " " + word : " [" + word + "]";
  }
  if (!command.commands.empty()) text += " COMMAND";
  return text;
}

}  // namespace muster::cli
