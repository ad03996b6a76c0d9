#include "engine/model/ops_vector_impl.h"

namespace muster::model {
extern const VectorKernels kGenericKernels;
const VectorKernels kGenericKernels = kernels_named("generic");
}  // namespace muster::model
