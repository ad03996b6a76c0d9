// Whether the page that a link leads to has the heading or id behind its '#'.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reorg/rewrite.h"

namespace muster::reorg {

/// What may follow '#' in a link to this page.
std::set<std::string> anchors_of(std::string_view path, std::string_view content);

/// Those of `links` (each with a fragment) that lead to a page without it. A directory stands for
/// its README.md or index.html; lines of code (L10) and pages of other kinds are not looked at.
std::vector<Placed> dead_anchors(const World& world, const ReadBlob& read,
                                 const std::vector<Placed>& links);

}  // namespace muster::reorg
