// What the hardware allows at most: bus bandwidth of a collective, from an instance type's facts.
#pragma once

#include <optional>
#include <string>

#include "facts/instances.h"

namespace muster::bench {

struct Ceiling {
  /// What a ring reaches when the slowest link is busy all the time: GB/s of busbw. Trees and
  /// reductions inside the switch may pass it.
  double ring = 0;
  /// What no algorithm passes: every byte that must cross the slowest link does so once.
  double hard = 0;
  std::string how;  ///< the formula with its figures
};

/// Nothing when a fact that it takes is not known, or the operation has none.
std::optional<Ceiling> ceiling_of(const facts::Instance& instance, const std::string& operation,
                                  int nodes, int ranks);

}  // namespace muster::bench
