#include "reorg/world.h"

#include <algorithm>

#include "reorg/characters.h"
#include "reorg/paths.h"
#include "reorg/references.h"

namespace muster::reorg {

const char* to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::kCertain:
      return "certain";
    case Confidence::kLikely:
      return "likely";
    case Confidence::kUnsure:
      return "unsure";
  }
  return "";
}

const char* to_string(Standing standing) {
  switch (standing) {
    case Standing::kAlive:
      return "alive";
    case Standing::kDead:
      return "dead";
    case Standing::kHealed:
      return "healed";
    case Standing::kPinned:
      return "pinned";
    case Standing::kUnclear:
      return "unclear";
  }
  return "";
}

World::World(const Layout& layout, std::vector<SideNames> names)
    : layout_(&layout), names_(std::move(names)) {
  std::set<std::string> odd;
  for (std::size_t side = 0; side < names_.size(); ++side) {
    for (const std::string& name : names_[side].names) {
      by_name_.emplace(lower(name), side);
      by_clone_.emplace(std::string(name_of(name)), side);
    }
    const auto note = [&odd](std::string_view path) {
      const std::string_view name = name_of(path);
      if (!std::all_of(name.begin(), name.end(), is_path_character)) odd.emplace(name);
    };
    for (const auto& directory : tree(side).directories()) note(directory.path);
    for (const File& file : tree(side).files()) note(file.path);
  }
  for (const std::string& name : odd) {
    const auto end = std::find_if_not(name.begin(), name.end(), is_path_character);
    odd_names_[std::string(name.begin(), end)].push_back(name);
  }
  // The longest first: it decides where several begin alike.
  for (auto& [head, list] : odd_names_) {
    std::sort(list.begin(), list.end(), [](const std::string& a, const std::string& b) {
      return std::pair(b.size(), a) < std::pair(a.size(), b);
    });
  }
}

std::optional<Target> World::target(std::size_t side, std::string_view path) const {
  const auto entry = tree(side).find(path);
  if (!entry) return side == 0 ? former_target(path) : std::nullopt;
  const Side& in = layout_->sides[side];
  Target target{side, *entry, std::string(path), in.image(*entry), false};
  target.split =
      entry->directory && in.directories[entry->index].how == DirectoryImage::How::kSplit;
  return target;
}

void World::set_former(std::vector<MapRule> rules) {
  former_ = std::move(rules);
  for (const MapRule& rule : former_)
    former_tops_.emplace(rule.from.substr(0, rule.from.find('/')));
}

std::optional<Target> World::former_target(std::string_view path) const {
  if (former_tops_.find(path.substr(0, path.find('/'))) == former_tops_.end()) return std::nullopt;
  const auto now = map_path(former_, path);
  if (!now || *now == path) return std::nullopt;
  const auto entry = tree(0).find(*now);
  if (!entry) return std::nullopt;
  return Target{0, *entry, std::string(path), layout_->sides[0].image(*entry), false};
}

bool World::has_been(std::size_t side, std::string_view path) const {
  return tree(side).has(path) ||
         (side == 0 && former_tops_.find(path.substr(0, path.find('/'))) != former_tops_.end());
}

std::optional<Target> World::longest(std::size_t side, std::string_view& path) const {
  for (; !path.empty(); path = parent_of(path)) {
    if (auto found = target(side, path)) return found;
  }
  return std::nullopt;
}

Base World::directory(std::size_t side, std::string_view path) const {
  const auto found = target(side, path);
  return {side, std::string(path), found && found->after ? *found->after : std::string(path), 0};
}

Base World::directory_of(const Source& file) const {
  const Side& side = layout_->sides[file.side];
  const std::string& path = side.tree.files()[file.file].path;
  const auto& image = side.images[file.file];
  return {file.side, std::string(parent_of(path)), std::string(parent_of(image ? *image : path)),
          0};
}

std::string World::rewritten(const Base& base, std::string_view text, const Target& target) const {
  const auto now = resolve(base.after, text);
  if (!target.after) return std::string(text);
  if (base.above == 0 && now.above == 0 && now.path == *target.after) return std::string(text);
  const auto parts = components(text);
  std::size_t ups = 0, skipped = 0;
  for (const std::string_view part : parts) {
    if (part == "..") {
      ++ups;
    } else if (part != ".") {
      break;
    }
    ++skipped;
  }
  // A text that goes further up than it must turns around where it did, as long as the new paths
  // allow it; others stay the shortest.
  std::string_view pivot_before = base.before;
  for (std::size_t i = 0; i < ups; ++i) pivot_before = parent_of(pivot_before);
  std::string pivot(common_directory(base.after, *target.after));
  if (pivot_before.size() < common_directory(base.before, target.before).size()) {
    std::string kept = directory(base.side, pivot_before).after;
    if (is_under(base.after, kept) && is_under(*target.after, kept)) pivot = std::move(kept);
  }
  std::string result = text.substr(0, 2) == "./" ? "./" : "";
  const std::size_t climb = components(below(base.after, pivot)).size();
  if (climb > 0) result.clear();
  for (std::size_t i = 0; i < climb; ++i) result += "../";
  result += below(*target.after, pivot);
  if (result.empty()) result = ".";
  const bool slash = !text.empty() && text.back() == '/';
  while (!slash && result.size() > 1 && result.back() == '/') result.pop_back();
  if (slash && result.back() != '/') result += '/';
  return result;
}

bool World::leads_after(const Base& base, std::string_view text) const {
  const auto now = resolve(base.after, text);
  return now.above == 0 && layout_->after.has(now.path);
}

std::optional<std::size_t> World::side_named(std::string_view owner_and_name) const {
  const auto found = by_name_.find(lower(owner_and_name));
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::size_t> World::side_cloned_as(std::string_view name) const {
  const auto found = by_clone_.find(name);
  if (found == by_clone_.end()) return std::nullopt;
  return found->second;
}

std::string World::clone_name_after(std::size_t side, std::string_view name) const {
  if (side == 0 || names_[0].names.empty()) return std::string(name);
  return std::string(name_of(names_[0].names.front()));
}

}  // namespace muster::reorg
