#include "reorg/effects.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/document.h"
#include "reorg/path_rules.h"
#include "reorg/paths.h"

namespace muster::reorg {
namespace {

/// The rules that hold on one side of the move.
struct RuleSet {
  IgnoreRules ignore;
  AttributeRules attributes;
  std::unique_ptr<OwnerRules> owners;
};

bool is_owners_file(std::string_view path) {
  return path == "CODEOWNERS" || path == ".github/CODEOWNERS" || path == "docs/CODEOWNERS";
}

void add_rules(RuleSet& rules, std::string_view path, std::string_view content) {
  if (name_of(path) == ".gitignore") rules.ignore.add(parent_of(path), content);
  if (name_of(path) == ".gitattributes") rules.attributes.add(parent_of(path), content);
  if (is_owners_file(path)) rules.owners = std::make_unique<OwnerRules>(content);
}

/// The `paths` patterns of a workflow, in order, with their places.
void collect_patterns(const Node& node, std::vector<const Node*>& patterns) {
  for (const Node::Entry& entry : node.entries()) {
    if ((entry.key == "paths" || entry.key == "paths-ignore") && entry.value.is_sequence()) {
      for (const Node& item : entry.value.items()) patterns.push_back(&item);
    } else {
      collect_patterns(entry.value, patterns);
    }
  }
  for (const Node& item : node.items()) collect_patterns(item, patterns);
}

std::string_view without_bang(std::string_view pattern) {
  if (!pattern.empty() && pattern.front() == '!') pattern.remove_prefix(1);
  return pattern;
}

class Effects {
 public:
  Effects(const World& world, const ReadBlob& read, const Rewriting& rewriting)
      : world_(world),
        read_(read),
        edits_(edits_by_file(rewriting.edits)),
        before_(world.sides()) {}

  Findings find() {
    load();
    for (std::size_t side = 0; side < world_.sides(); ++side) {
      const Side& in = world_.layout().sides[side];
      for (std::size_t i = 0; i < in.images.size(); ++i) {
        if (in.images[i]) compare(side, in.tree.files()[i].path, *in.images[i]);
      }
    }
    for (const auto& [change, files] : owners_) {
      findings_.push_back(warning_at(
          {files.front(), 0, 0}, "reorg-owners",
          fmt::format("OWNERS of {} file{}: {} before, {} after", files.size(),
                      files.size() == 1 ? "" : "s", change.first.empty() ? "none" : change.first,
                      change.second.empty() ? "none" : change.second),
          "a pattern of CODEOWNERS matches other files now"));
    }
    workflows();
    return std::move(findings_);
  }

 private:
  /// Old and new text of a file; nothing when it can't be read.
  std::optional<std::pair<std::string, std::string>> texts(std::size_t side, std::size_t index) {
    auto content = read_(side, world_.tree(side).files()[index].id);
    if (!content) return std::nullopt;
    const auto edits = edits_.find({side, index});
    std::string after = edits == edits_.end() ? *content : edited(*content, edits->second);
    return std::pair(std::move(*content), std::move(after));
  }

  void load() {
    for (std::size_t side = 0; side < world_.sides(); ++side) {
      const Side& in = world_.layout().sides[side];
      for (std::size_t i = 0; i < in.images.size(); ++i) {
        const std::string& path = in.tree.files()[i].path;
        const std::string_view name = name_of(path);
        if (name != ".gitignore" && name != ".gitattributes" && name != "CODEOWNERS") continue;
        const auto both = texts(side, i);
        if (!both) continue;
        add_rules(before_[side], path, both->first);
        if (in.images[i]) add_rules(after_, *in.images[i], both->second);
      }
    }
  }

  void compare(std::size_t side, const std::string& old_path, const std::string& new_path) {
    const std::string shown =
        side == 0 ? quoted_path(old_path)
                  : world_.layout().sides[side].plan->name + ":" + quoted_path(old_path);
    const bool ignored = after_.ignore.ignored(new_path);
    if (ignored != before_[side].ignore.ignored(old_path)) {
      findings_.push_back(warning_at(
          {shown, 0, 0}, "reorg-ignored",
          fmt::format("{} {}: {}", ignored ? "NEWLY-IGNORED" : "NO-LONGER-IGNORED",
                      quoted_path(new_path),
                      ignored ? "it stays tracked, but `git add` would pass over a new one"
                              : "rules that held for it do not follow"),
          ignored ? "narrow the pattern, or add a `!` line" : ""));
    }
    const std::string attributes = after_.attributes.of(new_path);
    const std::string had = before_[side].attributes.of(old_path);
    if (attributes != had) {
      findings_.push_back(
          warning_at({shown, 0, 0}, "reorg-attributes",
                     fmt::format("ATTR {}: \"{}\" before, \"{}\" after", quoted_path(new_path), had,
                                 attributes),
                     "its bytes stay; a later `git add` would treat them otherwise"));
    }
    if (side > 0 || !before_[0].owners) return;  // a new repository's files have no owners to lose
    const std::string owners = after_.owners ? after_.owners->of(new_path) : std::string();
    const std::string owned = before_[0].owners->of(old_path);
    if (owners != owned) owners_[{owned, owners}].push_back(shown);
  }

  std::size_t matched_before(std::string_view pattern) const {
    const auto& files = world_.tree(0).files();
    return static_cast<std::size_t>(
        std::count_if(files.begin(), files.end(),
                      [&](const File& file) { return glob_matches(pattern, file.path); }));
  }

  std::size_t matched_after(std::string_view pattern) const {
    std::size_t count = 0;
    for (const Side& side : world_.layout().sides) {
      count += static_cast<std::size_t>(
          std::count_if(side.images.begin(), side.images.end(),
                        [&](const auto& image) { return image && glob_matches(pattern, *image); }));
    }
    return count;
  }

  void workflows() {
    const Side& side = world_.layout().sides[0];
    for (std::size_t i = 0; i < side.images.size(); ++i) {
      const std::string& path = side.tree.files()[i].path;
      if (!is_under(path, ".github/workflows") || !side.images[i]) continue;
      const auto both = texts(0, i);
      if (!both) continue;
      const auto before = parse_yaml(both->first, path);
      const auto after = parse_yaml(both->second, path);
      if (!before || !after) continue;  // what can't be parsed is for `validate` to say
      std::vector<const Node*> old_patterns, new_patterns;
      collect_patterns(*before, old_patterns);
      collect_patterns(*after, new_patterns);
      if (old_patterns.size() != new_patterns.size()) continue;  // split, and said so
      for (std::size_t p = 0; p < old_patterns.size(); ++p) {
        const std::size_t was = matched_before(without_bang(old_patterns[p]->text()));
        const std::size_t now = matched_after(without_bang(new_patterns[p]->text()));
        if (was == now) continue;
        findings_.push_back(
            warning_at(new_patterns[p]->where(), now > was ? "reorg-widened" : "reorg-narrowed",
                       fmt::format("{} '{}': {} -> {} files", now > was ? "WIDENED" : "NARROWED",
                                   new_patterns[p]->text(), was, now),
                       "a workflow that watches it starts for other changes now"));
      }
    }
  }

  const World& world_;
  const ReadBlob& read_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<const Reference*>> edits_;
  std::vector<RuleSet> before_;
  RuleSet after_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> owners_;
  Findings findings_;
};

}  // namespace

Findings find_effects(const World& world, const ReadBlob& read, const Rewriting& rewriting) {
  return Effects(world, read, rewriting).find();
}

}  // namespace muster::reorg
