#include "engine/model/matmul.h"

#include <memory>
#include <stdexcept>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>

namespace muster::model {
namespace {

using c10::ScalarType;

// Strides of a dimension of size 1 mean nothing to us, but the libraries choose their code by them.
Matrix canonical(Matrix m) {
  if (m.rows == 1 && m.column_stride == 1) m.row_stride = m.columns;
  if (m.columns == 1 && m.row_stride == 1) m.column_stride = m.rows;
  if (m.columns == 1 && m.column_stride != 1 && m.row_stride != 1) m.column_stride = 1;
  if (m.rows == 1 && m.row_stride != 1 && m.column_stride != 1) m.row_stride = 1;
  return m;
}

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(std::string("matrix product: ").append(why));
}

void check(const Matrix& a, const Matrix& b, const Matrix& c) {
  const auto shape = [](const Matrix& m) {
    return std::to_string(m.rows).append(" x ").append(std::to_string(m.columns));
  };
  if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns)
    refuse(shape(a).append(" times ").append(shape(b)).append(" into ").append(shape(c)));
  for (const auto* m : {&a, &b, &c})
    if (m->type != ScalarType::Float && m->type != ScalarType::BFloat16)
      refuse("only float32 and bfloat16 are supported");
  if (a.type != b.type) refuse("operands of two types");
  if (c.type != a.type && c.type != ScalarType::Float) refuse("a bfloat16 result of float32");
}

std::unique_ptr<float[]> widened(const Matrix& m) {
  auto copy = std::make_unique<float[]>(static_cast<std::size_t>(m.rows * m.columns));
  const auto* from = static_cast<const c10::BFloat16*>(m.data);
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.columns; ++j)
      copy[i * m.columns + j] = from[i * m.row_stride + j * m.column_stride];
  return copy;
}

}  // namespace

Matrix Matrix::row_block(std::int64_t first, std::int64_t count) const {
  const std::int64_t size = type == ScalarType::BFloat16 ? 2 : 4;
  Matrix block = *this;
  block.data = static_cast<char*>(data) + first * row_stride * size;
  block.rows = count;
  return block;
}

Matrix dense(void* data, ScalarType type, std::int64_t rows, std::int64_t columns) {
  return {data, type, rows, columns, columns, 1};
}

Matrix as_matrix(const at::Tensor& tensor) {
  const auto dimensions = tensor.dim();
  if (dimensions < 1 || (tensor.stride(-1) != 1 && tensor.size(-1) != 1))
    refuse("a tensor whose last dimension is not contiguous");
  const auto columns = tensor.size(-1);
  std::int64_t rows = 1;
  std::int64_t row_stride = dimensions > 1 ? tensor.stride(-2) : columns;
  for (auto d = dimensions - 2; d >= 0; --d) {
    if (tensor.size(d) != 1 && tensor.stride(d) != row_stride * rows && rows > 1)
      refuse("a tensor whose leading dimensions are not evenly spaced");
    if (rows == 1 && tensor.size(d) != 1) row_stride = tensor.stride(d);
    rows *= tensor.size(d);
  }
  return {tensor.data_ptr(), tensor.scalar_type(), rows, columns, row_stride, 1};
}

void multiply(const Matrix& a_in, const Matrix& b_in, const Matrix& c_in, Into into) {
  check(a_in, b_in, c_in);
  if (c_in.rows == 0 || c_in.columns == 0) return;
  if (a_in.type == ScalarType::BFloat16 && !detail::has_bf16_products())
    return detail::multiply_widened(a_in, b_in, c_in, into);
  Matrix a = canonical(a_in);
  Matrix b = canonical(b_in);
  Matrix c = canonical(c_in);
  // The libraries write rows: a result that is wanted by columns is the transposed product.
  if (c.column_stride != 1) {
    const Matrix left = b.transposed();
    b = a.transposed();
    a = left;
    c = c.transposed();
  }
  detail::product(a, b, c, into);
}

void detail::multiply_widened(const Matrix& a, const Matrix& b, const Matrix& c, Into into) {
  const auto left = widened(a);
  const auto right = widened(b);
  const Matrix wide_a = dense(left.get(), ScalarType::Float, a.rows, a.columns);
  const Matrix wide_b = dense(right.get(), ScalarType::Float, b.rows, b.columns);
  if (c.type == ScalarType::Float) return multiply(wide_a, wide_b, c, into);
  std::unique_ptr<float[]> sum;
  if (into == Into::kAdd)
    sum = widened(c);
  else
    sum = std::make_unique<float[]>(static_cast<std::size_t>(c.rows * c.columns));
  multiply(wide_a, wide_b, dense(sum.get(), ScalarType::Float, c.rows, c.columns), into);
  auto* to = static_cast<c10::BFloat16*>(c.data);
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.columns; ++j)
      to[i * c.row_stride + j * c.column_stride] = sum[i * c.columns + j];
}

}  // namespace muster::model
