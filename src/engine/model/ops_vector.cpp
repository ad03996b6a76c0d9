#include "engine/model/ops_vector.h"

namespace muster::model {

extern const VectorKernels kGenericKernels;
#if defined(__x86_64__)
extern const VectorKernels kAvx2Kernels;
extern const VectorKernels kAvx512Kernels;
#endif

VectorKernelList all_vector_kernels() {
  VectorKernelList list;
  list.tables[list.count++] = &kGenericKernels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    list.tables[list.count++] = &kAvx2Kernels;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    list.tables[list.count++] = &kAvx512Kernels;
#endif
  return list;
}

const VectorKernels& vector_kernels() {
  static const VectorKernelList list = all_vector_kernels();
  return *list.tables[list.count - 1];
}

}  // namespace muster::model
