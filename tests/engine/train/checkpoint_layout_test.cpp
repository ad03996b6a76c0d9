#include "engine/train/checkpoint_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/train/random_layout.h"

namespace muster::train {
namespace {

RC_GTEST_PROP(CheckpointLayout, EveryElementIsWrittenExactlyOnceByOneWhoOwnsIt, ()) {
  const auto places = random_places();
  const int shard_ranks = *rc::gen::inRange(1, 5);
  const int replicas = *rc::gen::inRange(1, 4);
  const auto owned = split_units(places, shard_ranks, replicas);
  std::vector<std::vector<int>> count;
  for (const ParameterPlace& place : places)
    count.emplace_back(static_cast<std::size_t>(place.elements), 0);
  const auto written = share_writing(places, owned);
  RC_ASSERT(written.size() == owned.size());
  for (std::size_t rank = 0; rank < written.size(); ++rank) {
    for (const Piece& piece : written[rank]) {
      const ParameterPlace& place = places[static_cast<std::size_t>(piece.parameter)];
      const Range range = owned[rank][static_cast<std::size_t>(piece.unit)];
      RC_ASSERT(piece.unit == place.unit);
      RC_ASSERT(range.first + piece.in_shard == place.unit_offset + piece.begin);
      RC_ASSERT(piece.in_shard + piece.elements() <= range.second - range.first);
      for (std::int64_t i = piece.begin; i < piece.end; ++i)
        ++count[static_cast<std::size_t>(piece.parameter)][static_cast<std::size_t>(i)];
    }
  }
  for (const auto& elements : count) {
    for (const int times : elements) RC_ASSERT(times == 1);
  }
}

RC_GTEST_PROP(CheckpointLayout, ReplicasShareTheWork, ()) {
  const auto places = random_places();
  const auto owned = split_units(places, 1, 2);
  const auto written = share_writing(places, owned);
  std::int64_t elements[2] = {0, 0};
  for (int rank = 0; rank < 2; ++rank) {
    for (const Piece& piece : written[static_cast<std::size_t>(rank)])
      elements[rank] += piece.elements();
  }
  const auto units = static_cast<std::int64_t>(owned.front().size());
  RC_ASSERT(elements[0] <= elements[1] + units * 8 && elements[1] <= elements[0] + units * 8);
}

}  // namespace
}  // namespace muster::train
