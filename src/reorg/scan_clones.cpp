// Texts that begin with a place that was named before: a clone, a variable.
#include <algorithm>

#include <fmt/format.h>

#include "reorg/characters.h"
#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {

bool Scan::cloned(Span span, std::string_view text) {
  // What a clone was put at by this text, the longest first.
  for (auto clone = clones_.rbegin(); clone != clones_.rend(); ++clone) {
    if (!is_under(text, clone->first)) continue;
    const std::size_t from = std::min(clone->first.size() + 1, text.size());
    const std::string_view rest = text.substr(from);
    if (clone->second.pinned) return true;
    if (rest.empty()) {
      working_directory(world_.root(clone->second.side));
      return true;
    }
    const Base root = world_.root(clone->second.side);
    auto found = resolve_under(root, rest);
    if (!found) found = resolve_partly(root, rest, true);
    if (!found) {
      clone_lost_ = clone_lost_ || clone->second.side != 0;
      return false;
    }
    const std::size_t before = out_.size();
    resolved({span.begin + from, span.end}, rest, *found, Confidence::kLikely);
    if (out_.size() > before && clone->second.side != 0) clone_edits_.push_back(before);
    working_directory(world_.directory(found->target.side, found->target.before));
    return true;
  }
  // A directory that is called as the repository is.
  std::size_t at = 0;
  for (const std::string_view part : components(text)) {
    const auto begin = static_cast<std::size_t>(part.data() - text.data());
    at = begin + part.size();
    const auto side = world_.side_cloned_as(part);
    if (!side) continue;
    const std::string_view rest = at < text.size() ? text.substr(at + 1) : std::string_view();
    const Base root = world_.root(*side);
    const bool renames = *side != 0 && world_.clone_name_after(*side, part) != part;
    if (rest.empty()) {
      if (word_ != Word::kCd) return false;
      working_directory(root);
    }
    auto found = rest.empty() ? std::nullopt : resolve_under(root, rest);
    if (!found && !rest.empty()) found = resolve_partly(root, rest, true);
    if (!found && !rest.empty()) continue;
    if (found) {
      resolved({span.begin + at + 1, span.end}, rest, *found, Confidence::kLikely);
      working_directory(world_.directory(found->target.side, found->target.before));
      if (renames) clone_edits_.push_back(out_.size() - 1);
    }
    if (renames) {
      Reference& name =
          add({span.begin + begin, span.begin + at}, kind_here(span.begin), *side, "");
      name.replacement = world_.clone_name_after(*side, part);
      name.confidence = Confidence::kLikely;
      name.reason = "the clone of a merged repository";
      clone_edits_.push_back(out_.size() - 1);
    }
    return true;
  }
  return false;
}

void Scan::after_variable(Span span) {
  // "$NAME/…", "${NAME}/…", "${{ … }}/…", "$(…)/…": the text is what follows the slash.
  std::string name;
  std::size_t begin = span.begin;
  const char before = content_[span.begin - 1];
  const std::string_view line = line_around(span.begin);
  const auto line_begin = static_cast<std::size_t>(line.data() - content_.data());
  if (before == '$') {
    while (begin < span.end && is_name_character(content_[begin])) ++begin;
    name = content_.substr(span.begin, begin - span.begin);
  } else if (before == '}') {
    const std::size_t open = content_.rfind("${", span.begin);
    if (open != std::string_view::npos && open >= line_begin)
      name = content_.substr(open + 2, span.begin - open - 3);
  }
  if (begin >= span.end || content_[begin] != '/') return;
  const std::string_view text = content_.substr(begin + 1, span.end - begin - 1);
  const Span rest{begin + 1, span.end};
  if (text.empty()) return;
  if (text.find('*') != std::string_view::npos) return glob(rest, text);
  const auto known = variables_.find(name);
  std::optional<Base> base;
  if (known != variables_.end()) {
    base = known->second;
  } else if (line.substr(0, span.begin - line_begin).find("dirname") != std::string_view::npos &&
             (before == ')' || before == '"')) {
    base = directory_;
  }
  if (base) {
    auto found = resolve_under(*base, text);
    if (!found) found = resolve_partly(*base, text, true);
    if (found) {
      resolved(rest, text, *found, Confidence::kLikely);
      working_directory(world_.directory(found->target.side, found->target.before));
    }
    return;
  }
  if (cloned(rest, text)) return;
  const bool climbs = text.substr(0, 2) == "..";
  for (const Base& each : {directory_, world_.root(file_.side)}) {
    auto found = resolve_under(each, text);
    if (!found && text.find('/') != std::string_view::npos)
      found = resolve_partly(each, text, false);
    if (!found) continue;
    if (text.find('/') == std::string_view::npos && !distinctive(text) &&
        !found->target.entry.directory && each.before.empty()) {
      continue;  // $HOME/README.md
    }
    const std::size_t count = out_.size();
    const bool own_name = text.find('/') == std::string_view::npos && !distinctive(text);
    resolved(rest, text, *found, climbs || own_name ? Confidence::kUnsure : Confidence::kLikely);
    if (out_.size() > count && out_.back().confidence == Confidence::kUnsure &&
        out_.back().reason.rfind("resolved", 0) == 0)
      out_.back().reason = fmt::format("what ${{{}}} holds is not known here", name);
    return;
  }
}

}  // namespace muster::reorg
