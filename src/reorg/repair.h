// Dead references that history explains: the chain of renames from where they point to where that
// lies now. Guesses by name alone are not made.
#pragma once

#include <vector>

#include "base/result.h"
#include "reorg/git.h"
#include "reorg/rewrite.h"
#include "reorg/world.h"

namespace muster::reorg {

/// Where old paths went, by the renames of a history.
class RenameChains {
 public:
  RenameChains(std::vector<Rename> renames, const Tree& tree);

  /// Where a file or directory that is gone lies now; nothing when nothing or no single place
  /// follows from the history.
  std::optional<std::string> now(std::string_view gone) const;

 private:
  std::optional<std::string> follow(std::string path, std::size_t from) const;

  std::vector<Rename> renames_;  // oldest first
  std::unordered_map<std::string, std::vector<std::size_t>> by_source_;
  const Tree& tree_;
};

/// Edits for those of `dead` that can be repaired, each with its reason. They are kCertain in that
/// a rename or a count of "../" says so; to write them is the caller's choice.
std::vector<Placed> find_repairs(const World& world, const RenameChains& chains,
                                 const std::vector<Placed>& dead);

}  // namespace muster::reorg
