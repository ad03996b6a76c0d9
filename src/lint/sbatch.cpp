#include "lint/sbatch.h"

#include <algorithm>
#include <cctype>

namespace muster::lint {
namespace {

constexpr std::string_view kMagic = "#SBATCH";

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// The words of a directive's line, with sbatch's own rules: quotes group, "#" starts a comment.
std::vector<ShellWord> directive_words(std::string_view text, std::size_t from, std::size_t end) {
  std::vector<ShellWord> words;
  std::size_t at = from;
  while (at < end) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    if (text[at] == '#') break;
    ShellWord word;
    word.at = at;
    char quote = '\0';
    while (at < end && (quote != '\0' || !is_blank(text[at]))) {
      const char c = text[at];
      if (quote != '\0' && c == quote) {
        quote = '\0';
      } else if (quote == '\0' && (c == '"' || c == '\'')) {
        quote = c;
        word.quoted = true;
      } else {
        word.text += c;
      }
      ++at;
    }
    word.raw = std::string(text.substr(word.at, at - word.at));
    words.push_back(std::move(word));
  }
  return words;
}

using Known = std::vector<facts::SlurmOption>;
using Value = facts::SlurmOption::Value;

// "--name=value", "--name value"; getopt also takes a prefix that only one option has.
SbatchOption long_option(const std::vector<ShellWord>& words, std::size_t& at, const Known& known) {
  const ShellWord& word = words[at];
  const auto equals = word.text.find('=');
  SbatchOption option;
  option.at = word.at;
  option.written = word.text.substr(0, equals);
  option.name = option.written.substr(2);
  option.has_value = equals != std::string::npos;
  if (option.has_value) option.value = word.text.substr(equals + 1);
  const facts::SlurmOption* found = facts::find_option(known, option.name);
  if (!found) {
    const auto begins = [&](const facts::SlurmOption& o) {
      return !option.name.empty() && o.name.rfind(option.name, 0) == 0;
    };
    if (std::count_if(known.begin(), known.end(), begins) == 1)
      found = &*std::find_if(known.begin(), known.end(), begins);
  }
  if (!found) return option;
  option.is_known = true;
  option.name = found->name;
  option.refuses_value = found->value == Value::kNone && option.has_value;
  if (found->value == Value::kRequired && !option.has_value) {
    option.has_value = at + 1 < words.size();
    option.wants_value = !option.has_value;
    if (option.has_value) option.value = words[++at].text;
  }
  return option;
}

// "-N4", "-N 4", "-lu": short options in one word, the last of which may take a value.
void short_options(const std::vector<ShellWord>& words, std::size_t& at, const Known& known,
                   std::vector<SbatchOption>& options) {
  const ShellWord& word = words[at];
  for (std::size_t i = 1; i < word.text.size(); ++i) {
    SbatchOption option;
    option.at = word.at;
    option.written = std::string("-") + word.text[i];
    option.name = option.written;
    const facts::SlurmOption* found = facts::find_option(known, word.text[i]);
    if (!found) {
      options.push_back(std::move(option));
      return;
    }
    option.is_known = true;
    option.name = found->name;
    const std::string rest = word.text.substr(i + 1);
    if (found->value == Value::kRequired) {
      option.has_value = !rest.empty() || at + 1 < words.size();
      option.wants_value = !option.has_value;
      if (option.has_value) option.value = !rest.empty() ? rest : words[++at].text;
      options.push_back(std::move(option));
      return;
    }
    if (found->value == Value::kOptional && !rest.empty()) {
      option.has_value = true;
      option.value = rest;
      options.push_back(std::move(option));
      return;
    }
    options.push_back(std::move(option));
  }
}

bool is_command_line(std::string_view line) {
  const auto first = std::find_if_not(line.begin(), line.end(), is_blank);
  return first != line.end() && *first != '#';
}

// A comment that looks like a directive and is none.
bool is_misspelt(std::string_view line) {
  std::string plain;
  for (const char c : line.substr(0, 24)) {
    if (!is_blank(c)) plain += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return plain.rfind("#SBATCH-", 0) == 0;
}

}  // namespace

const SbatchOption* SbatchScript::find(std::string_view name) const {
  const auto found = std::find_if(options.rbegin(), options.rend(),
                                  [&](const SbatchOption& option) { return option.name == name; });
  return found == options.rend() ? nullptr : &*found;
}

bool has_sbatch_directives(std::string_view text) {
  return text.substr(0, kMagic.size()) == kMagic ||
         text.find("\n#SBATCH") != std::string_view::npos;
}

std::vector<SbatchOption> parse_slurm_words(const std::vector<ShellWord>& words, std::size_t first,
                                            const Known& known, std::size_t& program) {
  std::vector<SbatchOption> options;
  std::size_t at = first;
  for (; at < words.size(); ++at) {
    const std::string& text = words[at].text;
    if (text == "--") {
      ++at;
      break;
    }
    if (text.size() > 2 && text.compare(0, 2, "--") == 0) {
      options.push_back(long_option(words, at, known));
    } else if (text.size() > 1 && text[0] == '-') {
      short_options(words, at, known, options);
    } else {
      break;
    }
  }
  program = std::min(at, words.size());
  return options;
}

SbatchScript parse_sbatch(std::string_view text, const facts::SlurmOptions& known) {
  SbatchScript script;
  script.has_interpreter = text.substr(0, 2) == "#!";
  script.first_command = text.size();
  bool reading = true;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = text.substr(at, end - at);
    if (line.substr(0, kMagic.size()) == kMagic) {
      if (reading) {
        const auto words = directive_words(text, at + kMagic.size(), end);
        std::size_t program = 0;
        auto options = parse_slurm_words(words, 0, known.sbatch, program);
        std::move(options.begin(), options.end(), std::back_inserter(script.options));
        // A word that is no option ends what sbatch reads of the line.
        if (program < words.size()) {
          SbatchOption stray;
          stray.written = stray.name = words[program].text;
          stray.at = words[program].at;
          script.options.push_back(std::move(stray));
        }
      } else {
        script.late.push_back(at);
      }
    } else if (is_misspelt(line)) {
      script.misspelt.push_back(at);
    } else if (reading && is_command_line(line)) {
      reading = false;
      script.first_command = at;
    }
    at = end + 1;
  }
  script.shell = parse_shell(text);
  return script;
}

}  // namespace muster::lint
