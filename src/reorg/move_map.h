// The map of a reorganisation as it is committed: a line a file, tab-separated: repository (empty:
// this one), old path, new path; "-" is a file that was dropped. Another run of the same plan reads
// it to move only what is new; people and scripts read it to find what moved.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "reorg/moves.h"

namespace muster::reorg {

struct MapLine {
  std::string repository, from;
  std::optional<std::string> to;
  bool operator==(const MapLine&) const = default;
};

struct MoveMap {
  std::string plan;            ///< the name of the plan that made it
  std::vector<MapLine> lines;  ///< sorted
};

std::string write_map(const MoveMap& map);
/// Findings "map-…" are located.
Result<MoveMap> read_map(std::string_view text, const std::string& file);

/// What an earlier run of the plan has moved; empty when another plan made the map.
Origins origins_of(const MoveMap& map, const std::string& plan);

/// The map after a run: what was there, followed through, and what the layout moves.
MoveMap extended_map(const std::optional<MoveMap>& earlier, const Plan& plan, const Layout& layout);

/// A rule of the shortest form of a map: whole directories where all their files went together.
struct MapRule {
  std::string from;
  std::optional<std::string> to;
  bool directory = false;
};

/// Few rules that say the same as the lines of one repository, the longest path deciding: for
/// scripts that consumers keep. `kept`: files that did not move, which the rules leave alone.
std::vector<MapRule> shortest_rules(const std::vector<MapLine>& lines,
                                    const std::vector<std::string>& kept);

/// Those for this repository's old paths, given the tree as it is now.
std::vector<MapRule> former_rules(const MoveMap& map, const Tree& now);

/// What the rules make of a path; the path itself when none holds, nothing when it was dropped.
std::optional<std::string> map_path(const std::vector<MapRule>& rules, std::string_view path);

}  // namespace muster::reorg
