// Random models, split over ranks, for property tests.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/train/checkpoint_layout.h"

namespace muster::train {

/// One to three units of one to four parameters of up to 60 elements.
inline std::vector<ParameterPlace> random_places() {
  std::vector<ParameterPlace> places;
  const int units = *rc::gen::inRange(1, 4);
  for (int unit = 0; unit < units; ++unit) {
    const int parameters = *rc::gen::inRange(1, 5);
    std::int64_t offset = 0;
    for (int i = 0; i < parameters; ++i) {
      const auto rows = *rc::gen::inRange<std::int64_t>(1, 7);
      const auto columns = *rc::gen::inRange<std::int64_t>(1, 11);
      places.push_back({"unit" + std::to_string(unit) + ".p" + std::to_string(i) + ".weight",
                        {rows, columns},
                        unit,
                        offset,
                        rows * columns});
      offset += rows * columns;
    }
  }
  return places;
}

/// Each unit in equal parts (the last is padded) over `shard_ranks` ranks, `replicas` times:
/// [rank][unit].
inline std::vector<std::vector<Range>> split_units(const std::vector<ParameterPlace>& places,
                                                   int shard_ranks, int replicas) {
  std::vector<std::int64_t> sizes;
  for (const ParameterPlace& place : places) {
    sizes.resize(std::max<std::size_t>(sizes.size(), static_cast<std::size_t>(place.unit) + 1));
    sizes[static_cast<std::size_t>(place.unit)] =
        std::max(sizes[static_cast<std::size_t>(place.unit)], place.unit_offset + place.elements);
  }
  std::vector<std::vector<Range>> owned;
  for (int rank = 0; rank < shard_ranks * replicas; ++rank) {
    auto& ranges = owned.emplace_back();
    for (const std::int64_t size : sizes) {
      const std::int64_t part = (size + shard_ranks - 1) / shard_ranks;
      ranges.emplace_back(part * (rank % shard_ranks), part * (rank % shard_ranks + 1));
    }
  }
  return owned;
}

}  // namespace muster::train
