// The words of commands and how a shell takes them.
#include <algorithm>
#include <cctype>
#include <utility>

#include "launch/shell.h"
#include "launch/variables.h"
#include "launch/workload.h"

namespace muster::launch {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

}  // namespace

std::size_t variable_length(const std::string& text, std::size_t at) {
  if (text.compare(at, 2, "${") != 0) return 0;
  std::size_t end = at + 2;
  while (end < text.size() &&
         (std::isupper(static_cast<unsigned char>(text[end])) ||
          std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '_'))
    ++end;
  const bool named = end > at + 2 && !std::isdigit(static_cast<unsigned char>(text[at + 2]));
  return named && end < text.size() && text[end] == '}' ? end + 1 - at : 0;
}

std::vector<std::string> variables_of(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = variable_length(text, at);
    if (length > 0) names.push_back(text.substr(at + 2, length - 3));
    at += std::max<std::size_t>(length, 1);
  }
  return names;
}

std::string with_variables(const std::string& text,
                           const std::map<std::string, std::string>& values) {
  std::string settled;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = variable_length(text, at);
    const auto value = length > 0 ? values.find(text.substr(at + 2, length - 3)) : values.end();
    if (value != values.end()) {
      settled += value->second;
    } else {
      settled += text.substr(at, std::max<std::size_t>(length, 1));
    }
    at += std::max<std::size_t>(length, 1);
  }
  return settled;
}

Word manifest_word(const std::string& text) {
  std::string settled = text;
  for (const auto& [reference, variable] :
       {std::pair{"${run.dir}", "${MUSTER_RUN_DIR}"}, std::pair{"${run.id}", "${MUSTER_RUN_ID}"},
        std::pair{"${checkpoint.dir}", "${MUSTER_RUN_DIR}/checkpoints"},
        std::pair{"${data.path}", "${MUSTER_DATA}"}})
    replace_all(settled, reference, variable);
  std::string quoted;
  bool shell = false;
  for (std::size_t at = 0; at < settled.size();) {
    if (const std::size_t length = variable_length(settled, at)) {
      quoted += settled.substr(at, length);
      at += length;
      shell = true;
      continue;
    }
    if (std::string("\"\\`$").find(settled[at]) != std::string::npos) quoted += '\\';
    quoted += settled[at++];
  }
  return shell ? Word{quoted, true} : Word{settled, false};
}

std::string shell_text(const Word& word) {
  return word.shell ? '"' + word.text + '"' : shell_quote(word.text);
}

std::string shell_lines(const std::vector<Word>& words, int indent) {
  std::string text;
  const std::string line = " \\\n" + std::string(static_cast<std::size_t>(indent), ' ');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool option = words[i].text.starts_with("-");
    if (i > 0) text += option ? line : " ";
    text += shell_text(words[i]);
  }
  return text;
}

bool is_literal(const std::vector<Word>& words) {
  return std::none_of(words.begin(), words.end(), [](const Word& word) { return word.shell; });
}

std::vector<Word> step_words(const catalog::Step& step) {
  std::vector<Word> words;
  words.reserve(step.command.size());
  for (const std::string& word : step.command) words.push_back(manifest_word(word));
  return words;
}

std::string object_name_of(const std::string& case_name) {
  const auto plain = [](const std::string& text) {
    std::string name;
    for (const unsigned char c : text) {
      const char lower = static_cast<char>(std::tolower(c));
      if (std::isalnum(c)) {
        name += lower;
      } else if (!name.empty() && name.back() != '-') {
        name += '-';
      }
    }
    while (!name.empty() && name.back() == '-') name.pop_back();
    return name;
  };
  constexpr std::size_t kLongest = 40;
  const auto model = case_name.rfind('/');
  const auto library = model == std::string::npos || model == 0 ? std::string::npos
                                                                : case_name.rfind('/', model - 1);
  for (const std::size_t cut : {library, model}) {
    std::string name = plain(case_name.substr(cut == std::string::npos ? 0 : cut + 1));
    if (!name.empty() && name.size() <= kLongest) return name;
  }
  return {};
}

std::string file_stem_of(const std::string& case_name) {
  return case_name.substr(case_name.rfind('/') + 1);
}

}  // namespace muster::launch
