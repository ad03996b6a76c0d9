#include "engine/train/checkpoint_layout.h"

#include <algorithm>
#include <map>

namespace muster::train {

namespace {

// Pieces of `places` inside `part`, a range of a unit whose shard starts at `shard_begin`.
void add_pieces(const std::vector<ParameterPlace>& places, int unit, Range part,
                std::int64_t shard_begin, std::vector<Piece>& out) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ParameterPlace& place = places[i];
    if (place.unit != unit) continue;
    const std::int64_t begin = std::max(part.first, place.unit_offset);
    const std::int64_t end = std::min(part.second, place.unit_offset + place.elements);
    if (begin >= end) continue;
    out.push_back({static_cast<int>(i), begin - place.unit_offset, end - place.unit_offset, unit,
                   begin - shard_begin});
  }
}

}  // namespace

std::vector<Piece> pieces_of(const std::vector<ParameterPlace>& places,
                             const std::vector<Range>& owned) {
  std::vector<Piece> pieces;
  for (std::size_t unit = 0; unit < owned.size(); ++unit)
    add_pieces(places, static_cast<int>(unit), owned[unit], owned[unit].first, pieces);
  return pieces;
}

std::vector<std::vector<Piece>> share_writing(const std::vector<ParameterPlace>& places,
                                              const std::vector<std::vector<Range>>& owned) {
  std::vector<std::vector<Piece>> result(owned.size());
  const std::size_t units = owned.empty() ? 0 : owned.front().size();
  for (std::size_t unit = 0; unit < units; ++unit) {
    std::map<Range, std::vector<std::size_t>> replicas;  // who owns each range
    for (std::size_t rank = 0; rank < owned.size(); ++rank)
      replicas[owned[rank][unit]].push_back(rank);
    for (const auto& [range, ranks] : replicas) {
      const std::int64_t size = range.second - range.first;
      const auto count = static_cast<std::int64_t>(ranks.size());
      for (std::int64_t i = 0; i < count; ++i) {
        const Range part{range.first + size * i / count, range.first + size * (i + 1) / count};
        add_pieces(places, static_cast<int>(unit), part, range.first,
                   result[ranks[static_cast<std::size_t>(i)]]);
      }
    }
  }
  return result;
}

}  // namespace muster::train
