#include "reorg/port.h"

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "reorg/apply.h"

namespace muster::reorg {
namespace {

/// Moves and edits of one commit's tree. Merged repositories are no part of it: their files came
/// with the branch that has moved.
Result<std::vector<File>> reorganised_files(Workspace& workspace, const ObjectId& commit,
                                            unsigned threads) {
  Repository& repository = workspace.repositories[0];
  auto tree = repository.tree_of(commit);
  if (!tree) return tree.error();
  Plan plan = workspace.plan;
  plan.merged.clear();
  std::vector<Tree> trees;
  trees.push_back(std::move(*tree));
  const Moves moves = make_moves(plan, std::move(trees), {});
  if (moves.collided || has_errors(moves.findings)) {
    Findings errors;
    std::copy_if(moves.findings.begin(), moves.findings.end(), std::back_inserter(errors),
                 [](const Finding& finding) { return finding.severity == Severity::kError; });
    return Failure(std::move(errors));
  }
  const World world(moves.layout, {workspace.names[0]});
  const auto rewriting = find_rewriting(world, workspace.reader(), {threads});
  if (!rewriting) return rewriting.error();
  std::vector<File> files = moves.layout.after.files();
  const auto edited = write_edits(workspace, moves.layout, *rewriting, files, threads);
  if (!edited) return edited.error();
  return files;
}

/// Written to the repository.
Result<ObjectId> reorganised_tree(Workspace& workspace, const ObjectId& commit, unsigned threads) {
  const auto files = reorganised_files(workspace, commit, threads);
  if (!files) return files.error();
  return workspace.repositories[0].write_tree(*files);
}

/// The commit that the reorganisation started from.
Result<ObjectId> old_base(const Repository& repository, const ObjectId& at) {
  const auto start = last_start(repository, at);
  if (!start) return start.error();
  if (*start) return **start;
  return failure("reorg-refused", "the branch to port to has no reorganisation in its history",
                 "name it with --onto");
}

}  // namespace

Result<Ported> port(const FileSystem& files, const PortOptions& options) {
  auto opened = open_workspace(files, options.workspace);
  if (!opened) return opened.error();
  Workspace& workspace = **opened;
  Repository& repository = workspace.repositories[0];
  const ObjectId onto = workspace.commits[0];
  const auto base = old_base(repository, onto);
  if (!base) return base.error();
  const auto branch = repository.commit_of(options.branch);
  if (!branch) return branch.error();
  const std::string reference = "refs/heads/" + options.to;
  if (!options.to.empty() && repository.reference(reference))
    return failure("reorg-refused", fmt::format("there is a branch \"{}\" already", options.to),
                   "choose another name");
  const auto start = repository.merge_base(*base, *branch);
  if (!start)
    return failure("reorg-refused", "the branch shares no history with the old layout", "");
  // Its own commits, along first parents: what a merge brought in is in the new layout already.
  std::vector<ObjectId> own;
  for (ObjectId at = *branch; at != *start;) {
    own.push_back(at);
    const auto commit = repository.commit(at);
    if (!commit) return commit.error();
    const auto shared = repository.merge_base(*base, at);
    if (commit->parents.empty())
      return failure("reorg-refused", "the branch's own commits begin with one that has no parent",
                     "rebase it on the old layout");
    if (shared && *shared == at) break;
    at = commit->parents.front();
    if (repository.merge_base(*base, at) == std::optional(at)) break;
  }
  std::reverse(own.begin(), own.end());

  Ported result;
  result.tip = onto;
  std::map<ObjectId, ObjectId> trees;
  const auto moved_tree = [&](const ObjectId& commit) -> Result<ObjectId> {
    const auto known = trees.find(commit);
    if (known != trees.end()) return known->second;
    auto tree = reorganised_tree(workspace, commit, options.threads);
    if (tree) trees[commit] = *tree;
    return tree;
  };
  for (const ObjectId& id : own) {
    const auto commit = repository.commit(id);
    if (!commit) return commit.error();
    const auto before = moved_tree(commit->parents.front());
    if (!before) return before.error();
    const auto after = moved_tree(id);
    if (!after) return after.error();
    const auto tip = repository.commit(result.tip);
    if (!tip) return tip.error();
    const auto merged = repository.merge_trees(*before, tip->tree, *after);
    if (!merged) return merged.error();
    if (!merged->conflicts.empty()) {
      result.conflicts = merged->conflicts;
      result.conflicting = first_line(commit->message);
      return result;
    }
    Commit carried = *commit;
    carried.tree = merged->tree;
    carried.parents = {result.tip};
    carried.committer = repository.signature();
    const auto fresh = repository.write_commit(carried);
    if (!fresh) return fresh.error();
    result.tip = *fresh;
    ++result.commits;
  }
  const auto tree = repository.tree_of(result.tip);
  if (!tree) return tree.error();
  const Origins origins =
      workspace.map ? origins_of(*workspace.map, workspace.plan.name) : Origins{};
  const Rules rules(workspace.plan.repository.rules);
  Findings ignored;
  for (const File& file : tree->files()) {
    if (origins.count(file.path)) continue;
    const Decision decision = rules.decide(file.path, ignored);
    if (decision.to != std::optional(file.path) && !workspace.moves.layout.after.has(file.path)) {
      result.old_paths.push_back(file.path);
    }
  }
  if (!options.to.empty()) {
    const auto set = repository.change_references({{reference, std::nullopt, result.tip}},
                                                  "reorg: port " + options.branch);
    if (!set) return set.error();
  }
  return result;
}

}  // namespace muster::reorg
