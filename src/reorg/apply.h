// Makes a reorganisation: commits that only move, one that merges each second repository, one that
// edits references, one that tells `git blame` of it; then one reference changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "reorg/workspace.h"

namespace muster::reorg {

/// The line of the last commit's message that `undo` goes by, with the commit that was before.
inline constexpr const char* kUndoTrailer = "Reorganised-from: ";

/// The commit that the last reorganisation in a history, by first parents, started from; nothing
/// when there is none.
Result<std::optional<ObjectId>> last_start(const Repository& repository, ObjectId at);

/// Writes the contents that change to the first repository; `files` are those of `layout.after`
/// and get the new ones. How many they are.
Result<std::size_t> write_edits(const Workspace& workspace, const Layout& layout,
                                const Rewriting& rewriting, std::vector<File>& files,
                                unsigned threads);

struct ApplyOptions {
  std::string branch;  ///< written to this new branch, nothing checked out; empty: the one at hand
  unsigned threads = 0;  ///< 0: as many as there are processors, at most 8
  bool verify = true;    ///< look for newly broken references before the branch changes
};

struct Applied {
  std::string reference;
  ObjectId before, after;
  std::vector<ObjectId> moves;    ///< commits that only move
  std::vector<ObjectId> merges;   ///< one for each merged repository
  std::optional<ObjectId> edits;  ///< the commit of reference edits and the map
  std::size_t moved_files = 0, edited_files = 0, merged_commits = 0;
  std::vector<std::string>
      submodules;  ///< that moved in the work tree: git has to fetch them there
  bool changed() const { return before != after; }
};

/// Which commit each moved file goes in, so that none moves two equal contents (git would follow
/// the wrong one) and none moves a file onto one that has not moved yet. By file of this
/// repository; nothing: it does not move.
std::vector<std::optional<std::size_t>> move_rounds(const Side& side);

/// Failures with rule "reorg-refused": nothing was changed, and why; beside it, by "reorg-broken",
/// the references that would have been. Others: an object or a reference can't be written.
Result<Applied> apply(Workspace& workspace, const Rewriting& rewriting,
                      const ApplyOptions& options);

/// The branch back to what it was before the last run, when nothing came after it.
Result<Applied> undo(Repository& repository);

}  // namespace muster::reorg
