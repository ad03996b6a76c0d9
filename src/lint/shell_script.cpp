#include "lint/shell_script.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "lint/shell_parser.h"

namespace muster::lint {
namespace {

// "NAME", "NAME=value", "NAME+=value" -> NAME.
std::string name_in(const std::string& word) {
  std::size_t end = 0;
  while (end < word.size() && is_shell_name_character(word[end])) ++end;
  const std::string name = word.substr(0, end);
  const bool ends =
      end == word.size() || word[end] == '=' || word[end] == '[' || word.compare(end, 2, "+=") == 0;
  return ends && is_shell_name(name) ? name : std::string();
}

void add_assigned(const ShellCommand& command, std::set<std::string>& names) {
  for (const Assignment& assignment : command.assignments) names.insert(assignment.name);
  if (command.words.empty()) return;
  const std::string& program = command.words[0].text;
  const auto& words = command.words;
  if (program == "export" || program == "declare" || program == "local" || program == "readonly" ||
      program == "typeset") {
    // `export NAME` alone gives it no value.
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string name = name_in(words[i].text);
      if (!name.empty() && (words[i].text != name || program != "export")) names.insert(name);
    }
  } else if (program == "read" || program == "mapfile" || program == "readarray" ||
             program == "getopts" || program == "unset") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (const std::string name = name_in(words[i].text); name == words[i].text && !name.empty())
        names.insert(name);
    }
  } else if ((program == "for" || program == "select") && words.size() > 1) {
    if (is_shell_name(words[1].text)) names.insert(words[1].text);
  } else if (program == "printf" && words.size() > 2 && words[1].text == "-v") {
    names.insert(words[2].text);
  }
}

// Names in front of "=", "+=", "++" and "--" of an arithmetic text.
void add_counted(const std::string& text, std::set<std::string>& names) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_shell_name_start(text[at]) || (at > 0 && is_shell_name_character(text[at - 1])))
      continue;
    std::size_t end = at;
    while (end < text.size() && is_shell_name_character(text[end])) ++end;
    std::size_t op = text.find_first_not_of(" \t", end);
    if (op == std::string::npos) op = text.size();
    const std::string next = text.substr(op, 2);
    const bool sets = (next.size() > 0 && next[0] == '=' && next != "==") || next == "++" ||
                      next == "--" || next == "+=" || next == "-=" || next == "*=";
    const bool before =
        at >= 2 && (text.compare(at - 2, 2, "++") == 0 || text.compare(at - 2, 2, "--") == 0);
    if (sets || before) names.insert(text.substr(at, end - at));
    at = end - 1;
  }
}
}  // namespace

bool is_shell_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool is_shell_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_shell_name(std::string_view word) {
  return !word.empty() && is_shell_name_start(word[0]) &&
         std::all_of(word.begin(), word.end(), is_shell_name_character);
}

ShellScript parse_shell(std::string_view text) {
  return ShellParser(text).parse();
}

std::vector<std::string> assigned_names(const ShellScript& script) {
  std::set<std::string> names;
  for (const ShellCommand& command : script.commands) {
    add_assigned(command, names);
    if (!command.words.empty() && command.words[0].text == "let") {
      for (const ShellWord& word : command.words) add_counted(word.text, names);
    }
  }
  for (const Expansion& expansion : script.expansions) {
    if (expansion.assigns) names.insert(expansion.name);
  }
  for (const std::string& text : script.arithmetic) add_counted(text, names);
  return {names.begin(), names.end()};
}

}  // namespace muster::lint
