// Matrix products on a CPU by a library that uses what the processor has (AVX-512 bf16, AMX):
// oneDNN, for float32 too, since the BLAS under a distribution's libtorch may be the reference one;
// or, under a PyTorch from PyPI, what that one holds.
#pragma once

#include <cstdint>

#include <c10/core/ScalarType.h>

namespace at {
class Tensor;
}

namespace muster::model {

/// A view of a matrix that somebody else owns. Strides count elements; one of them must be 1.
struct Matrix {
  void* data = nullptr;
  c10::ScalarType type = c10::ScalarType::Float;  ///< Float or BFloat16
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  Matrix transposed() const { return {data, type, columns, rows, column_stride, row_stride}; }
  /// Rows [first, first + count).
  Matrix row_block(std::int64_t first, std::int64_t count) const;
};

/// A tensor [..., columns] as a matrix of all its leading positions; its memory must have that
/// shape without a copy (std::invalid_argument otherwise).
Matrix as_matrix(const at::Tensor& tensor);

/// Row-major and dense.
Matrix dense(void* data, c10::ScalarType type, std::int64_t rows, std::int64_t columns);

enum class Into { kOverwrite, kAdd };

/// c = a · b, or c += a · b. a and b have one type; c has it too, or is float32. Sums are made in
/// float32 and rounded once. Throws std::invalid_argument when shapes or types do not fit.
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, Into into = Into::kOverwrite);

namespace detail {
/// The library's product, of fitting shapes and types; c's rows are contiguous.
void product(const Matrix& a, const Matrix& b, const Matrix& c, Into into);
/// Whether it multiplies bfloat16 faster than float32 here.
bool has_bf16_products();
/// What `multiply` does where it does not: operands widened to float32 first.
void multiply_widened(const Matrix& a, const Matrix& b, const Matrix& c, Into into);
}  // namespace detail

}  // namespace muster::model
