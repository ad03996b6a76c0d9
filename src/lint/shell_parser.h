// The parser behind parse_shell(): recursive descent over the text. How commands are made of words
// stands in shell_commands.cpp, the words in shell_words.cpp. Text that breaks off or is wrong
// clears `complete` and never stops it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lint/shell_script.h"

namespace muster::lint {

/// Of brackets within brackets; deeper text counts as not complete.
inline constexpr int kMaxShellBrackets = 60;

bool is_shell_name_start(char c);
bool is_shell_name_character(char c);

class ShellParser {
 public:
  explicit ShellParser(std::string_view text) : text_(text) {}

  ShellScript parse();

 private:
  struct Heredoc {
    std::string delimiter;
    bool expands = true;
    bool strips_tabs = false;
  };

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool starts(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  bool at_end() const { return at_ >= text_.size(); }
  bool starts_word(std::string_view word) const {
    return starts(word) && !is_shell_name_character(peek(word.size()));
  }

  // Commands (shell_commands.cpp).

  // Commands up to the closing character, which is taken; '\0' reads to the end of the text or to a
  // bracket that is not this level's.
  void commands(char closer);
  void end_line(ShellCommand& current);
  void finish(ShellCommand& current, const std::string& end);
  void skip_comment();
  void skip_pattern();
  // "(" where a command may stand: a subshell, arithmetic, or the head of a function.
  void open_bracket(ShellCommand& current);
  bool bracket_pair();
  bool is_redirection() const;
  void redirection(ShellCommand& current, const std::string& descriptor);
  void note_start(ShellCommand& current);
  void word_of(ShellCommand& current);
  void function(ShellCommand& current);
  // Up to "]]": operators and brackets in it are words.
  void test(ShellCommand& current);
  // NAME=value, NAME+=value, NAME[index]=value, NAME=(array).
  bool assignment(ShellCommand& current);
  // The lines of a here-document, from the line behind the one that names it.
  void body_of(const Heredoc& heredoc);

  // Words (shell_words.cpp).

  ShellWord array();
  // One word; empty and without moving when none starts here.
  ShellWord word();
  void single_quotes(ShellWord& made);
  void double_quotes(ShellWord& made);
  void backquotes(ShellWord& made);
  void take(ShellScript& other);
  void substitution(ShellWord& made, std::size_t opening);
  // At "$": an expansion, a substitution, or only a dollar sign.
  void dollar(ShellWord& made);
  // "${…}".
  void braces();
  // Behind "((" up to its "))".
  void arithmetic(ShellWord& made);

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Heredoc> heredocs_;
  ShellScript script_;
};

}  // namespace muster::lint
