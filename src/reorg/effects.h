// What a move changes besides paths: files that git now ignores, attributes and owners that differ,
// workflow patterns that match more or fewer files.
#pragma once

#include "base/finding.h"
#include "reorg/rewrite.h"
#include "reorg/world.h"

namespace muster::reorg {

/// Warnings reorg-ignored, reorg-attributes, reorg-owners, reorg-widened, reorg-narrowed; located
/// at the file whose rule does it, or at the file that it happens to.
Findings find_effects(const World& world, const ReadBlob& read, const Rewriting& rewriting);

}  // namespace muster::reorg
