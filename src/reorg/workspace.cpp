#include "reorg/workspace.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "reorg/paths.h"

namespace muster::reorg {
namespace {

/// The map in a commit's tree, if it holds one.
Result<std::optional<MoveMap>> committed_map(const Repository& repository, const Tree& tree,
                                             const std::string& path) {
  const File* file = tree.file(path);
  if (!file) return std::optional<MoveMap>();
  const auto text = repository.blob(file->id);
  if (!text) return text.error();
  auto map = read_map(*text, path);
  if (!map) return map.error();
  return std::optional<MoveMap>(std::move(*map));
}

Failure located(Failure failure, const Position& where) {
  for (Finding& finding : failure.findings) {
    if (finding.where.file.empty() || finding.where.line == 0) {
      if (!finding.where.file.empty())
        finding.message = finding.where.file.str() + ": " + finding.message;
      finding.where = where;
    }
  }
  return failure;
}

}  // namespace

SideNames names_of(const Repository& repository, const RepositoryPlan& plan) {
  SideNames names;
  const std::string origin = repository.origin_name();
  if (!plan.name.empty()) names.names.push_back(plan.name);
  if (!origin.empty() && lower(origin) != lower(plan.name)) names.names.push_back(origin);
  names.names.insert(names.names.end(), plan.former.begin(), plan.former.end());
  constexpr std::string_view kHeads = "refs/heads/";
  const auto head = repository.head_reference();
  names.branches = plan.branches;
  if (names.branches.empty()) {
    names.branches.push_back(head && head->rfind(kHeads, 0) == 0 ? head->substr(kHeads.size())
                                                                 : "main");
  }
  for (const char* prefix : {"refs/heads/", "refs/remotes/origin/", "refs/tags/"}) {
    for (const std::string& name : repository.references(prefix)) {
      if (std::find(names.branches.begin(), names.branches.end(), name) == names.branches.end())
        names.other.push_back(name);
    }
  }
  return names;
}

Result<std::vector<Repository>> Workspace::open() const {
  std::vector<Repository> opened;
  for (const std::filesystem::path& place : places) {
    auto repository = Repository::open(place);
    if (!repository) return repository.error();
    opened.push_back(std::move(*repository));
  }
  return opened;
}

OpenReader Workspace::reader() const {
  return [this]() -> Result<ReadBlob> {
    auto opened = open();
    if (!opened) return opened.error();
    const auto shared = std::make_shared<std::vector<Repository>>(std::move(*opened));
    return ReadBlob(
        [shared](std::size_t side, const ObjectId& id) { return (*shared)[side].blob(id); });
  };
}

Result<std::unique_ptr<Workspace>> open_workspace(const FileSystem& files,
                                                  const WorkspaceOptions& options) {
  const auto text = files.read(options.plan);
  if (!text) return text.error();
  auto plan = read_plan(*text, options.plan.string());
  if (!plan) return plan.error();
  auto workspace = std::make_unique<Workspace>();
  workspace->plan = std::move(*plan);
  if (options.merge_only) workspace->plan.repository.rules.clear();

  auto repository = Repository::open(options.repository);
  if (!repository) return repository.error();
  workspace->repositories.push_back(std::move(*repository));
  for (const RepositoryPlan& merged : workspace->plan.merged) {
    auto other = Repository::open(options.plan.parent_path() / merged.from);
    if (!other) return located(other.error(), merged.where);
    workspace->repositories.push_back(std::move(*other));
  }
  std::vector<Tree> trees;
  const auto sides = workspace->plan.sides();
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Repository& each = workspace->repositories[i];
    const auto commit = each.commit_of(i == 0 ? options.revision : sides[i]->revision);
    if (!commit) return i == 0 ? commit.error() : located(commit.error(), sides[i]->where);
    auto tree = each.tree_of(*commit);
    if (!tree) return i == 0 ? tree.error() : located(tree.error(), sides[i]->where);
    workspace->commits.push_back(*commit);
    workspace->names.push_back(names_of(each, *sides[i]));
    workspace->places.push_back(each.path());
    trees.push_back(std::move(*tree));
  }
  auto map = committed_map(workspace->repositories[0], trees[0], workspace->plan.map_path);
  if (!map) return map.error();
  workspace->map = std::move(*map);
  const Origins origins =
      workspace->map ? origins_of(*workspace->map, workspace->plan.name) : Origins{};
  workspace->moves = make_moves(workspace->plan, std::move(trees), origins);
  workspace->world = std::make_unique<World>(workspace->moves.layout, workspace->names);
  if (workspace->map) {
    workspace->world->set_former(
        former_rules(*workspace->map, workspace->moves.layout.sides[0].tree));
  }
  return workspace;
}

}  // namespace muster::reorg
