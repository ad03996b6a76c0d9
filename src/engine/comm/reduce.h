// Sums (maxima, minima) of several arrays in a fixed order: the arithmetic of the reductions.
#pragma once

#include <cstdint>
#include <vector>

#include <c10/core/ScalarType.h>

#include "engine/comm/communicator.h"

namespace muster::comm {

/// out[i] = [out[i] +] scale * op(sources[0][i], sources[1][i], …), in that order, elementwise.
/// bfloat16 is combined in float32 and rounded once, to nearest even; `out` may be float32 then,
/// otherwise it has the type of the sources. Integers wrap around. `out` may be one of the sources.
void reduce(void* out, c10::ScalarType out_type, const std::vector<const void*>& sources,
            c10::ScalarType type, std::int64_t count, const Reduction& how);

}  // namespace muster::comm
