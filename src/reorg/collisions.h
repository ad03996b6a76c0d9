// What makes a set of new paths no layout: two files at one path, a file where a directory is,
// names that only case tells apart.
#pragma once

#include <vector>

#include "base/finding.h"
#include "reorg/moves.h"

namespace muster::reorg {

/// Errors reorg-collision, reorg-same (equal contents), reorg-case, reorg-dir-file; located at the
/// rule that moves the second file. A clash by case that was there before is a warning.
Findings find_clashes(const std::vector<Side>& sides);

}  // namespace muster::reorg
