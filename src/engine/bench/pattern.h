// The data that a measured operation carries, and what must come out: every value and every partial
// result is exact in its type, so that one wrong element shows.
#pragma once

#include <cstddef>

#include "engine/bench/operation.h"

namespace muster::measure {

/// What all ranks share of one operation's data.
struct Pattern {
  Operation operation = Operation::kAllReduce;
  DataType type = DataType::kFloat;
  Reduction reduction = Reduction::kSum;
  int ranks = 1;
  int root = 0;
  unsigned seed = 0;  ///< changes between repetitions: data left from the one before shows as wrong

  /// What rank `from` holds at `index` of its send buffer.
  double input(int from, std::size_t index) const;
  /// The factor of rank `from` in mulsum.
  double factor(int from) const { return 1 + from % 2; }
  /// What `index` must be reduced to over all ranks.
  double reduced(std::size_t index) const;
};

/// Fills rank `rank`'s send buffer.
void fill(const Pattern& pattern, int rank, std::size_t elements, void* data);

/// Elements of `rank`'s receive buffer that are not what they must be. Elements that the operation
/// leaves alone (other ranks' of a rooted one) are not looked at. avg may miss by two units in the
/// last place.
std::size_t count_wrong(const Pattern& pattern, int rank, const Counts& counts, const void* data);

}  // namespace muster::measure
