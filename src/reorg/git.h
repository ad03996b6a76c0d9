// A git repository through libgit2: trees as lists of files, blobs as bytes without any filter,
// commits, and references that change all at once or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "reorg/tree.h"

namespace muster::reorg {

/// Who and when, as git writes it.
struct Signature {
  std::string name, email;
  std::int64_t seconds = 0;
  int offset_minutes = 0;
  bool operator==(const Signature&) const = default;
};

struct Commit {
  ObjectId id, tree;
  std::vector<ObjectId> parents;
  Signature author, committer;
  std::string message;
};

/// A change of one reference: from what it must be to what it becomes; nothing: it does not exist.
struct ReferenceChange {
  std::string name;
  std::optional<ObjectId> from, to;
};

/// A file that a commit renamed, against its first parent.
struct Rename {
  std::string from, to;
  ObjectId commit;
};

/// What merging trees gives: a tree, or the paths that both sides changed.
struct MergedTree {
  ObjectId tree;
  std::vector<std::string> conflicts;
};

/// The rule of a failure to check out since untracked files are in the way; nothing was written.
inline constexpr const char* kCheckOutConflict = "git-in-the-way";

/// Failures have the rule "git" or one that starts with "git-".
class Repository {
 public:
  /// The repository at the path or around it.
  static Result<Repository> open(const std::filesystem::path& path);
  Repository(Repository&&) noexcept;
  Repository& operator=(Repository&&) noexcept;
  ~Repository();

  const std::filesystem::path& path() const;                    ///< of the .git directory
  std::filesystem::path objects() const;                        ///< where its objects are
  std::optional<std::filesystem::path> work_directory() const;  ///< nothing: it is bare

  /// The commit that a revision names; empty: HEAD.
  Result<ObjectId> commit_of(const std::string& revision) const;
  Result<Commit> commit(const ObjectId& id) const;
  Result<Tree> tree_of(const ObjectId& commit) const;
  Result<std::string> blob(const ObjectId& id) const;
  bool has(const ObjectId& id) const;

  /// Reference that HEAD stands for, e.g. "refs/heads/main"; nothing when it is detached.
  std::optional<std::string> head_reference() const;
  std::optional<ObjectId> reference(const std::string& name) const;
  std::vector<std::string> references(const std::string& prefix) const;  ///< names, sorted
  /// owner/name of the remote "origin" on GitHub; empty when it is none.
  std::string origin_name() const;

  /// Every commit reachable from `tips` and not from `hidden`, parents first.
  Result<std::vector<ObjectId>> history(const std::vector<ObjectId>& tips,
                                        const std::vector<ObjectId>& hidden) const;
  std::optional<ObjectId> merge_base(const ObjectId& a, const ObjectId& b) const;

  /// Renames in the history of a commit, oldest first: exact ones, and those that keep half of the
  /// contents.
  Result<std::vector<Rename>> renames(const ObjectId& tip) const;
  /// Three-way merge, without looking for renames.
  Result<MergedTree> merge_trees(const ObjectId& ancestor, const ObjectId& ours,
                                 const ObjectId& theirs);

  /// Work tree and index hold what HEAD does; untracked files do not count.
  Result<bool> clean() const;

  Result<ObjectId> write_blob(std::string_view content);
  /// Looks again for packs: another writer than this one has written some.
  Result<void> refresh() const;
  /// Writes the tree objects that are not there yet; the files need not be sorted. `packed`: those
  /// of many files as one pack, for trees of which most objects are new.
  Result<ObjectId> write_tree(const std::vector<File>& files, bool packed = false);
  Result<ObjectId> write_commit(const Commit& commit);
  /// Copies an object from another repository with all that its tree holds; what the other lacks
  /// (a partial clone) is left out.
  Result<void> copy_blobs(const Repository& from, const std::vector<ObjectId>& ids);

  /// The name and address that commits are made with; from git's settings.
  Signature signature() const;

  /// All changes or none, each only when the reference is still what it was. `message` is for the
  /// reference log.
  Result<void> change_references(const std::vector<ReferenceChange>& changes,
                                 const std::string& message);
  /// Makes work tree and index hold what HEAD does, in what differs from the tree `from`.
  Result<void> check_out_head(const ObjectId& from);

  struct State;

 private:
  explicit Repository(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::reorg
