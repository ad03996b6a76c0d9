// A script that answers where something went, for people who have neither this program nor the new
// layout: bash or Python with nothing else.
#pragma once

#include <string>
#include <vector>

#include "reorg/move_map.h"

namespace muster::reorg {

/// Bash; `bash map.sh OLD…` prints the new path or URL of each, a line each, and exits with 1 when
/// one was dropped. `names`: owner/name, present and former, whose URLs it answers for.
std::string bash_script(const std::vector<MapRule>& rules, const std::vector<std::string>& names);
/// The same in Python 3, with a function `moved(old)`.
std::string python_script(const std::vector<MapRule>& rules, const std::vector<std::string>& names);

}  // namespace muster::reorg
