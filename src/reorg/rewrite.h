// All references of all files: which are rewritten, which only proposed, which lead nowhere.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "base/result.h"
#include "reorg/references.h"
#include "reorg/world.h"

namespace muster::reorg {

/// Reads a blob of a side. Each thread gets one of its own.
using ReadBlob = std::function<Result<std::string>(std::size_t side, const ObjectId& id)>;
using OpenReader = std::function<Result<ReadBlob>()>;

/// A reference with its place.
struct Placed {
  Source file;
  FileName path;  ///< of the file, before the move; with its repository when it is a merged one
  int line = 0, column = 0;
  Reference reference;
};

struct Rewriting {
  std::vector<Placed> edits;      ///< certain and likely: these are written
  std::vector<Placed> proposals;  ///< unsure: for a person to decide
  std::vector<Placed> dead, healed, pinned, unclear;
  std::vector<Placed> fragments;  ///< links to a heading or id, in any standing
  std::size_t files = 0, bytes = 0, references = 0;
  Findings unread;  ///< files of merged repositories whose contents are missing
};

struct RewriteOptions {
  unsigned threads = 0;  ///< 0: as many as there are processors, at most 8
  bool partial = false;  ///< what can't be read is `unread`, in any repository
};

/// Scans every file. Failure: an object of this repository can't be read.
Result<Rewriting> find_rewriting(const World& world, const OpenReader& open,
                                 const RewriteOptions& options);

/// The text with its edits made. Bytes outside of them stay as they are.
std::string edited(std::string_view content, const std::vector<const Reference*>& edits);

/// The edits of each file, by place.
std::map<std::pair<std::size_t, std::size_t>, std::vector<const Reference*>> edits_by_file(
    const std::vector<Placed>& edits);

}  // namespace muster::reorg
