#include <algorithm>

#include "reorg/git.h"
#include "reorg/git_objects.h"

namespace muster::reorg {
namespace {

using DiffHandle = Handle<git_diff, git_diff_free>;
using IndexHandle = Handle<git_index, git_index_free>;

Result<TreeHandle> tree_handle(git_repository* repository, const ObjectId& id) {
  const git_oid oid = to_oid(id);
  git_tree* raw = nullptr;
  if (git_tree_lookup(&raw, repository, &oid) != 0)
    return git_failure("tree " + id.hex() + " can't be read", "git-object");
  return TreeHandle(raw);
}

/// Appends what one commit renamed.
Result<void> renames_of(git_repository* repository, const Commit& commit, const ObjectId& before,
                        std::vector<Rename>& renames) {
  const auto old_tree = tree_handle(repository, before);
  const auto new_tree = tree_handle(repository, commit.tree);
  if (!old_tree) return old_tree.error();
  if (!new_tree) return new_tree.error();
  git_diff_options options;
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  options.context_lines = 0;
  git_diff* raw = nullptr;
  if (git_diff_tree_to_tree(&raw, repository, old_tree->get(), new_tree->get(), &options) != 0)
    return git_failure("a commit can't be compared", "git-object");
  const DiffHandle diff(raw);
  const bool may_rename = git_diff_num_deltas_of_type(raw, GIT_DELTA_DELETED) > 0 &&
                          git_diff_num_deltas_of_type(raw, GIT_DELTA_ADDED) > 0;
  if (!may_rename) return {};
  git_diff_find_options find;
  git_diff_find_options_init(&find, GIT_DIFF_FIND_OPTIONS_VERSION);
  find.flags = GIT_DIFF_FIND_RENAMES;
  // What a partial clone lacks can't be compared: its renames stay unknown.
  if (git_diff_find_similar(raw, &find) != 0) return {};
  for (std::size_t i = 0; i < git_diff_num_deltas(raw); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(raw, i);
    if (delta->status == GIT_DELTA_RENAMED)
      renames.push_back({delta->old_file.path, delta->new_file.path, commit.id});
  }
  return {};
}

}  // namespace

Result<std::vector<Rename>> Repository::renames(const ObjectId& tip) const {
  const auto order = history({tip}, {});
  if (!order) return order.error();
  std::vector<Rename> renames;
  for (const ObjectId& id : *order) {
    const auto at = commit(id);
    if (!at) return at.error();
    if (at->parents.size() != 1) continue;  // a merge's renames are those of its parents' commits
    const auto parent = commit(at->parents.front());
    if (!parent) continue;  // where a shallow clone ends
    if (auto done = renames_of(state_->repository.get(), *at, parent->tree, renames); !done)
      return done.error();
  }
  return renames;
}

Result<MergedTree> Repository::merge_trees(const ObjectId& ancestor, const ObjectId& ours,
                                           const ObjectId& theirs) {
  git_repository* repository = state_->repository.get();
  const auto base = tree_handle(repository, ancestor);
  const auto left = tree_handle(repository, ours);
  const auto right = tree_handle(repository, theirs);
  for (const auto* tree : {&base, &left, &right}) {
    if (!*tree) return tree->error();
  }
  git_merge_options options;
  git_merge_options_init(&options, GIT_MERGE_OPTIONS_VERSION);
  options.flags = 0;
  git_index* raw = nullptr;
  if (git_merge_trees(&raw, repository, base->get(), left->get(), right->get(), &options) != 0)
    return git_failure("trees can't be merged");
  const IndexHandle index(raw);
  MergedTree merged;
  if (git_index_has_conflicts(raw) != 0) {
    git_index_conflict_iterator* found = nullptr;
    if (git_index_conflict_iterator_new(&found, raw) != 0)
      return git_failure("conflicts can't be read");
    const Handle<git_index_conflict_iterator, git_index_conflict_iterator_free> iterator(found);
    const git_index_entry *one = nullptr, *mine = nullptr, *other = nullptr;
    while (git_index_conflict_next(&one, &mine, &other, found) == 0)
      merged.conflicts.emplace_back((mine ? mine : other ? other : one)->path);
    std::sort(merged.conflicts.begin(), merged.conflicts.end());
    return merged;
  }
  git_oid id;
  if (git_index_write_tree_to(&id, raw, repository) != 0)
    return git_failure("a merged tree can't be written");
  merged.tree = from_oid(id);
  return merged;
}

}  // namespace muster::reorg
