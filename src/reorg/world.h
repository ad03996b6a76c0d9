// What a scanner knows of the repositories: which paths exist, where they go, by what names and
// refs URLs speak of them, and how a text that names a path is written after the move.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reorg/move_map.h"
#include "reorg/moves.h"

namespace muster::reorg {

/// The refs and the names of one side.
struct SideNames {
  std::vector<std::string> names;     ///< owner/name, the present one first
  std::vector<std::string> branches;  ///< whose URLs follow the move
  std::vector<std::string> other;     ///< other branches, and tags: URLs by them stay
};

/// A directory that texts start from, before and after the move.
struct Base {
  std::size_t side = 0;
  std::string before, after;
  int above = 0;  ///< levels above the root, of a working directory outside of the clone
};

struct Target {
  std::size_t side = 0;
  Entry entry;
  std::string before;
  std::optional<std::string> after;  ///< nothing: dropped
  bool split = false;                ///< a directory that went to several places

  bool moves() const { return !after || *after != before; }
};

class World {
 public:
  World(const Layout& layout, std::vector<SideNames> names);

  const Layout& layout() const { return *layout_; }
  const Tree& tree(std::size_t side) const { return layout_->sides[side].tree; }
  const SideNames& names(std::size_t side) const { return names_[side]; }
  std::size_t sides() const { return names_.size(); }

  std::optional<Target> target(std::size_t side, std::string_view path) const;
  /// Whether a path exists, or lies where an earlier run moved something away.
  bool has_been(std::size_t side, std::string_view path) const;
  /// The deepest directory or file on the way to `path` that exists below the root; `path` is cut
  /// to it.
  std::optional<Target> longest(std::size_t side, std::string_view& path) const;

  Base root(std::size_t side) const { return {side, "", "", 0}; }
  /// A directory of a side and its image.
  Base directory(std::size_t side, std::string_view path) const;
  /// The directory of a file.
  Base directory_of(const Source& file) const;

  /// How a relative text is written after the move, with its shape: "./", "..", a final slash.
  std::string rewritten(const Base& base, std::string_view text, const Target& target) const;
  /// Whether a text leads anywhere in the new tree.
  bool leads_after(const Base& base, std::string_view text) const;

  /// Where this repository's paths went in an earlier run: texts written since that still name the
  /// old ones lead there.
  void set_former(std::vector<MapRule> rules);

  /// From this side on they are consumers: other repositories that only point into the first.
  void set_foreign(std::size_t first) { foreign_from_ = first; }
  bool is_foreign(std::size_t side) const { return side >= foreign_from_; }

  /// The side that owner/name (any case) is, and whether by a former name; nothing: neither.
  std::optional<std::size_t> side_named(std::string_view owner_and_name) const;
  /// The side whose clone has this directory name.
  std::optional<std::size_t> side_cloned_as(std::string_view name) const;
  /// What a clone of `side` is called after the move, when it is called `name` now.
  std::string clone_name_after(std::size_t side, std::string_view name) const;

  /// Names with characters that end a path in text (spaces, brackets, …), by their part before it.
  const std::unordered_map<std::string, std::vector<std::string>>& odd_names() const {
    return odd_names_;
  }

 private:
  const Layout* layout_;
  std::vector<SideNames> names_;
  std::optional<Target> former_target(std::string_view path) const;

  std::vector<MapRule> former_;
  std::set<std::string, std::less<>> former_tops_;
  std::size_t foreign_from_ = static_cast<std::size_t>(-1);
  std::map<std::string, std::size_t, std::less<>> by_name_, by_clone_;
  std::unordered_map<std::string, std::vector<std::string>> odd_names_;
};

}  // namespace muster::reorg
