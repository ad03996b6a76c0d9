// A shell script as commands, words and expansions with their places: as much of the POSIX and bash
// grammar as judging job scripts and Dockerfiles takes. Nothing is run or expanded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::lint {

/// A word. Offsets are into the text that was parsed.
struct ShellWord {
  std::string raw;     ///< as written
  std::string text;    ///< without its quotes; expansions stay as they are written
  std::size_t at = 0;  ///< where it starts
  bool quoted = false;

  bool operator==(const ShellWord&) const = default;
};

/// `$NAME` or `${NAME…}` outside of single quotes, not escaped.
struct Expansion {
  std::string name;  ///< a name; digits and special parameters ($1, $@, $?) are left out
  std::size_t at = 0;
  /// What stands in for a value that is not set: "${X:-y}", "${X:?why}", "${X+y}". A test for
  /// emptiness counts as well.
  bool guarded = false;
  bool assigns = false;  ///< "${X:=y}"
};

struct Redirection {
  std::string op;  ///< "<", ">>", "<<", …
  ShellWord target;
};

struct Assignment {
  std::string name;
  ShellWord value;  ///< of an array, its words as written
};

struct ShellCommand {
  std::vector<std::string> keywords;  ///< reserved words before it: if, while, do, done, {, …
  std::vector<Assignment> assignments;
  std::vector<ShellWord> words;
  std::vector<Redirection> redirections;
  std::string end;     ///< the operator that ends it: newline, ";", "&&", "||", "|", "&", ")" or ""
  std::size_t at = 0;  ///< where its first word or keyword starts
  int depth = 0;       ///< substitutions and subshells around it
  bool is_function = false;    ///< `name()`: the definition's head
  bool is_arithmetic = false;  ///< `((…))`: its text is the only word
};

struct ShellScript {
  std::vector<ShellCommand> commands;  ///< in the order of their places, also those in "$(…)"
  std::vector<Expansion> expansions;   ///< in the order of their places
  /// Texts between "((" and "))" or of `let`, where names stand without a dollar sign.
  std::vector<std::string> arithmetic;
  bool complete = true;  ///< false: a quote, bracket or here-document is never closed
};

ShellScript parse_shell(std::string_view text);

/// Whether the word is a shell variable's name.
bool is_shell_name(std::string_view word);

/// Names that the script gives a value to: assignments, export and declare, read, for, getopts,
/// mapfile, printf -v, "${X:=…}", arithmetic. Sorted.
std::vector<std::string> assigned_names(const ShellScript& script);

}  // namespace muster::lint
