#include "lint/shell_script.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

namespace muster::lint {
namespace {

constexpr int kMaxBrackets = 60;  // of brackets within brackets; deeper text counts as not complete

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

bool is_keyword(std::string_view word) {
  static constexpr std::array<std::string_view, 15> kWords = {
      "if",    "then", "elif", "else", "fi",   "do",   "done",  "while",
      "until", "!",    "{",    "}",    "time", "esac", "coproc"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

struct Heredoc {
  std::string delimiter;
  bool expands = true;
  bool strips_tabs = false;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ShellScript parse() {
    commands('\0');
    // A closing bracket that nothing opened does not end the script.
    while (at_ < text_.size()) {
      ++at_;
      commands('\0');
    }
    std::stable_sort(script_.commands.begin(), script_.commands.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    std::stable_sort(script_.expansions.begin(), script_.expansions.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    return std::move(script_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool starts(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  bool at_end() const { return at_ >= text_.size(); }

  // Commands up to the closing character, which is taken; '\0' reads to the end of the text or to a
  // bracket that is not this level's.
  void commands(char closer) {
    if (depth_ >= kMaxBrackets) {
      script_.complete = false;
      at_ = text_.size();
      return;
    }
    ++depth_;
    bool closed = closer == '\0';
    int cases = 0;
    bool pattern = false;  // the next thing is a pattern of a `case`
    ShellCommand current;
    while (!at_end()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '\\' && peek(1) == '\n') {
        at_ += 2;
      } else if (c == '#') {
        skip_comment();
      } else if (pattern && c != '\n' && !starts_word("esac")) {
        skip_pattern();
        pattern = false;
      } else if (closer != '\0' && c == closer) {
        ++at_;
        finish(current, std::string(1, closer));
        closed = true;
        break;
      } else if (c == '\n') {
        end_line(current);
      } else if (starts(";;") || starts(";&")) {
        at_ += starts(";;&") ? 3 : 2;
        finish(current, ";;");
        pattern = cases > 0;
      } else if (starts("&&") || starts("||") || starts("|&")) {
        const std::string op(text_.substr(at_, 2));
        at_ += 2;
        finish(current, op);
      } else if ((c == ';' || c == '|' || c == '&') && !starts("&>")) {
        ++at_;
        finish(current, std::string(1, c));
      } else if (c == '(') {
        open_bracket(current);
      } else if (c == ')') {
        if (closer == '\0') break;
        ++at_;  // one that nothing opened
        finish(current, ")");
      } else if (is_redirection()) {
        redirection(current, "");
      } else {
        word_of(current);
        pattern = pattern && current.keywords.empty();
        if (!current.keywords.empty() && current.keywords.back() == "esac" &&
            current.words.empty()) {
          cases = std::max(0, cases - 1);
          pattern = false;
        }
        if (current.words.size() == 3 && current.words[0].raw == "case" &&
            current.words[2].raw == "in") {
          finish(current, "");
          ++cases;
          pattern = true;
        }
      }
    }
    finish(current, "");
    script_.complete &= closed;
    --depth_;
  }

  void end_line(ShellCommand& current) {
    ++at_;
    finish(current, "\n");
    for (const Heredoc& heredoc : std::exchange(heredocs_, {})) body_of(heredoc);
  }

  void finish(ShellCommand& current, const std::string& end) {
    const bool empty = current.words.empty() && current.assignments.empty() &&
                       current.keywords.empty() && current.redirections.empty();
    if (!empty) {
      current.end = end;
      current.depth = depth_ - 1;
      script_.commands.push_back(std::move(current));
    }
    current = {};
  }

  bool starts_word(std::string_view word) const {
    return starts(word) && !is_name_character(peek(word.size()));
  }

  void skip_comment() {
    while (!at_end() && peek() != '\n') ++at_;
  }

  void skip_pattern() {
    while (!at_end() && peek() != ')') {
      const std::size_t before = at_;
      if (peek() == '(' || peek() == '|' || std::isspace(static_cast<unsigned char>(peek())))
        ++at_;
      else
        word();
      if (at_ == before) ++at_;
    }
    if (!at_end()) ++at_;
  }

  // "(" where a command may stand: a subshell, arithmetic, or the head of a function.
  void open_bracket(ShellCommand& current) {
    const bool at_start = current.words.empty() && current.assignments.empty();
    const bool loop = current.words.size() == 1 && current.words[0].raw == "for";
    if ((at_start || loop) && starts("((")) {
      const std::size_t from = at_;
      if (at_start) note_start(current);
      at_ += 2;
      ShellWord all;
      arithmetic(all);
      all.raw = std::string(text_.substr(from, at_ - from));
      all.text = all.raw;
      all.at = from;
      current.is_arithmetic = at_start;
      current.words.push_back(std::move(all));
    } else if (at_start) {
      finish(current, "(");
      ++at_;
      commands(')');
    } else if (current.words.size() == 1 && bracket_pair()) {
      current.is_function = true;
      finish(current, "()");
    } else {
      ++at_;
      finish(current, "(");
      commands(')');
    }
  }

  bool bracket_pair() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
    if (end >= text_.size() || text_[end] != ')') return false;
    at_ = end + 1;
    return true;
  }

  bool is_redirection() const {
    return starts("&>") || ((peek() == '<' || peek() == '>') && peek(1) != '(');
  }

  void redirection(ShellCommand& current, const std::string& descriptor) {
    static constexpr std::array<std::string_view, 12> kOperators = {
        "&>>", "<<<", "<<-", "&>", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"};
    note_start(current);
    std::string op;
    for (const std::string_view candidate : kOperators) {
      if (!starts(candidate)) continue;
      op = std::string(candidate);
      at_ += candidate.size();
      break;
    }
    while (peek() == ' ' || peek() == '\t') ++at_;
    Redirection made{descriptor + op, word()};
    if (op == "<<" || op == "<<-")
      heredocs_.push_back({made.target.text, !made.target.quoted, op == "<<-"});
    current.redirections.push_back(std::move(made));
  }

  void note_start(ShellCommand& current) {
    if (current.words.empty() && current.assignments.empty() && current.keywords.empty() &&
        current.redirections.empty())
      current.at = at_;
  }

  void word_of(ShellCommand& current) {
    note_start(current);
    const std::size_t before = at_;
    const bool at_start = current.words.empty();
    if (at_start && assignment(current)) return;
    ShellWord made = word();
    if (at_ == before) {  // a character that starts nothing
      ++at_;
      return;
    }
    if (is_digits(made.raw) && (peek() == '<' || peek() == '>') && peek(1) != '(') {
      redirection(current, made.raw);
      return;
    }
    if (at_start && current.assignments.empty() && is_keyword(made.raw)) {
      current.keywords.push_back(std::move(made.raw));
      return;
    }
    const bool is_test = at_start && made.raw == "[[";
    const bool is_function = at_start && made.raw == "function";
    if (!is_function) current.words.push_back(std::move(made));
    if (is_test) test(current);
    if (is_function) function(current);
  }

  void function(ShellCommand& current) {
    while (peek() == ' ' || peek() == '\t') ++at_;
    current.words.push_back(word());
    while (peek() == ' ' || peek() == '\t') ++at_;
    if (peek() == '(') bracket_pair();
    current.is_function = true;
    finish(current, "()");
  }

  // Up to "]]": operators and brackets in it are words.
  void test(ShellCommand& current) {
    while (!at_end()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\n') {
        ++at_;
      } else if (c == '\\' && peek(1) == '\n') {
        at_ += 2;
      } else {
        const std::size_t before = at_;
        ShellWord made = word();
        if (at_ == before) {
          made = {std::string(1, c), std::string(1, c), at_, false};
          ++at_;
        }
        const bool last = made.raw == "]]";
        current.words.push_back(std::move(made));
        if (last) return;
      }
    }
    script_.complete = false;
  }

  // NAME=value, NAME+=value, NAME[index]=value, NAME=(array).
  bool assignment(ShellCommand& current) {
    std::size_t end = at_;
    if (end >= text_.size() || !is_name_start(text_[end])) return false;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    const std::size_t name_end = end;
    if (end < text_.size() && text_[end] == '[') {
      while (end < text_.size() && text_[end] != ']' && text_[end] != '\n') ++end;
      if (end < text_.size() && text_[end] == ']') ++end;
    }
    if (end < text_.size() && text_[end] == '+') ++end;
    if (end >= text_.size() || text_[end] != '=') return false;
    Assignment made{std::string(text_.substr(at_, name_end - at_)), {}};
    at_ = end + 1;
    made.value = peek() == '(' ? array() : word();
    current.assignments.push_back(std::move(made));
    return true;
  }

  ShellWord array() {
    ShellWord all;
    all.at = at_;
    ++at_;
    bool closed = false;
    while (!at_end() && !closed) {
      const char c = peek();
      const std::size_t before = at_;
      if (c == ')') {
        ++at_;
        closed = true;
      } else if (c == '#') {
        skip_comment();
      } else if (c == '\\' && peek(1) == '\n') {
        at_ += 2;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else {
        const ShellWord item = word();
        if (at_ == before) ++at_;
        if (!all.text.empty()) all.text += ' ';
        all.text += item.text;
      }
    }
    script_.complete &= closed;
    all.raw = std::string(text_.substr(all.at, at_ - all.at));
    return all;
  }

  // One word; empty and without moving when none starts here.
  ShellWord word() {
    ShellWord made;
    made.at = at_;
    bool in_word = true;
    while (!at_end() && in_word) {
      const char c = peek();
      switch (c) {
        case ' ':
        case '\t':
        case '\r':
        case '\n':
        case ';':
        case '&':
        case '|':
        case ')':
          in_word = false;
          break;
        case '<':
        case '>':
          if (peek(1) == '(') {
            substitution(made, 2);
          } else {
            in_word = false;
          }
          break;
        case '(':
          // `declare -a X=(…)`, `arr+=(…)` as an argument, `@(a|b)` in patterns.
          if (at_ == made.at || text_[at_ - 1] != '=') {
            in_word = false;
          } else {
            made.text += array().text;
          }
          break;
        case '\\':
          if (peek(1) != '\n' && at_ + 1 < text_.size()) {
            made.text += peek(1);
            made.quoted = true;
          }
          at_ = std::min(at_ + 2, text_.size());
          break;
        case '\'':
          single_quotes(made);
          break;
        case '"':
          double_quotes(made);
          break;
        case '`':
          backquotes(made);
          break;
        case '$':
          dollar(made);
          break;
        default:
          made.text += c;
          ++at_;
      }
    }
    made.raw = std::string(text_.substr(made.at, at_ - made.at));
    return made;
  }

  void single_quotes(ShellWord& made) {
    const auto end = text_.find('\'', at_ + 1);
    made.quoted = true;
    if (end == std::string_view::npos) {
      script_.complete = false;
      at_ = text_.size();
      return;
    }
    made.text += text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  void double_quotes(ShellWord& made) {
    made.quoted = true;
    ++at_;
    while (!at_end() && peek() != '"') {
      const char c = peek();
      if (c == '\\' && at_ + 1 < text_.size()) {
        if (peek(1) != '\n') made.text += peek(1);
        at_ += 2;
      } else if (c == '$') {
        dollar(made);
      } else if (c == '`') {
        backquotes(made);
      } else {
        made.text += c;
        ++at_;
      }
    }
    if (at_end()) {
      script_.complete = false;
    } else {
      ++at_;
    }
  }

  void backquotes(ShellWord& made) {
    const auto end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) {
      script_.complete = false;
      at_ = text_.size();
      return;
    }
    const std::size_t from = at_;
    Parser inner(text_.substr(0, end));
    inner.at_ = at_ + 1;
    inner.depth_ = depth_;
    inner.commands('\0');
    take(inner.script_);
    at_ = end + 1;
    made.text += text_.substr(from, at_ - from);
  }

  void take(ShellScript& other) {
    std::move(other.commands.begin(), other.commands.end(), std::back_inserter(script_.commands));
    std::move(other.expansions.begin(), other.expansions.end(),
              std::back_inserter(script_.expansions));
    std::move(other.arithmetic.begin(), other.arithmetic.end(),
              std::back_inserter(script_.arithmetic));
    script_.complete &= other.complete;
  }

  void substitution(ShellWord& made, std::size_t opening) {
    const std::size_t from = at_;
    at_ += opening;
    auto waiting = std::exchange(heredocs_, {});
    commands(')');
    heredocs_ = std::move(waiting);
    made.text += text_.substr(from, at_ - from);
  }

  // At "$": an expansion, a substitution, or only a dollar sign.
  void dollar(ShellWord& made) {
    const std::size_t from = at_;
    if (starts("$((")) {
      at_ += 3;
      arithmetic(made);
      made.text += text_.substr(from, at_ - from);
    } else if (starts("$(")) {
      substitution(made, 2);
    } else if (starts("${")) {
      braces();
      made.text += text_.substr(from, at_ - from);
    } else if (starts("$'")) {
      ++at_;
      single_quotes(made);
    } else if (is_name_start(peek(1))) {
      ++at_;
      while (!at_end() && is_name_character(peek())) ++at_;
      script_.expansions.push_back(
          {std::string(text_.substr(from + 1, at_ - from - 1)), from, false, false});
      made.text += text_.substr(from, at_ - from);
    } else {
      at_ = std::min(at_ + 1, text_.size());
      made.text += '$';
    }
  }

  // "${…}".
  void braces() {
    if (++depth_ > kMaxBrackets) {
      script_.complete = false;
      at_ = text_.size();
      --depth_;
      return;
    }
    Expansion made;
    made.at = at_;
    at_ += 2;
    const bool counts = peek() == '#';
    if (counts || peek() == '!') ++at_;
    const std::size_t name_from = at_;
    if (is_name_start(peek()))
      while (!at_end() && is_name_character(peek())) ++at_;
    made.name = std::string(text_.substr(name_from, at_ - name_from));
    if (peek() == '[') {
      while (!at_end() && peek() != ']' && peek() != '\n') {
        ShellWord index;
        if (peek() == '$')
          dollar(index);
        else
          ++at_;
      }
      if (peek() == ']') ++at_;
    }
    const char op = peek() == ':' ? peek(1) : peek();
    made.guarded = !counts && (op == '-' || op == '+' || op == '?' || op == '=') && op != '\0';
    made.assigns = made.guarded && op == '=';
    ShellWord rest;
    while (!at_end() && peek() != '}') {
      const char c = peek();
      if (c == '\\') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (c == '\'') {
        single_quotes(rest);
      } else if (c == '"') {
        double_quotes(rest);
      } else if (c == '`') {
        backquotes(rest);
      } else if (c == '$') {
        dollar(rest);
      } else {
        ++at_;
      }
    }
    if (at_end()) {
      script_.complete = false;
    } else {
      ++at_;
    }
    if (!made.name.empty()) script_.expansions.push_back(std::move(made));
    --depth_;
  }

  // Behind "((" up to its "))".
  void arithmetic(ShellWord& made) {
    const std::size_t from = at_;
    int open = 0;
    while (!at_end()) {
      const char c = peek();
      if (c == ')' && open == 0 && peek(1) == ')') {
        script_.arithmetic.emplace_back(text_.substr(from, at_ - from));
        at_ += 2;
        return;
      }
      if (c == '(') ++open;
      if (c == ')') open = std::max(0, open - 1);
      if (c == '$') {
        dollar(made);
      } else {
        ++at_;
      }
    }
    script_.complete = false;
  }

  // The lines of a here-document, from the line behind the one that names it.
  void body_of(const Heredoc& heredoc) {
    while (!at_end()) {
      std::size_t end = text_.find('\n', at_);
      if (end == std::string_view::npos) end = text_.size();
      std::string_view line = text_.substr(at_, end - at_);
      if (heredoc.strips_tabs)
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == heredoc.delimiter) {
        at_ = std::min(end + 1, text_.size());
        return;
      }
      while (at_ < end) {
        ShellWord ignored;
        if (heredoc.expands && peek() == '\\') {
          at_ += 2;
        } else if (heredoc.expands && peek() == '$') {
          dollar(ignored);
        } else {
          ++at_;
        }
      }
      // An expansion may reach over the end of the line.
      at_ = std::min(std::max(at_, end) + 1, text_.size() + 1);
    }
    at_ = std::min(at_, text_.size());
    script_.complete = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Heredoc> heredocs_;
  ShellScript script_;
};

// "NAME", "NAME=value", "NAME+=value" -> NAME.
std::string name_in(const std::string& word) {
  std::size_t end = 0;
  while (end < word.size() && is_name_character(word[end])) ++end;
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
    if (!is_name_start(text[at]) || (at > 0 && is_name_character(text[at - 1]))) continue;
    std::size_t end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
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

bool is_shell_name(std::string_view word) {
  return !word.empty() && is_name_start(word[0]) &&
         std::all_of(word.begin(), word.end(), is_name_character);
}

ShellScript parse_shell(std::string_view text) {
  return Parser(text).parse();
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
