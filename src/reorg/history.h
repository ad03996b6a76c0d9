// The history of a merged repository, told as if its files had always lain at their new paths.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "reorg/workspace.h"

namespace muster::reorg {

/// `#12` as `owner/name#12` where it speaks of an issue: another repository's numbers mean other
/// things.
std::string qualified_message(std::string_view message, const std::string& repository);

struct ImportedHistory {
  ObjectId tip;
  std::size_t commits = 0;
  std::size_t missing = 0;  ///< blobs that the clone lacks: the trees name them all the same
};

/// Writes the commits of side `side` (1…) into this repository: authors, dates and messages kept,
/// signatures left out since they cannot hold for rewritten commits.
Result<ImportedHistory> import_history(Workspace& workspace, std::size_t side);

}  // namespace muster::reorg
