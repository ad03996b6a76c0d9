#include "reorg/anchors.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "reorg/file_kind.h"
#include "reorg/markdown.h"
#include "reorg/paths.h"
#include "reorg/url.h"

namespace muster::reorg {
namespace {

bool is_lines(std::string_view fragment) {
  return fragment.size() > 1 && fragment[0] == 'L' && fragment[1] >= '0' && fragment[1] <= '9';
}

/// Values of id="…" and name="…".
void add_ids(std::string_view content, std::set<std::string>& anchors) {
  constexpr std::array<std::string_view, 2> kNames = {"id=", "name="};
  for (const std::string_view name : kNames) {
    for (std::size_t at = content.find(name); at != std::string_view::npos;
         at = content.find(name, at + 1)) {
      const std::size_t quote = at + name.size();
      if (quote >= content.size() || (content[quote] != '"' && content[quote] != '\'')) continue;
      const std::size_t end = content.find(content[quote], quote + 1);
      if (end != std::string_view::npos)
        anchors.emplace(content.substr(quote + 1, end - quote - 1));
    }
  }
}

}  // namespace

std::set<std::string> anchors_of(std::string_view path, std::string_view content) {
  std::set<std::string> anchors;
  if (file_kind(path, kModeFile, content) == FileKind::kMarkdown) {
    for (std::string& anchor : heading_anchors(read_markdown(content).headings))
      anchors.insert(std::move(anchor));
  }
  add_ids(content, anchors);
  return anchors;
}

std::vector<Placed> dead_anchors(const World& world, const ReadBlob& read,
                                 const std::vector<Placed>& links) {
  std::vector<Placed> dead;
  std::map<std::pair<std::size_t, std::size_t>, std::set<std::string>> known;
  for (const Placed& link : links) {
    const Reference& reference = link.reference;
    if (reference.standing != Standing::kAlive || is_lines(reference.fragment)) continue;
    auto target = world.target(reference.side, reference.target);
    if (target && target->entry.directory) {
      auto page = world.target(reference.side, joined(target->before, "README.md"));
      if (!page) page = world.target(reference.side, joined(target->before, "index.html"));
      target = page;
    }
    if (!target || target->entry.directory) continue;
    const File& file = world.tree(target->side).files()[target->entry.index];
    const FileKind kind = file_kind(file.path, file.mode, "");
    if (kind != FileKind::kMarkdown && kind != FileKind::kHtml) continue;
    auto page = known.find({target->side, target->entry.index});
    if (page == known.end()) {
      const auto content = read(target->side, file.id);
      if (!content) continue;
      page = known
                 .emplace(std::pair(target->side, target->entry.index),
                          anchors_of(file.path, *content))
                 .first;
    }
    const std::string wanted = percent_decoded(reference.fragment);
    if (wanted.empty() || wanted == "top" || page->second.count(wanted) ||
        page->second.count(lower(wanted))) {
      continue;
    }
    Placed missing = link;
    missing.reference.standing = Standing::kDead;
    missing.reference.text += "#" + reference.fragment;
    missing.reference.replacement.reset();
    missing.reference.reason = fmt::format("{} has no heading or id \"{}\"", file.path, wanted);
    dead.push_back(std::move(missing));
  }
  return dead;
}

}  // namespace muster::reorg
