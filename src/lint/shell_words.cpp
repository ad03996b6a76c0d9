// Words: quotes, expansions, substitutions, arithmetic and arrays.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "lint/shell_parser.h"

namespace muster::lint {

ShellWord ShellParser::array() {
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

ShellWord ShellParser::word() {
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

void ShellParser::single_quotes(ShellWord& made) {
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

void ShellParser::double_quotes(ShellWord& made) {
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

void ShellParser::backquotes(ShellWord& made) {
  const auto end = text_.find('`', at_ + 1);
  if (end == std::string_view::npos) {
    script_.complete = false;
    at_ = text_.size();
    return;
  }
  const std::size_t from = at_;
  ShellParser inner(text_.substr(0, end));
  inner.at_ = at_ + 1;
  inner.depth_ = depth_;
  inner.commands('\0');
  take(inner.script_);
  at_ = end + 1;
  made.text += text_.substr(from, at_ - from);
}

void ShellParser::take(ShellScript& other) {
  std::move(other.commands.begin(), other.commands.end(), std::back_inserter(script_.commands));
  std::move(other.expansions.begin(), other.expansions.end(),
            std::back_inserter(script_.expansions));
  std::move(other.arithmetic.begin(), other.arithmetic.end(),
            std::back_inserter(script_.arithmetic));
  script_.complete &= other.complete;
}

void ShellParser::substitution(ShellWord& made, std::size_t opening) {
  const std::size_t from = at_;
  at_ += opening;
  auto waiting = std::exchange(heredocs_, {});
  commands(')');
  heredocs_ = std::move(waiting);
  made.text += text_.substr(from, at_ - from);
}

void ShellParser::dollar(ShellWord& made) {
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
  } else if (is_shell_name_start(peek(1))) {
    ++at_;
    while (!at_end() && is_shell_name_character(peek())) ++at_;
    script_.expansions.push_back(
        {std::string(text_.substr(from + 1, at_ - from - 1)), from, false, false});
    made.text += text_.substr(from, at_ - from);
  } else {
    at_ = std::min(at_ + 1, text_.size());
    made.text += '$';
  }
}

void ShellParser::braces() {
  if (++depth_ > kMaxShellBrackets) {
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
  if (is_shell_name_start(peek()))
    while (!at_end() && is_shell_name_character(peek())) ++at_;
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

void ShellParser::arithmetic(ShellWord& made) {
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

}  // namespace muster::lint
