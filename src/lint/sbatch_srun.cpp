// Which options each srun of a script gets, wherever they are written.
#include <algorithm>

#include "lint/sbatch.h"

namespace muster::lint {
namespace {

/// Words of an array as a command has them: its text is one list, over however many lines.
std::vector<ShellWord> words_of_array(const std::string& inner, std::size_t at) {
  std::vector<ShellWord> words;
  for (const ShellCommand& command : parse_shell(inner).commands) {
    for (ShellWord word : command.words) {
      word.at += at;
      words.push_back(std::move(word));
    }
  }
  return words;
}

/// "${NAME[@]}" -> NAME; empty for another word.
std::string array_of(const std::string& text) {
  constexpr std::string_view kAll = "[@]}";
  if (!text.starts_with("${") || !text.ends_with(kAll)) return {};
  const std::string name = text.substr(2, text.size() - 2 - kAll.size());
  return is_shell_name(name) ? name : std::string();
}

/// All lists that the script gives an array, one after the other.
std::vector<ShellWord> array_words(const SbatchScript& script, const std::string& name) {
  std::vector<ShellWord> words;
  const auto add = [&](const std::string& list, std::size_t at) {
    const auto more = words_of_array(list, at);
    words.insert(words.end(), more.begin(), more.end());
  };
  for (const ShellCommand& command : script.shell.commands) {
    for (const Assignment& assignment : command.assignments) {
      if (assignment.name == name && assignment.value.raw.starts_with("("))
        add(assignment.value.raw.substr(1), assignment.value.at + 1);
    }
    if (command.words.empty() || command.words[0].text != "declare") continue;
    for (const ShellWord& word : command.words) {
      if (word.raw.starts_with(name + "=(")) {
        const std::size_t open = name.size() + 2;
        add(word.raw.substr(open), word.at + open);
      }
    }
  }
  return words;
}

}  // namespace

std::optional<std::size_t> find_srun(const ShellCommand& command) {
  for (std::size_t i = 0; i < command.words.size() && i < 6; ++i) {
    const std::string& text = command.words[i].text;
    if (text == "srun" || text.ends_with("/srun")) return i;
  }
  return std::nullopt;
}

SrunOptions srun_options(const SbatchScript& script, const ShellCommand& command, std::size_t srun,
                         const std::vector<facts::SlurmOption>& known) {
  SrunOptions all;
  std::size_t program = srun + 1;
  while (program < command.words.size()) {
    auto written = parse_slurm_words(command.words, program, known, program);
    std::move(written.begin(), written.end(), std::back_inserter(all.written));
    // "${ARGS[@]}" and "$FLAGS" may be options too: what is behind them is read as well.
    if (program >= command.words.size() || !command.words[program].text.starts_with("$")) break;
    const auto listed = array_words(script, array_of(command.words[program].text));
    std::size_t end = 0;
    auto inside = parse_slurm_words(listed, 0, known, end);
    std::move(inside.begin(), inside.end(), std::back_inserter(all.listed));
    if (end < listed.size()) break;  // the program starts in the array
    ++program;
  }
  return all;
}

}  // namespace muster::lint
