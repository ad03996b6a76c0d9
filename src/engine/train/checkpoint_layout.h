// Who writes what of a checkpoint: from the ranges that the ranks own to the pieces of parameters
// that each rank's file holds. A pure function, the same on every rank.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muster::train {

/// What is kept of each parameter, all float32: its value and Adam's two moments.
inline constexpr const char* kStates[] = {"parameter", "exp_avg", "exp_avg_sq"};
inline constexpr int kStateCount = 3;

/// Where a parameter lies in the flat buffer of its unit.
struct ParameterPlace {
  std::string name;
  std::vector<std::int64_t> shape;
  int unit = 0;
  std::int64_t unit_offset = 0;  ///< elements
  std::int64_t elements = 0;
};

/// A range of elements [begin, end).
using Range = std::pair<std::int64_t, std::int64_t>;

/// A run of elements of one parameter.
struct Piece {
  int parameter = 0;       ///< index into the places
  std::int64_t begin = 0;  ///< elements of the parameter
  std::int64_t end = 0;
  int unit = 0;
  std::int64_t in_shard = 0;  ///< where it starts in the rank's shard of the unit, in elements

  std::int64_t elements() const { return end - begin; }
  bool operator==(const Piece&) const = default;
};

/// The pieces of every parameter that lie in `owned` (a range per unit).
std::vector<Piece> pieces_of(const std::vector<ParameterPlace>& places,
                             const std::vector<Range>& owned);

/// For each rank, the pieces that it writes: `owned[rank][unit]`. Ranks that own the same range of
/// a unit (replicas) share the work in equal parts, so that each element is written once.
std::vector<std::vector<Piece>> share_writing(const std::vector<ParameterPlace>& places,
                                              const std::vector<std::vector<Range>>& owned);

}  // namespace muster::train
