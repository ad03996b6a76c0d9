#include "lint/dockerfile.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/document.h"
#include "base/text.h"
#include "lint/shell_script.h"

namespace muster::lint {
namespace {

constexpr std::array<std::string_view, 18> kInstructions = {
    "ADD",    "ARG",   "CMD",         "COPY",  "ENTRYPOINT", "ENV",
    "EXPOSE", "FROM",  "HEALTHCHECK", "LABEL", "MAINTAINER", "ONBUILD",
    "RUN",    "SHELL", "STOPSIGNAL",  "USER",  "VOLUME",     "WORKDIR"};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string upper(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return made;
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

// A name at the start of `text`: its length, 0 when there is none.
std::size_t name_length(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return 0;
  std::size_t length = 0;
  while (length < text.size() && is_name_part(text[length])) ++length;
  return length;
}

// "$NAME…" and "${NAME…}" in a text, filled in by `value`, which gives nothing for what stays.
template <typename Value>
std::string fill(std::string_view text, const Value& value, int depth = 0) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      made += text.substr(at, 2);
      at += 2;
      continue;
    }
    if (text[at] != '$') {
      made += text[at++];
      continue;
    }
    const bool braces = at + 1 < text.size() && text[at + 1] == '{';
    const std::size_t from = at + (braces ? 2 : 1);
    const std::size_t length = name_length(text.substr(std::min(from, text.size())));
    if (length == 0) {
      made += text[at++];
      continue;
    }
    const std::string name(text.substr(from, length));
    std::size_t end = from + length;
    std::string_view modifier;
    if (braces) {
      int open = 1;
      while (end < text.size() && open > 0) {
        if (text[end] == '{') ++open;
        if (text[end] == '}') --open;
        ++end;
      }
      if (open > 0) {  // never closed
        made += text.substr(at);
        return made;
      }
      modifier = text.substr(from + length, end - 1 - from - length);
    }
    const std::optional<std::string> found = value(name);
    const bool has = found && !found->empty();
    if (modifier.substr(0, 2) == ":-" || modifier.substr(0, 1) == "-") {
      const auto rest = modifier.substr(modifier[0] == ':' ? 2 : 1);
      made += has ? *found : depth < 8 ? fill(rest, value, depth + 1) : std::string(rest);
    } else if (modifier.substr(0, 2) == ":+" || modifier.substr(0, 1) == "+") {
      if (has) made += modifier.substr(modifier[0] == ':' ? 2 : 1);
    } else if (found && modifier.empty()) {
      made += *found;
    } else {
      made += text.substr(at, end - at);
    }
    at = end;
  }
  return made;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Dockerfile read() {
    read_directives();
    while (at_ < text_.size()) {
      const std::size_t end = line_end(at_);
      const std::size_t first = skip_blanks(at_, end);
      if (first == end || text_[first] == '#') {
        at_ = end + 1;
      } else {
        instruction(first);
      }
    }
    if (result_.stages.empty() && result_.findings.empty()) {
      wrong(0, "no FROM: this is no Dockerfile");
    }
    return std::move(result_);
  }

 private:
  std::size_t line_end(std::size_t from) const {
    return std::min(text_.find('\n', std::min(from, text_.size())), text_.size());
  }

  std::size_t skip_blanks(std::size_t from, std::size_t end) const {
    while (from < end && is_space(text_[from])) ++from;
    return from;
  }

  void wrong(std::size_t at, std::string message, std::string hint = {}) {
    result_.findings.push_back(error_at(position_at(text_, at, file_), "docker-syntax",
                                        std::move(message), std::move(hint)));
  }

  // "# escape=`" before anything else.
  void read_directives() {
    std::size_t at = 0;
    while (at < text_.size() && text_[at] == '#') {
      const std::size_t end = line_end(at);
      std::string line;
      for (const char c : text_.substr(at + 1, end - at - 1)) {
        if (!is_space(c)) line += c;
      }
      if (lower(line).rfind("escape=", 0) == 0 && line.size() == 8) escape_ = line[7];
      if (line.find('=') == std::string::npos) return;
      at = end + 1;
    }
  }

  // The logical line from `first` on, with blanks for continuations and comments; at_ goes behind.
  std::string logical_line(std::size_t first) {
    std::string line;
    std::size_t at = first;
    while (at < text_.size()) {
      const std::size_t end = line_end(at);
      const std::string_view physical = text_.substr(at, end - at);
      const std::size_t start = skip_blanks(at, end);
      const bool inner = !line.empty();
      if (inner && (start == end || text_[start] == '#')) {
        // A comment, or (as builders still allow) an empty line within a continuation.
        line.append(physical.size() + (end < text_.size() ? 1 : 0), ' ');
        at = end + 1;
        continue;
      }
      std::size_t last = physical.size();
      while (last > 0 && is_space(physical[last - 1])) --last;
      const bool continues = last > 0 && physical[last - 1] == escape_ && end < text_.size();
      line += continues ? physical.substr(0, last - 1) : physical;
      at = end + 1;
      if (!continues) break;
      line.append(physical.size() - last + 2, ' ');
    }
    at_ = std::min(at, text_.size());
    return line;
  }

  void instruction(std::size_t first) {
    const std::string line = logical_line(first);
    DockerInstruction made;
    made.at = first;
    split(line, first, made);
    if (made.name == "ONBUILD") {
      made.parent = "ONBUILD";
      const std::string inner = made.body;
      const std::size_t inner_at = made.body_at;
      made.flags.clear();
      split(inner, inner_at, made);
    }
    if (std::find(kInstructions.begin(), kInstructions.end(), made.name) == kInstructions.end()) {
      std::vector<std::string> names(kInstructions.begin(), kInstructions.end());
      const auto meant = did_you_mean(made.name, names);
      wrong(first, fmt::format("unknown instruction {}", made.name.substr(0, 40)),
            meant ? fmt::format("did you mean {}?", *meant) : std::string());
      return;
    }
    if (made.name == "RUN" || made.name == "COPY" || made.name == "ADD") read_heredocs(made);
    if (made.name == "FROM") {
      from(made);
    } else {
      made.stage = static_cast<int>(result_.stages.size()) - 1;
      if (made.stage < 0 && made.name != "ARG")
        wrong(first, fmt::format("{} stands before the first FROM", made.name));
    }
    read_list(made);
    if (made.name == "ARG" || made.name == "ENV") variables(made);
    result_.instructions.push_back(std::move(made));
  }

  // Name, flags and body.
  static void split(const std::string& line, std::size_t offset, DockerInstruction& made) {
    std::size_t at = 0;
    while (at < line.size() && !is_space(line[at])) ++at;
    made.name = upper(std::string_view(line).substr(0, at));
    while (true) {
      while (at < line.size() && is_space(line[at])) ++at;
      if (line.compare(at, 2, "--") != 0) break;
      std::size_t end = at;
      while (end < line.size() && !is_space(line[end])) ++end;
      const std::string flag = line.substr(at + 2, end - at - 2);
      const auto equals = flag.find('=');
      made.flags[flag.substr(0, equals)] =
          equals == std::string::npos ? std::string() : flag.substr(equals + 1);
      at = end;
    }
    made.body = line.substr(std::min(at, line.size()));
    while (!made.body.empty() && is_space(made.body.back())) made.body.pop_back();
    made.body_at = offset + at;
  }

  // "<<NAME" among the words; the texts follow the logical line in order.
  void read_heredocs(DockerInstruction& made) {
    const std::string& body = made.body;
    char quote = '\0';
    for (std::size_t i = 0; i + 1 < body.size(); ++i) {
      if (quote != '\0') {
        if (body[i] == quote) quote = '\0';
        continue;
      }
      if (body[i] == '"' || body[i] == '\'') quote = body[i];
      if (body.compare(i, 2, "<<") != 0 || body.compare(i, 3, "<<<") == 0) {
        if (body.compare(i, 3, "<<<") == 0) i += 2;
        continue;
      }
      std::size_t at = i + 2;
      const bool strips = at < body.size() && body[at] == '-';
      if (strips) ++at;
      const char mark = at < body.size() && (body[at] == '"' || body[at] == '\'') ? body[at] : '\0';
      if (mark != '\0') ++at;
      const std::size_t length = name_length(std::string_view(body).substr(at));
      if (length == 0) continue;
      heredoc(made, body.substr(at, length), mark == '\0', strips);
      i = at + length;
    }
  }

  void heredoc(DockerInstruction& made, std::string name, bool expands, bool strips) {
    DockerHeredoc heredoc{std::move(name), expands, {}, at_};
    bool closed = false;
    while (at_ < text_.size() && !closed) {
      const std::size_t end = line_end(at_);
      std::string_view line = text_.substr(at_, end - at_);
      if (strips) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      closed = line == heredoc.name;
      if (!closed) heredoc.text = std::string(text_.substr(heredoc.at, end + 1 - heredoc.at));
      at_ = std::min(end + 1, text_.size());
    }
    if (!closed) wrong(made.at, fmt::format("here-document {} is never closed", heredoc.name));
    made.heredocs.push_back(std::move(heredoc));
  }

  static void read_list(DockerInstruction& made) {
    if (made.body.empty() || made.body[0] != '[') return;
    const auto parsed = parse_json(made.body, "");
    if (!parsed || !parsed->is_sequence()) return;  // then it is the shell form
    std::vector<std::string> items;
    for (const Node& item : parsed->items()) {
      if (!item.is_scalar() || !item.quoted()) return;
      items.push_back(item.text());
    }
    made.list = std::move(items);
  }

  void from(DockerInstruction& made) {
    const auto words = words_of(made);
    DockerStage stage;
    if (words.empty()) {
      wrong(made.at, "FROM without an image");
      return;
    }
    stage.written = words[0].text;
    stage.at = words[0].at;
    made.stage = -1;
    stage.image = fill(stage.written, [&](const std::string& name) {
      auto value = result_.value_of(name, made);
      if (!value) stage.unset.push_back(name);
      return value;
    });
    if (words.size() >= 3 && lower(words[1].text) == "as") {
      stage.name = lower(words[2].text);
    } else if (words.size() != 1) {
      wrong(words[1].at, "FROM takes an image, and a name behind AS", "FROM image AS name");
    }
    result_.stages.push_back(std::move(stage));
    made.stage = static_cast<int>(result_.stages.size()) - 1;
  }

  void variables(const DockerInstruction& made) {
    const auto words = words_of(made);
    const bool is_arg = made.name == "ARG";
    // `ENV NAME all the rest`.
    if (!is_arg && words.size() > 1 && words[0].text.find('=') == std::string::npos) {
      const std::size_t start = made.body.find_first_of(" \t");
      const std::size_t value = made.body.find_first_not_of(" \t", start);
      result_.variables.push_back(
          {words[0].text, result_.expand(made.body.substr(std::min(value, made.body.size())), made),
           words[0].at, false, made.stage});
      return;
    }
    for (const DockerWord& word : words) {
      const auto equals = word.text.find('=');
      DockerVariable variable{word.text.substr(0, equals), std::nullopt, word.at, is_arg,
                              made.stage};
      if (equals != std::string::npos) {
        variable.value = result_.expand(word.text.substr(equals + 1), made);
      } else if (is_arg && made.stage >= 0) {
        variable.value = global(variable.name);  // an argument from before the first FROM
      } else if (!is_arg) {
        wrong(word.at, fmt::format("ENV {} without a value", variable.name), "NAME=value");
      }
      result_.variables.push_back(std::move(variable));
    }
  }

  std::optional<std::string> global(const std::string& name) const {
    for (const DockerVariable& variable : result_.variables) {
      if (variable.stage < 0 && variable.name == name && variable.value) return variable.value;
    }
    return std::nullopt;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  char escape_ = '\\';
  Dockerfile result_;
};

}  // namespace

std::vector<DockerWord> words_of(const DockerInstruction& instruction) {
  std::vector<DockerWord> words;
  if (instruction.list) {
    for (const std::string& item : *instruction.list) words.push_back({item, instruction.body_at});
    return words;
  }
  const std::string& body = instruction.body;
  std::size_t at = 0;
  while (at < body.size()) {
    if (is_space(body[at])) {
      ++at;
      continue;
    }
    DockerWord word{{}, instruction.body_at + at};
    char quote = '\0';
    while (at < body.size() && (quote != '\0' || !is_space(body[at]))) {
      const char c = body[at];
      if (c == '\\' && quote != '\'' && at + 1 < body.size()) {
        if (body[at + 1] == '$') word.text += c;  // not an expansion
        word.text += body[++at];
      } else if (quote != '\0' && c == quote) {
        quote = '\0';
      } else if (quote == '\0' && (c == '"' || c == '\'')) {
        quote = c;
      } else {
        word.text += c;
      }
      ++at;
    }
    words.push_back(std::move(word));
  }
  return words;
}

std::optional<std::string> Dockerfile::value_of(const std::string& name,
                                                const DockerInstruction& at) const {
  // The last one before it in its stage (of FROM: before the first stage); ENV wins over ARG.
  const DockerVariable* arg = nullptr;
  const DockerVariable* env = nullptr;
  for (const DockerVariable& variable : variables) {
    if (variable.name != name || variable.stage != at.stage || variable.at >= at.at) continue;
    (variable.is_arg ? arg : env) = &variable;
  }
  if (env) return env->value;
  if (arg) return arg->value;
  // What the stage is built from hands on its ENV, and no ARG.
  for (int stage = parent_of(at.stage); stage >= 0; stage = parent_of(stage)) {
    for (auto variable = variables.rbegin(); variable != variables.rend(); ++variable) {
      if (variable->name == name && variable->stage == stage && !variable->is_arg)
        return variable->value;
    }
  }
  return std::nullopt;
}

int Dockerfile::parent_of(int stage) const {
  if (stage < 0) return -1;
  const std::string base = lower(stages[static_cast<std::size_t>(stage)].image);
  int parent = stage - 1;
  while (parent >= 0 && stages[static_cast<std::size_t>(parent)].name != base) --parent;
  return parent;
}

std::string Dockerfile::expand(std::string_view text, const DockerInstruction& at) const {
  return fill(text, [&](const std::string& name) { return value_of(name, at); });
}

bool Dockerfile::is_stage(const std::string& image, std::size_t before) const {
  const std::string name = lower(image);
  for (std::size_t i = 0; i < before && i < stages.size(); ++i) {
    if (stages[i].name == name || std::to_string(i) == name) return true;
  }
  return false;
}

Dockerfile parse_dockerfile(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace muster::lint
