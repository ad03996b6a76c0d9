// Products by a PyTorch that holds a oneDNN and an MKL of its own. The system's oneDNN must not be
// loaded beside them: some symbols of the two (std::call_once over oneDNN's internals) bear the
// same names, so one library would set up the other's kernels.
#include "engine/model/matmul.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

// MKL's product of bfloat16 matrices into float32, which no ATen operator offers on a CPU. Null
// where PyTorch holds no MKL.
extern "C" __attribute__((weak)) void cblas_gemm_bf16bf16f32(
    int layout, int transpose_a, int transpose_b, int rows, int columns, int inner, float alpha,
    const void* a, int a_stride, const void* b, int b_stride, float beta, float* c, int c_stride);

namespace muster::model {
namespace {

using c10::ScalarType;

at::Tensor tensor_over(const Matrix& m) {
  return at::from_blob(m.data, {m.rows, m.columns}, {m.row_stride, m.column_stride},
                       at::TensorOptions(m.type));
}

// An operand as BLAS takes it: transposed or not, and the distance of its contiguous lines.
struct Operand {
  int transpose;
  int stride;
};

Operand operand(const Matrix& m) {
  constexpr int kNoTranspose = 111;
  constexpr int kTranspose = 112;
  return m.column_stride == 1 ? Operand{kNoTranspose, static_cast<int>(m.row_stride)}
                              : Operand{kTranspose, static_cast<int>(m.column_stride)};
}

void bf16_into_float32(const Matrix& a, const Matrix& b, const Matrix& c, Into into) {
  constexpr int kRowMajor = 101;
  const auto left = operand(a);
  const auto right = operand(b);
  cblas_gemm_bf16bf16f32(kRowMajor, left.transpose, right.transpose, static_cast<int>(c.rows),
                         static_cast<int>(c.columns), static_cast<int>(a.columns), 1.0f, a.data,
                         left.stride, b.data, right.stride, into == Into::kAdd ? 1.0f : 0.0f,
                         static_cast<float*>(c.data), static_cast<int>(c.row_stride));
}

}  // namespace

bool detail::has_bf16_products() {
  static const bool has = cblas_gemm_bf16bf16f32 != nullptr;
  return has;
}

void detail::product(const Matrix& a, const Matrix& b, const Matrix& c, Into into) {
  if (a.type != c.type) return bf16_into_float32(a, b, c, into);
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  auto out = tensor_over(c);
  if (into == Into::kAdd)
    out.addmm_(tensor_over(a), tensor_over(b));
  else
    at::mm_out(out, tensor_over(a), tensor_over(b));
}

}  // namespace muster::model
