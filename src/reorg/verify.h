// Whether a move broke anything: every reference before and after, in three lists.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "reorg/git.h"
#include "reorg/move_map.h"
#include "reorg/rewrite.h"
#include "reorg/workspace.h"

namespace muster::reorg {

struct VerifyOptions {
  std::string before;  ///< revision; empty: what the last run started from
  std::string after;   ///< revision; empty: HEAD
  std::string map = ".reorg-map.tsv";
  std::string name;  ///< owner/name; empty: that of origin
  std::vector<std::string> former;
  unsigned threads = 0;
  bool repair = false;  ///< look for repairs of what is dead, in the history
};

struct Verification {
  std::vector<Placed> broken;  ///< led somewhere before, leads nowhere now; places are those of now
  std::vector<Placed> dead;    ///< before and now
  std::vector<Placed> healed;  ///< dead before, alive now
  std::vector<Placed> anchors;  ///< links to a heading or id that the page does not have, now
  std::vector<Placed> repairs;  ///< of what is broken or dead, by the history
  std::size_t references = 0;   ///< that were looked at after the move
  std::size_t moved = 0;
};

/// The lists of a move that is being made, with places in the old layout: `was` holds what was
/// found in the old layout, `after` is the new tree, whose objects are written. What a merged
/// partial clone lacks is passed over: the plan's findings name it.
Result<Verification> verify_move(const Workspace& workspace, const Rewriting& was, Tree after,
                                 unsigned threads);

/// References of one list, each with `what` is the matter with it.
Findings findings_of(const std::vector<Placed>& list, Severity severity, const char* rule,
                     const char* what);

/// Failures are bad input: a revision, an object or a map that can't be read.
Result<Verification> verify(const std::filesystem::path& repository, const VerifyOptions& options);

}  // namespace muster::reorg
