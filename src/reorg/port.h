// Carries a branch that was begun on the old layout over to the new one: its own commits, each with
// the plan's moves and edits made, on top of the branch that has moved.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "reorg/workspace.h"

namespace muster::reorg {

struct PortOptions {
  WorkspaceOptions workspace;  ///< `revision`: the branch that has moved
  std::string branch;          ///< that is carried over
  std::string to;              ///< the new branch; empty: nothing is written but objects
  unsigned threads = 0;
};

struct Ported {
  ObjectId tip;
  std::size_t commits = 0;
  std::vector<std::string> conflicts;  ///< paths that both branches changed, in the old layout too
  std::string conflicting;             ///< the first line of the commit that does not apply
  std::vector<std::string> old_paths;  ///< files of the result that a rule would still move
};

/// Failures: bad input, or "reorg-refused".
Result<Ported> port(const FileSystem& files, const PortOptions& options);

}  // namespace muster::reorg
