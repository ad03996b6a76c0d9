// Tree diagrams: what a name means depends on the lines above it.
#include <algorithm>

#include <fmt/format.h>

#include "base/display.h"
#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {
namespace {

struct Branch {
  std::size_t column = 0;  ///< of the branch
  Span name;               ///< in the content, with a final slash
  bool found = false;
};

/// The entry that a line of a diagram draws.
Branch branch_of(std::string_view content, std::size_t begin, std::size_t end) {
  const std::string_view line = content.substr(begin, end - begin);
  Branch branch;
  std::size_t at = std::string_view::npos, width = 0;
  for (const std::string_view mark : {"\u251c", "\u2514", "|--", "`--", "+--"}) {
    const std::size_t place = line.find(mark);
    if (place != std::string_view::npos && (at == std::string_view::npos || place < at)) {
      at = place;
      width = mark.size();
    }
  }
  if (at == std::string_view::npos) return branch;
  // Before the branch are only the stems of branches above it, or what starts a comment.
  const std::string_view stem = line.substr(0, at);
  constexpr std::string_view kStems = " \t|#*/\xe2\x94\x82\xc2\xa0";
  if (stem.find_first_not_of(kStems) != std::string_view::npos) return branch;
  branch.column = display_width(stem);
  at += width;
  for (;;) {
    if (line.compare(at, 3, "\u2500") == 0) {
      at += 3;
    } else if (line.compare(at, 2, "\u00a0") == 0) {
      at += 2;
    } else if (at < line.size() && (line[at] == '-' || line[at] == ' ')) {
      ++at;
    } else {
      break;
    }
  }
  std::size_t stop = at;
  while (stop < line.size() && line[stop] != ' ' && line[stop] != '\t' && line[stop] != '\r' &&
         line[stop] != '`' && line[stop] != '*' && line[stop] != '"') {
    ++stop;
  }
  branch.name = {begin + at, begin + stop};
  branch.found = stop > at;
  return branch;
}

std::string_view bare_name(std::string_view name) {
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  while (name.substr(0, 2) == "./") name.remove_prefix(2);
  return name;
}

}  // namespace

void Scan::diagrams() {
  if (content_.find("\u2500\u2500") == std::string_view::npos &&
      content_.find("|--") == std::string_view::npos &&
      content_.find("+--") == std::string_view::npos) {
    return;
  }
  struct Level {
    std::size_t column;
    Base place;
    bool known;
  };
  std::vector<Level> levels;
  std::optional<Base> top;
  std::size_t previous_begin = 0, previous_end = 0;
  for (std::size_t begin = 0; begin < content_.size();) {
    const std::size_t end = std::min(content_.find('\n', begin), content_.size());
    Branch branch = branch_of(content_, begin, end);
    if (!branch.found) {
      const std::string_view text = content_.substr(begin, end - begin);
      const bool stem_only = text.find("\u2502") != std::string_view::npos;
      if (!stem_only) levels.clear();
      previous_begin = begin;
      previous_end = end;
      begin = end + 1;
      continue;
    }
    branch.name.end = extended(branch.name.begin, branch.name.end, end);
    const std::string_view written = slice(content_, branch.name);
    std::string_view name = bare_name(written);
    if (levels.empty()) {
      // The line above names what the diagram is of; else it is this directory or the root.
      top.reset();
      std::size_t from = previous_begin, to = previous_end;
      while (from < to && (content_[from] == ' ' || content_[from] == '#')) ++from;
      while (to > from && (content_[to - 1] == ' ' || content_[to - 1] == '\r')) --to;
      const std::string_view title = bare_name(content_.substr(from, to - from));
      std::vector<Base> candidates = {directory_, world_.root(file_.side)};
      for (const Base& base : {directory_, world_.root(file_.side)}) {
        const auto found = title.empty() ? std::nullopt : resolve_under(base, title);
        if (found && found->target.entry.directory && found->target.after) {
          candidates.insert(candidates.begin(), world_.directory(file_.side, found->target.before));
        }
      }
      const std::string_view own = name_of(directory_.before);
      if (!own.empty() && name_of(title) == own) candidates.insert(candidates.begin(), directory_);
      for (const Base& base : candidates) {
        if (world_.tree(file_.side).has(joined(base.before, name))) {
          top = base;
          break;
        }
      }
      const std::string_view fresh = name_of(directory_.after);
      if (top && top->before == directory_.before && !own.empty() && own != fresh &&
          name_of(title) == own) {
        const std::size_t at = from +
                               static_cast<std::size_t>(title.data() - (content_.data() + from)) +
                               title.size() - own.size();
        Reference& reference = add({at, at + own.size()}, "diagram", file_.side, directory_.before);
        reference.replacement = std::string(fresh);
        reference.confidence = Confidence::kLikely;
        reference.reason = "the title of a diagram of this directory";
        taken_.push_back({at, at + own.size()});
      }
    }
    while (!levels.empty() && levels.back().column >= branch.column) levels.pop_back();
    const bool known = levels.empty() ? top.has_value() : levels.back().known;
    Level level{branch.column, directory_, false};
    if (known) {
      const Base parent = levels.empty() ? *top : levels.back().place;
      const auto found = resolve_under(parent, name);
      if (found && !name.empty() && name != "." && name != "..") {
        level.known = true;
        level.place = world_.directory(file_.side, found->target.before);
        const std::size_t at =
            branch.name.begin + static_cast<std::size_t>(name.data() - written.data());
        Span span{at, branch.name.end};
        taken_.push_back(span);
        Reference& reference = add(span, "diagram", file_.side, found->target.before);
        reference.confidence = Confidence::kLikely;
        const std::string fresh =
            found->target.after ? world_.rewritten(parent, name, found->target) : std::string(name);
        if (fresh != name) {
          const std::string slash(slice(content_, {at + name.size(), branch.name.end}));
          std::string line = fresh + slash;
          // What stands behind, a comment, stays in its column as far as it fits.
          std::size_t spaces = 0;
          while (span.end < end && content_[span.end] == ' ') {
            ++span.end;
            ++spaces;
          }
          if (spaces > 0 && span.end < end) {
            const std::size_t room = display_width(slice(content_, span));
            const std::size_t width = display_width(line);
            line.append(std::max<std::size_t>(1, room > width ? room - width : 1), ' ');
            reference.text = std::string(slice(content_, span));
          }
          reference.replacement = line;
          reference.reason = "an entry of a tree diagram";
          if (fresh.find('/') != std::string::npos && name.find('/') == std::string_view::npos) {
            reference.confidence = Confidence::kUnsure;
            reference.reason = "it has left the directory that the diagram shows";
          }
        }
      }
    }
    levels.push_back(level);
    begin = end + 1;
  }
}

}  // namespace muster::reorg
