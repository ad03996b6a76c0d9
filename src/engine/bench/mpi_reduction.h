// How MPI reduces the element types that it knows, and those that it does not.
#pragma once

#include <mpi.h>

#include "engine/bench/operation.h"

namespace muster::measure {

/// half, bfloat16 and the f8 types travel as unsigned integers of their size.
MPI_Datatype mpi_type(DataType type);

/// sum for avg and mulsum, which scale after and before. Of half, bfloat16 and f8 an operation of
/// our own: element by element, in float32, rounded once. Made once, kept until MPI ends.
MPI_Op mpi_op(DataType type, Reduction reduction);

}  // namespace muster::measure
