#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/context.h"

namespace muster::cli {
namespace {

struct ExitMeaning {
  int code;
  const char* meaning;
};

constexpr ExitMeaning kExitMeanings[] = {
    {0, "done, or checked and it passes"},
    {1, "usage or internal error"},
    {2, "input that can't be read: a value, an unparsable or unreadable file, an invalid manifest"},
    {3, "checked, and it fails"},
    {4,
     "could not be verified: a tool is missing, nothing was selected, output was not understood"},
    {5, "differs (--check)"},
    {124, "the command's own time limit"},
    {130, "interrupted; everything it had started is ended"},
};

/// Text for roff: its special characters escaped.
std::string roff(const std::string& text) {
  std::string result;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    line_start = c == '\n';
  }
  return result;
}

std::string names_and_value(const OptionInfo& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.positional && option.takes_value) text += " " + option.value_name;
  return text;
}

std::string described(const OptionInfo& option) {
  std::string text = option.description;
  if (!option.choices.empty()) text += fmt::format(" ({})", fmt::join(option.choices, ", "));
  return text;
}

/// Footers keep their lines.
std::string roff_block(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n";
}

/// Text for a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|')
      result += "\\|";
    else if (c == '<')
      result += "&lt;";
    else
      result += c == '\n' ? ' ' : c;
  }
  return result;
}

}  // namespace

std::string man_page(const CommandInfo& root, const std::string& version) {
  std::string text = fmt::format(".TH MUSTER 1 \"\" \"muster {}\" \"User Commands\"\n", version);
  text += ".SH NAME\nmuster \\- " + roff(root.description) + "\n";
  text += ".SH SYNOPSIS\n.B muster\n[OPTIONS] COMMAND [ARGUMENTS]\n";
  text += ".SH OPTIONS\nThese may be given before or after the command.\n";
  const auto options = [&text](const CommandInfo& command) {
    for (const OptionInfo& option : command.options) {
      if (command.path != "muster" && option.names.back() == "--help") continue;
      text += ".TP\n.B " + roff(names_and_value(option)) + "\n" + roff(described(option)) + "\n";
    }
  };
  options(root);
  text += ".SH COMMANDS\n";
  for (const CommandInfo* command : flatten(root)) {
    if (command->path == root.path) continue;
    text += ".SS " + roff(synopsis(*command)) + "\n" + roff(command->description) + ".\n";
    options(*command);
    text += roff_block(command->footer);
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : kExitMeanings)
    text += fmt::format(".TP\n.B {}\n{}\n", exit.code, roff(exit.meaning));
  text += ".SH ENVIRONMENT\n";
  for (const SettingDefinition& setting : setting_definitions()) {
    text += ".TP\n.B " + roff(setting.environment_name()) + "\n" + roff(setting.help) + "\n";
  }
  text +=
      ".TP\n.B MUSTER_PROJECT\nthe project, as \\-\\-project\n.TP\n.B NO_COLOR\nno color in any "
      "output\n";
  text +=
      ".SH FILES\n.TP\n.I .muster.yaml\nsettings of the project\n.TP\n.I "
      "~/.config/muster/config.yaml\n"
      "settings of the user\n.TP\n.I .muster/runs\nthe record of runs\n";
  return text;
}

std::string reference(const CommandInfo& root) {
  std::string text =
      "---\ntitle: Command reference\n---\n\n"
      "<!-- Made by `muster reference` from the program's own option tables; a test keeps it in "
      "sync. -->\n\n";
  const auto options = [&text](const CommandInfo& command) {
    bool first = true;
    for (const OptionInfo& option : command.options) {
      if (command.path != "muster" && option.names.back() == "--help") continue;
      if (first) text += "| Option | Meaning |\n|---|---|\n";
      first = false;
      text += fmt::format("| `{}` | {} |\n", names_and_value(option), cell(described(option)));
    }
    if (!first) text += "\n";
  };
  for (const CommandInfo* command : flatten(root)) {
    const bool top = command->path == root.path;
    text += fmt::format("## `{}`\n\n{}.\n\n```\n{}\n```\n\n", command->path,
                        cell(command->description), synopsis(*command));
    if (top) text += "These options may be given before or after the command.\n\n";
    options(*command);
    if (!command->footer.empty()) text += "```\n" + command->footer + "\n```\n\n";
  }
  text += "## Settings\n\n| Setting | Environment | Default | Meaning |\n|---|---|---|---|\n";
  for (const SettingDefinition& setting : setting_definitions()) {
    text += fmt::format("| `{}` | `{}` | `{}` | {} |\n", setting.name, setting.environment_name(),
                        setting.fallback, cell(setting.help));
  }
  text += "\n## Exit codes\n\n| Code | Meaning |\n|---|---|\n";
  for (const ExitMeaning& exit : kExitMeanings)
    text += fmt::format("| {} | {} |\n", exit.code, cell(exit.meaning));
  return text;
}

void add_manual(CLI::App& root, Context& context) {
  CLI::App* man = root.add_subcommand("man", "Print the man page");
  man->group("");  // hidden: for packages
  man->callback([&] { context.out << man_page(describe(root), MUSTER_VERSION); });
  CLI::App* page = root.add_subcommand("reference", "Print the command reference in Markdown");
  page->group("");
  page->callback([&] { context.out << reference(describe(root)); });
}

}  // namespace muster::cli
