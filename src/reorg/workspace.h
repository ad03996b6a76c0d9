// A plan with the repositories that it speaks of, opened and read: what every verb starts from.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "reorg/git.h"
#include "reorg/move_map.h"
#include "reorg/moves.h"
#include "reorg/plan.h"
#include "reorg/rewrite.h"
#include "reorg/world.h"

namespace muster::reorg {

struct WorkspaceOptions {
  std::filesystem::path plan;
  std::filesystem::path repository;  ///< a path in it
  std::string revision;              ///< empty: HEAD
  bool merge_only = false;           ///< this repository's own rules are left for later
};

/// Addresses stay valid while it lives: it does not move.
struct Workspace {
  Plan plan;
  std::vector<Repository> repositories;  ///< as Plan::sides()
  std::vector<ObjectId> commits;
  std::vector<SideNames> names;
  std::optional<MoveMap> map;  ///< that an earlier run committed
  Moves moves;
  std::unique_ptr<World> world;

  /// Opens the repositories once more: a handle is for one thread.
  Result<std::vector<Repository>> open() const;
  OpenReader reader() const;
  std::vector<std::filesystem::path> places;  ///< of the repositories
};

/// Failures are bad input: the plan, a repository or an object that can't be read.
Result<std::unique_ptr<Workspace>> open_workspace(const FileSystem& files,
                                                  const WorkspaceOptions& options);

/// Names and refs of a repository, as its clone and the plan know them.
SideNames names_of(const Repository& repository, const RepositoryPlan& plan);

}  // namespace muster::reorg
