// Commands: words, assignments, redirections and here-documents between the operators of the shell.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "lint/shell_parser.h"

namespace muster::lint {
namespace {

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

}  // namespace

ShellScript ShellParser::parse() {
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

void ShellParser::commands(char closer) {
  if (depth_ >= kMaxShellBrackets) {
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
      if (!current.keywords.empty() && current.keywords.back() == "esac" && current.words.empty()) {
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

void ShellParser::end_line(ShellCommand& current) {
  ++at_;
  finish(current, "\n");
  for (const Heredoc& heredoc : std::exchange(heredocs_, {})) body_of(heredoc);
}

void ShellParser::finish(ShellCommand& current, const std::string& end) {
  const bool empty = current.words.empty() && current.assignments.empty() &&
                     current.keywords.empty() && current.redirections.empty();
  if (!empty) {
    current.end = end;
    current.depth = depth_ - 1;
    script_.commands.push_back(std::move(current));
  }
  current = {};
}

void ShellParser::skip_comment() {
  while (!at_end() && peek() != '\n') ++at_;
}

void ShellParser::skip_pattern() {
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

void ShellParser::open_bracket(ShellCommand& current) {
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

bool ShellParser::bracket_pair() {
  std::size_t end = at_ + 1;
  while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
  if (end >= text_.size() || text_[end] != ')') return false;
  at_ = end + 1;
  return true;
}

bool ShellParser::is_redirection() const {
  return starts("&>") || ((peek() == '<' || peek() == '>') && peek(1) != '(');
}

void ShellParser::redirection(ShellCommand& current, const std::string& descriptor) {
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

void ShellParser::note_start(ShellCommand& current) {
  if (current.words.empty() && current.assignments.empty() && current.keywords.empty() &&
      current.redirections.empty())
    current.at = at_;
}

void ShellParser::word_of(ShellCommand& current) {
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

void ShellParser::function(ShellCommand& current) {
  while (peek() == ' ' || peek() == '\t') ++at_;
  current.words.push_back(word());
  while (peek() == ' ' || peek() == '\t') ++at_;
  if (peek() == '(') bracket_pair();
  current.is_function = true;
  finish(current, "()");
}

void ShellParser::test(ShellCommand& current) {
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

bool ShellParser::assignment(ShellCommand& current) {
  std::size_t end = at_;
  if (end >= text_.size() || !is_shell_name_start(text_[end])) return false;
  while (end < text_.size() && is_shell_name_character(text_[end])) ++end;
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

void ShellParser::body_of(const Heredoc& heredoc) {
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

}  // namespace muster::lint
