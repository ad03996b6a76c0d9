// A script that answers where something went, for people who have neither this program nor the new
// layout: bash or Python with nothing else.
#pragma once

#include <string>
#include <vector>

#include "reorg/move_map.h"

namespace muster::reorg {

/// Whose URLs follow the move: those by a tag, a commit or another branch lead where they did.
struct MapNames {
  std::vector<std::string> names;     ///< owner/name, present and former
  std::vector<std::string> branches;  ///< that have moved
};

/// Bash; `bash map.sh OLD…` prints the new path or URL of each, a line each, and exits with 1 when
/// one was dropped.
std::string bash_script(const std::vector<MapRule>& rules, const MapNames& names);
/// The same in Python 3, with a function `moved(old)`.
std::string python_script(const std::vector<MapRule>& rules, const MapNames& names);

}  // namespace muster::reorg
