// Finds the references in one file's text and how each is written after the move. A text counts as
// a reference only when it resolves: names alone never do.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "reorg/references.h"
#include "reorg/world.h"

namespace muster::reorg {

/// References of a file, by place. Links, own URLs, symlinks and what patterns name are kept in any
/// standing; running text only where it resolves.
References scan_file(const World& world, const Source& file, std::string_view content);

}  // namespace muster::reorg
