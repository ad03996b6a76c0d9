// How two buffers are reduced where no library does it: element by element, in software.
#pragma once

#include <cstddef>

#include "engine/bench/operation.h"

namespace muster::measure {

/// inout[i] = in[i] (reduction) inout[i]; the two do not overlap.
using Combine = void (*)(const void* in, void* inout, std::size_t elements);

/// sum for avg and mulsum, which scale after and before. half, bfloat16 and f8 are reduced in
/// float32 and rounded once.
Combine combine_function(DataType type, Reduction reduction);

/// to[i] = from[i] * factor; integers are rounded down. `from` may be `to`.
void scale(DataType type, double factor, const void* from, void* to, std::size_t elements);

}  // namespace muster::measure
