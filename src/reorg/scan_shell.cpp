// The small context machines of scripts and fences: clones and where they lie, the working
// directory, variables that hold the script's own place.
#include <algorithm>

#include "reorg/characters.h"
#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {
namespace {

/// The "/.." and "/name" parts that a value goes on with from `at`.
std::string_view path_from(std::string_view value, std::size_t at) {
  std::size_t end = at;
  while (end < value.size() && (is_path_character(value[end]) && value[end] != '*')) ++end;
  return value.substr(at, end - at);
}

}  // namespace

void Scan::working_directory(const std::optional<Base>& place) {
  if (word_ == Word::kCd) cwd_ = place;
}

void Scan::working_directories() {
  constexpr std::string_view kKey = "working-directory:";
  for (std::size_t at = content_.find(kKey); at != std::string_view::npos;
       at = content_.find(kKey, at + 1)) {
    const std::size_t begin = at + kKey.size();
    std::string_view value = content_.substr(begin, content_.find('\n', begin) - begin);
    const auto is_around = [](char c) { return c == ' ' || c == '"' || c == '\'' || c == '\r'; };
    while (!value.empty() && is_around(value.front())) value.remove_prefix(1);
    while (!value.empty() && is_around(value.back())) value.remove_suffix(1);
    const auto found = value.empty() ? std::nullopt : resolve_under(root_, value);
    if (!found || !found->target.entry.directory || !found->target.after) continue;
    const std::string& place = found->target.before;
    const bool known = std::any_of(working_directories_.begin(), working_directories_.end(),
                                   [&](const Base& each) { return each.before == place; });
    if (!known) working_directories_.push_back(world_.directory(file_.side, place));
  }
}

bool Scan::from_working_directory(Span span, std::string_view text) {
  for (const Base& base : working_directories_) {
    const auto found = resolve_under(base, text);
    if (!found) continue;
    // Which command runs where is only clear when there is one place.
    const bool clear = working_directories_.size() == 1;
    resolved(span, text, *found, clear ? Confidence::kLikely : Confidence::kUnsure);
    return true;
  }
  return false;
}

void Scan::command_word(std::string_view word) {
  switch (word_) {
    case Word::kNone:
      if (word == "git") word_ = Word::kGit;
      if (word == "cd" || word == "pushd") word_ = Word::kCd;
      return;
    case Word::kGit:
      word_ = word == "clone" ? Word::kClone : Word::kNone;
      return;
    case Word::kBranch:
      word_ = Word::kClone;
      pinned_line_ = std::find(world_.names(0).branches.begin(), world_.names(0).branches.end(),
                               word) == world_.names(0).branches.end();
      return;
    case Word::kClone:
      if (word == "-b" || word == "--branch") word_ = Word::kBranch;
      if (word.find("github.com") != std::string_view::npos)
        word_ = cloning_ ? Word::kCloned : Word::kNone;
      if (word.empty()) word_ = Word::kNone;
      return;
    case Word::kCloned:
      if (cloning_ && !word.empty()) {
        clones_[std::string(word)] = {*cloning_, pinned_line_};
      } else if (cloning_ && pinned_line_) {
        for (const std::string& name : world_.names(*cloning_).names)
          clones_[std::string(name_of(name))] = {*cloning_, true};
      }
      word_ = Word::kNone;
      return;
    case Word::kCd:
      if (word.empty()) {
        cwd_.reset();
        word_ = Word::kNone;
      }
      return;
  }
}

std::optional<Base> Scan::variable_place(std::string_view value) const {
  constexpr std::size_t kNone = std::string_view::npos;
  const bool own =
      value.find("$0") != kNone || value.find("${0") != kNone || value.find("BASH_SOURCE") != kNone;
  const auto at = [&](const Base& base, std::string_view path) -> std::optional<Base> {
    while (!path.empty() && path.front() == '/') path.remove_prefix(1);
    const auto place = resolve(base.before, path);
    if (place.above > 0) return std::nullopt;
    const auto target = world_.target(base.side, place.path);
    if (!target || !target->entry.directory) return std::nullopt;
    return world_.directory(base.side, place.path);
  };
  if (value.find("rev-parse --show-toplevel") != kNone) return world_.root(file_.side);
  const std::size_t dirname = value.rfind("dirname");
  if (dirname != kNone && own) {
    // Each further dirname goes one level up.
    std::string ups;
    for (std::size_t i = value.find("dirname"); i != dirname; i = value.find("dirname", i + 1))
      ups += "../";
    const std::size_t climb = value.find("/..", dirname);
    if (climb != kNone) ups += path_from(value, climb).substr(1);
    if (ups.empty()) return directory_;
    return at(directory_, ups);
  }
  const std::size_t dollar = value.find(
      '$', value.rfind("$(cd", 0) == 0 || value.find("$(cd") != kNone ? value.find("$(cd") + 1 : 0);
  if (dollar == kNone) return std::nullopt;
  std::size_t name = dollar + 1;
  const bool braces = name < value.size() && value[name] == '{';
  if (braces) ++name;
  std::size_t end = name;
  while (end < value.size() && is_name_character(value[end])) ++end;
  const auto known = variables_.find(value.substr(name, end - name));
  if (known == variables_.end()) return std::nullopt;
  if (braces && end < value.size() && value[end] == '}') ++end;
  if (end < value.size() && value[end] == '"' && end + 1 < value.size() && value[end + 1] == '/')
    ++end;
  return at(known->second, path_from(value, end));
}

void Scan::variables(std::size_t begin, std::size_t end) {
  std::string_view text = content_.substr(begin, end - begin);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return;
  std::size_t from = equals;
  while (from > 0 && is_name_character(text[from - 1])) --from;
  if (from == equals || (from > 0 && text[from - 1] != ' ' && text[from - 1] != '\t')) return;
  const std::string name(text.substr(from, equals - from));
  if (const auto place = variable_place(text.substr(equals + 1))) {
    variables_[name] = *place;
  } else {
    variables_.erase(name);
  }
}

void Scan::settle_clones() {
  // A clone of a merged repository and the paths in it change together or not at all.
  if (!clone_lost_) return;
  for (const std::size_t index : clone_edits_) {
    if (!out_[index].replacement) continue;
    out_[index].confidence = Confidence::kUnsure;
    out_[index].reason = "another path in this clone does not resolve: they change together";
  }
}

}  // namespace muster::reorg
