#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "cli/completion.h"

namespace muster::cli {
namespace {

/// Text in single quotes for all three shells. Our own descriptions only: a quote in one is left
/// out.
std::string quoted(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\''), text.end());
  return "'" + text + "'";
}

/// Options of the command, and those of the root, which may follow every verb.
std::vector<OptionInfo> options_of(const CommandInfo& command, const CommandInfo& root) {
  std::vector<OptionInfo> options = command.options;
  if (command.path == root.path) return options;
  for (const OptionInfo& option : root.options) {
    const bool shown = std::any_of(options.begin(), options.end(), [&](const OptionInfo& own) {
      return own.names == option.names;
    });
    if (!shown && option.names.back() != "--version") options.push_back(option);
  }
  return options;
}

std::vector<std::string> flag_names(const CommandInfo& command, const CommandInfo& root) {
  std::vector<std::string> names;
  for (const OptionInfo& option : options_of(command, root)) {
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

/// Verbs below the command and choices of its positionals.
std::vector<std::string> words_of(const CommandInfo& command) {
  std::vector<std::string> words;
  for (const CommandInfo& sub : command.commands) words.push_back(sub.name);
  for (const OptionInfo& option : command.options) {
    if (option.positional) words.insert(words.end(), option.choices.begin(), option.choices.end());
  }
  return words;
}

/// `case` arms that follow the verbs typed so far: place=… for each.
std::string place_arms(const CommandInfo& root) {
  std::string text;
  for (const CommandInfo* command : flatten(root)) {
    if (command->path != root.path)
      text += fmt::format("      {0}) place={0} ;;\n", quoted(command->path));
  }
  return text;
}

/// `case` arms "PLACE|--option": what to offer for the option's value. `choices`, `listed` and
/// `open` write the commands for a fixed set, for what `muster list` gives, and for anything.
template <typename Choices, typename Listed, typename Open>
std::string value_arms(const CommandInfo& root, Choices choices, Listed listed, Open open) {
  std::string text;
  for (const CommandInfo* command : flatten(root)) {
    for (const OptionInfo& option : options_of(*command, root)) {
      if (option.positional || !option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        patterns.push_back(quoted(command->path + "|" + name));
      const std::string offer = !option.listed.empty() ? listed(option.listed)
                                : option.choices.empty()
                                    ? open()
                                    : choices(fmt::format("{}", fmt::join(option.choices, " ")));
      text += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), offer);
    }
  }
  return text;
}

/// The kind whose names the command takes; empty when it takes none.
std::string listed_of(const CommandInfo& command) {
  for (const OptionInfo& option : command.options) {
    if (option.positional && !option.listed.empty()) return option.listed;
  }
  return {};
}

/// The body of the function that prints the names of a kind, for bash and zsh.
constexpr const char* kListNames =
    "muster list \"$1\" -o csv 2>/dev/null | tail -n +2 | cut -d, -f1";

}  // namespace

std::string bash_completion(const CommandInfo& root) {
  std::string text =
      "# bash completion of muster; made by 'muster completion bash'.\n"
      "_muster_names() { " +
      std::string(kListNames) +
      "; }\n"
      "_muster() {\n"
      "  local kind='' place='muster' cur=\"${COMP_WORDS[COMP_CWORD]}\" "
      "prev=\"${COMP_WORDS[COMP_CWORD-1]}\" flags='' words='' i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$place ${COMP_WORDS[i]}\" in\n" +
      place_arms(root) +
      "    esac\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case \"$place|$prev\" in\n" +
      value_arms(
          root,
          [](const std::string& words) {
            return fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\"); return",
                               words);
          },
          [](const std::string& kind) {
            return fmt::format(
                "mapfile -t COMPREPLY < <(compgen -W \"$(_muster_names {})\" -- \"$cur\"); return",
                kind);
          },
          [] { return std::string("mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return"); }) +
      "  esac\n"
      "  case \"$place\" in\n";
  for (const CommandInfo* command : flatten(root)) {
    text += fmt::format("    {}) flags='{}' words='{}' kind='{}' ;;\n", quoted(command->path),
                        fmt::join(flag_names(*command, root), " "),
                        fmt::join(words_of(*command), " "), listed_of(*command));
  }
  return text +
         "  esac\n"
         "  if [[ $cur == -* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$cur\")\n"
         "    return\n"
         "  fi\n"
         "  if [[ $kind == '*' && \" $words \" == *\" $prev \"* ]]; then\n"
         "    words=$(_muster_names \"$prev\")\n"
         "  elif [[ -n $kind && $kind != '*' ]]; then\n"
         "    words=$(_muster_names \"$kind\")\n"
         "  fi\n"
         "  if [[ -n $words ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "  fi\n"
         "}\n"
         "complete -o bashdefault -o default -F _muster muster\n";
}

std::string zsh_completion(const CommandInfo& root) {
  std::string text =
      "#compdef muster\n"
      "# zsh completion of muster; made by 'muster completion zsh'.\n"
      "_muster_names() { " +
      std::string(kListNames) +
      "; }\n"
      "_muster() {\n"
      "  local kind='' place='muster' prev=\"${words[CURRENT-1]}\" i\n"
      "  local -a flags commands choices\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"$place ${words[i]}\" in\n" +
      place_arms(root) +
      "    esac\n"
      "  done\n"
      "  case \"$place|$prev\" in\n" +
      value_arms(
          root,
          [](const std::string& words) { return fmt::format("compadd -- {}; return", words); },
          [](const std::string& kind) {
            return fmt::format("compadd -- ${{(f)\"$(_muster_names {})\"}}; return", kind);
          },
          [] { return std::string("_files; return"); }) +
      "  esac\n"
      "  case \"$place\" in\n";
  const auto item = [](const std::string& name, const std::string& description) {
    return quoted(name + ":" + first_line(description));
  };
  for (const CommandInfo* command : flatten(root)) {
    std::vector<std::string> flags;
    for (const OptionInfo& option : options_of(*command, root)) {
      if (option.positional) continue;
      for (const std::string& name : option.names) flags.push_back(item(name, option.description));
    }
    std::vector<std::string> commands;
    for (const CommandInfo& sub : command->commands)
      commands.push_back(item(sub.name, sub.description));
    std::vector<std::string> choices;
    for (const OptionInfo& option : command->options) {
      if (option.positional)
        choices.insert(choices.end(), option.choices.begin(), option.choices.end());
    }
    text += fmt::format(
        "    {})\n      flags=({})\n      commands=({})\n      choices=({})\n      kind='{}'\n     "
        " ;;\n",
        quoted(command->path), fmt::join(flags, " "), fmt::join(commands, " "),
        fmt::join(choices, " "), listed_of(*command));
  }
  return text +
         "  esac\n"
         "  if [[ $kind == '*' && ${choices[(Ie)$prev]} -gt 0 ]]; then\n"
         "    choices=(${(f)\"$(_muster_names $prev)\"})\n"
         "  elif [[ -n $kind && $kind != '*' ]]; then\n"
         "    choices=(${(f)\"$(_muster_names $kind)\"})\n"
         "  fi\n"
         "  if [[ ${words[CURRENT]} == -* ]]; then\n"
         "    _describe -o 'option' flags\n"
         "  elif (( ${#commands} )); then\n"
         "    _describe 'command' commands\n"
         "  elif (( ${#choices} )); then\n"
         "    compadd -- $choices\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "if [[ $funcstack[1] == _muster ]]; then _muster \"$@\"; else compdef _muster muster; "
         "fi\n";
}

std::string fish_completion(const CommandInfo& root) {
  std::string text =
      "# fish completion of muster; made by 'muster completion fish'.\n"
      "function __muster_names\n"
      "  muster list $argv[1] -o csv 2>/dev/null | tail -n +2 | cut -d, -f1\n"
      "end\n";
  const auto option_line = [&](const std::string& condition, const OptionInfo& option) {
    std::string line = "complete -c muster" + condition;
    for (const std::string& name : option.names) {
      line += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.listed.empty()) {
      line += fmt::format(" -x -a '(__muster_names {})'", option.listed);
    } else if (!option.choices.empty()) {
      line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
    } else if (option.takes_value) {
      line += " -r";
    }
    return line + " -d " + quoted(first_line(option.description)) + "\n";
  };
  for (const OptionInfo& option : root.options) text += option_line("", option);
  for (const CommandInfo& verb : root.commands) {
    text += fmt::format("complete -c muster -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                        quoted(first_line(verb.description)));
    const std::string condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", verb.name);
    if (const std::string kind = listed_of(verb); !kind.empty()) {
      // A name after its kind: the word before the one being typed.
      const std::string of = kind == kOfKindBefore ? "(commandline -opc)[-1]" : kind;
      text += fmt::format("complete -c muster{} -a '(__muster_names {})'\n", condition, of);
    }
    for (const std::string& word : words_of(verb)) {
      text += fmt::format("complete -c muster{} -f -a {}\n", condition, word);
    }
    for (const CommandInfo* command : flatten(verb)) {
      for (const OptionInfo& option : command->options) {
        if (!option.positional && option.names.back() != "--help")
          text += option_line(condition, option);
      }
    }
  }
  return text;
}

}  // namespace muster::cli
