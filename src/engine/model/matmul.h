// Matrix products on a CPU through oneDNN, which uses what the processor has (AVX-512 bf16, AMX),
// for float32 too: the BLAS under a distribution's libtorch may be the reference one.
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
/// What `multiply` does where oneDNN has no fast bfloat16 product: operands widened to float32
/// first.
void multiply_widened(const Matrix& a, const Matrix& b, const Matrix& c, Into into);
}  // namespace detail

}  // namespace muster::model
