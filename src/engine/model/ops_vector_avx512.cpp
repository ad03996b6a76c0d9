#include "engine/model/ops_vector_impl.h"

namespace muster::model {
extern const VectorKernels kAvx512Kernels;
const VectorKernels kAvx512Kernels = kernels_named("avx512");
}  // namespace muster::model
