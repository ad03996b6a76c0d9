// Files of patterns: ignore rules, attributes, owners, submodules.
#include <algorithm>

#include <fmt/format.h>

#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {

void Scan::pattern_lines() {
  for (std::size_t begin = 0; begin < content_.size();) {
    const std::size_t end = std::min(content_.find('\n', begin), content_.size());
    std::size_t at = begin, stop = end;
    begin = end + 1;
    if (stop > at && content_[stop - 1] == '\r') --stop;
    if (kind_ == FileKind::kIgnore) {
      while (stop > at && content_[stop - 1] == ' ' &&
             (stop < at + 2 || content_[stop - 2] != '\\')) {
        --stop;
      }
      if (at < stop && content_[at] == '!') ++at;
    } else {
      while (at < stop && (content_[at] == ' ' || content_[at] == '\t')) ++at;
      std::size_t word = at;
      const bool quote = word < stop && content_[word] == '"';
      while (word < stop && (quote ? word == at || content_[word] != '"'
                                   : content_[word] != ' ' && content_[word] != '\t')) {
        word += content_[word] == '\\' && word + 1 < stop ? 2 : 1;
      }
      if (quote) ++at;
      stop = std::min(word, stop);
    }
    if (at < stop && content_[at] != '#' && content_[at] != '[')
      pattern({at, stop}, kind_ == FileKind::kOwners);
  }
}

void Scan::pattern(Span span, bool owners) {
  const std::string_view text = slice(content_, span);
  const bool rooted = text.front() == '/';
  const std::size_t glob_at = text.find_first_of("*?[");
  // The part before the first wildcard, up to a slash; of a text without one, all of it.
  std::size_t end = text.size();
  if (glob_at != std::string_view::npos) {
    const std::size_t slash = text.substr(0, glob_at).rfind('/');
    if (slash == std::string_view::npos || slash == 0) return;
    end = slash;
  }
  std::string_view fixed = text.substr(rooted ? 1 : 0, end - (rooted ? 1 : 0));
  const std::size_t inner = text.find('/');
  const bool anchored = rooted || (inner != std::string_view::npos && inner + 1 < text.size());
  const bool dockerignore =
      name_of(world_.tree(file_.side).files()[file_.file].path) == ".dockerignore";
  if (!anchored && !owners && !dockerignore) return;  // floating: holds at any depth
  const Base base = owners ? world_.root(file_.side) : directory_;
  std::string path;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] == '\\' && i + 1 < fixed.size()) ++i;
    path += fixed[i];
  }
  while (!path.empty() && path.back() == '/') path.pop_back();
  const std::string whole = joined(base.before, path);
  std::string_view existing = whole;
  const auto target = world_.longest(file_.side, existing);
  if (!target || !is_under(target->before, base.before) || target->before == base.before) return;
  if (!anchored && target->before != whole) return;
  const std::size_t depth = components(below(target->before, base.before)).size();
  // The span of as many components as exist.
  std::size_t length = 0, seen = 0;
  while (length < fixed.size() && seen < depth) {
    if (fixed[length] == '/') ++seen;
    if (seen < depth) ++length;
  }
  const std::size_t from = span.begin + (rooted ? 1 : 0);
  Reference& found = add({from, from + length}, to_string(kind_), file_.side, target->before);
  if (!target->after) {
    found.confidence = Confidence::kUnsure;
    found.reason = "its target is dropped";
    return;
  }
  if (!is_under(*target->after, base.after) || target->after->size() == base.after.size()) {
    found.confidence = Confidence::kUnsure;
    found.reason = fmt::format("{} has left the directory that these rules hold for",
                               quoted_path(target->before));
    return;
  }
  std::string fresh;
  for (const char c : below(*target->after, base.after)) {
    if (c == ' ' || c == '\\' || c == '*' || c == '?' || c == '[') fresh += '\\';
    fresh += c;
  }
  if (fresh == fixed.substr(0, length)) return;
  found.replacement = fresh;
  found.reason = target->split ? fmt::format("SPLIT: {} went to several places", target->before)
                               : "a pattern of this file's directory";
  // Patterns of one component would float without their slash.
  const bool floats = !rooted && !owners && fresh.find('/') == std::string::npos &&
                      length == fixed.size() && glob_at == std::string_view::npos;
  if (floats) found.replacement = "/" + fresh;
}

void Scan::module_lines() {
  for (std::size_t begin = 0; begin < content_.size();) {
    const std::size_t end = std::min(content_.find('\n', begin), content_.size());
    const std::string_view text = content_.substr(begin, end - begin);
    const std::size_t key = text.find_first_not_of(" \t");
    const std::size_t equals = text.find('=');
    if (key != std::string_view::npos && equals != std::string_view::npos &&
        text.substr(key, 4) == "path") {
      std::size_t from = equals + 1, to = text.size();
      while (from < to && text[from] == ' ') ++from;
      while (to > from && (text[to - 1] == '\r' || text[to - 1] == ' ')) --to;
      const auto target = world_.target(file_.side, text.substr(from, to - from));
      if (target) {
        Reference& found = add({begin + from, begin + to}, "submodule", file_.side, target->before);
        if (target->after && target->moves()) {
          found.replacement = *target->after;
          found.reason = "where a submodule lies";
        }
      }
    }
    begin = end + 1;
  }
}

}  // namespace muster::reorg
