#include "engine/model/ops_vector_impl.h"

namespace muster::model {
extern const VectorKernels kAvx2Kernels;
const VectorKernels kAvx2Kernels = kernels_named("avx2");
}  // namespace muster::model
