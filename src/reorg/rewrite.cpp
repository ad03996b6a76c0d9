#include "reorg/rewrite.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "reorg/markdown.h"
#include "reorg/paths.h"
#include "reorg/scan.h"
#include "reorg/spread.h"

namespace muster::reorg {
namespace {

struct FileResult {
  std::vector<Placed> kept;       ///< all but those that lead somewhere and stay as they are
  std::vector<Placed> fragments;  ///< links to an anchor
  std::map<std::string, std::string> anchors;  ///< of headings whose text changes
  std::size_t bytes = 0, references = 0;
  std::optional<Finding> unread;
};

bool noteworthy(const Reference& reference) {
  return reference.replacement || reference.standing != Standing::kAlive ||
         reference.confidence == Confidence::kUnsure;
}

std::map<std::string, std::string> changed_anchors(std::string_view content,
                                                   const References& references) {
  std::map<std::string, std::string> changed;
  std::vector<const Reference*> edits;
  bool headings = false;
  for (const Reference& each : references) {
    if (!each.replacement || each.confidence == Confidence::kUnsure) continue;
    edits.push_back(&each);
    const std::string_view kind = each.kind;
    headings = headings || kind == "heading" || kind == "inline-code" || kind == "link-text";
  }
  if (!headings) return changed;
  const auto before = heading_anchors(read_markdown(content).headings);
  const auto after = heading_anchors(read_markdown(edited(content, edits)).headings);
  if (before.size() != after.size()) return changed;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) changed[before[i]] = after[i];
  }
  return changed;
}

/// A map or a plan of ours: it speaks of old paths on purpose.
bool is_own_record(std::string_view content) {
  constexpr std::size_t kLookedAt = 400;
  const std::string_view head = content.substr(0, kLookedAt);
  return head.rfind("# muster reorg map ", 0) == 0 ||
         (head.find("apiVersion: muster/") != std::string_view::npos &&
          head.find("kind: Reorganisation") != std::string_view::npos);
}

FileResult scan_one(const World& world, const Source& source, const ReadBlob& read) {
  FileResult result;
  const File& file = world.tree(source.side).files()[source.file];
  if (file.mode == kModeSubmodule) return result;
  const auto content = read(source.side, file.id);
  const FileName shown = source.side == 0 ? quoted_path(file.path)
                                          : world.layout().sides[source.side].plan->name + ":" +
                                                quoted_path(file.path);
  if (!content) {
    result.unread = warning_at({shown, 0, 0}, "reorg-unread", content.findings().front().message,
                               "its references were not looked at");
    return result;
  }
  result.bytes = content->size();
  if (is_own_record(*content)) return result;
  References references = scan_file(world, source, *content);
  result.references = references.size();
  result.anchors = changed_anchors(*content, references);
  std::size_t line_at = 0;
  int line = 1;
  for (Reference& each : references) {
    const bool keep = noteworthy(each);
    if (!keep && each.fragment.empty()) continue;
    line += static_cast<int>(std::count(content->begin() + static_cast<std::ptrdiff_t>(line_at),
                                        content->begin() + static_cast<std::ptrdiff_t>(each.offset),
                                        '\n'));
    line_at = each.offset;
    const std::size_t before =
        each.offset == 0 ? std::string::npos : content->rfind('\n', each.offset - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    Placed placed{source, shown, line, static_cast<int>(each.offset - begin) + 1, std::move(each)};
    if (!placed.reference.fragment.empty()) result.fragments.push_back(placed);
    if (keep) result.kept.push_back(std::move(placed));
  }
  return result;
}

/// Links to headings whose text has changed.
void follow_anchors(const World& world, std::vector<std::vector<FileResult>>& results,
                    Rewriting& rewriting) {
  for (auto& side : results) {
    for (FileResult& file : side) {
      for (const Placed& link : file.fragments) {
        auto target = world.target(link.reference.side, link.reference.target);
        if (target && target->entry.directory)
          target = world.target(target->side, joined(target->before, "README.md"));
        if (!target || target->entry.directory) continue;
        const auto& anchors = results[target->side][target->entry.index].anchors;
        const auto anchor = anchors.find(link.reference.fragment);
        if (anchor == anchors.end()) continue;
        Placed edit = link;
        edit.column += static_cast<int>(link.reference.fragment_offset - link.reference.offset);
        edit.reference.kind = "anchor";
        edit.reference.offset = link.reference.fragment_offset;
        edit.reference.text = link.reference.fragment;
        edit.reference.replacement = anchor->second;
        edit.reference.fragment.clear();
        edit.reference.reason = "the heading that it leads to changes";
        rewriting.edits.push_back(std::move(edit));
      }
    }
  }
}

bool by_place(const Placed& a, const Placed& b) {
  return std::tuple(a.file.side, a.file.file, a.reference.offset) <
         std::tuple(b.file.side, b.file.file, b.reference.offset);
}

}  // namespace

std::string edited(std::string_view content, const std::vector<const Reference*>& edits) {
  std::string result;
  result.reserve(content.size() + edits.size() * 16);
  std::size_t at = 0;
  for (const Reference* edit : edits) {
    if (edit->offset < at || content.substr(edit->offset, edit->text.size()) != edit->text)
      continue;
    result += content.substr(at, edit->offset - at);
    result += *edit->replacement;
    at = edit->offset + edit->text.size();
  }
  return result.append(content.substr(at));
}

std::map<std::pair<std::size_t, std::size_t>, std::vector<const Reference*>> edits_by_file(
    const std::vector<Placed>& edits) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<const Reference*>> files;
  for (const Placed& edit : edits)
    files[{edit.file.side, edit.file.file}].push_back(&edit.reference);
  for (auto& [file, list] : files) {
    std::sort(list.begin(), list.end(),
              [](const Reference* a, const Reference* b) { return a->offset < b->offset; });
  }
  return files;
}

Result<Rewriting> find_rewriting(const World& world, const OpenReader& open,
                                 const RewriteOptions& options) {
  std::vector<Source> queue;
  std::vector<std::vector<FileResult>> results(world.sides());
  for (std::size_t side = 0; side < world.sides(); ++side) {
    results[side].resize(world.tree(side).files().size());
    for (std::size_t i = 0; i < results[side].size(); ++i) {
      // What is left out of the new tree is not rewritten.
      if (world.layout().sides[side].images[i]) queue.push_back({side, i});
    }
  }
  const auto scanned =
      spread(queue.size(), options.threads, open, [&](const ReadBlob& read, std::size_t i) {
        results[queue[i].side][queue[i].file] = scan_one(world, queue[i], read);
        return Result<void>();
      });
  if (!scanned) return scanned.error();

  Rewriting rewriting;
  for (std::size_t side = 0; side < results.size(); ++side) {
    for (FileResult& file : results[side]) {
      if (file.unread) {
        if (side == 0 && !options.partial) {
          Finding error = *file.unread;
          error.severity = Severity::kError;
          return Failure(std::move(error));
        }
        rewriting.unread.push_back(*file.unread);
      }
      rewriting.bytes += file.bytes;
      rewriting.references += file.references;
      for (Placed& placed : file.kept) {
        const Reference& reference = placed.reference;
        auto& list = reference.standing == Standing::kDead         ? rewriting.dead
                     : reference.standing == Standing::kHealed     ? rewriting.healed
                     : reference.standing == Standing::kPinned     ? rewriting.pinned
                     : reference.standing == Standing::kUnclear    ? rewriting.unclear
                     : reference.confidence == Confidence::kUnsure ? rewriting.proposals
                                                                   : rewriting.edits;
        list.push_back(std::move(placed));
      }
      file.kept.clear();
    }
  }
  rewriting.files = queue.size();
  follow_anchors(world, results, rewriting);
  for (auto& side : results) {
    for (FileResult& file : side) {
      std::move(file.fragments.begin(), file.fragments.end(),
                std::back_inserter(rewriting.fragments));
    }
  }
  std::sort(rewriting.edits.begin(), rewriting.edits.end(), by_place);
  return rewriting;
}

}  // namespace muster::reorg
