#include "engine/model/matmul.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>
#include <dnnl.hpp>

namespace muster::model {
namespace {

using c10::ScalarType;
using dnnl::memory;

// All that a primitive depends on: sizes, strides, types, and whether the result is added.
using Key = std::array<std::int64_t, 12>;

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (const auto part : key) hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x100000001b3ull;
    return hash ^ (hash >> 29);
  }
};

struct Product {
  dnnl::matmul primitive;
  memory a, b, c;
  std::size_t scratch_bytes = 0;
};

struct FreeDeleter {
  void operator()(void* block) const { std::free(block); }
};

// One per thread: primitives are cheap to keep and costly to make, and their scratch memory is
// shared.
struct Context {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<Key, Product, KeyHash> products;
  std::unique_ptr<void, FreeDeleter> scratch;
  std::size_t scratch_bytes = 0;

  void* scratch_of(std::size_t bytes) {
    if (bytes > scratch_bytes) {
      constexpr std::size_t kAlignment = 64;
      const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      scratch.reset(std::aligned_alloc(kAlignment, rounded));
      if (!scratch) throw std::bad_alloc();
      scratch_bytes = rounded;
    }
    return scratch.get();
  }
};

Context& context() {
  thread_local Context instance;
  return instance;
}

// A run with ever-changing shapes (scoring texts of any length) must not keep primitives for all of
// them.
constexpr std::size_t kMostProducts = 4096;

memory::data_type type_of(ScalarType type) {
  return type == ScalarType::BFloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc description(const Matrix& m) {
  return {{m.rows, m.columns}, type_of(m.type), {m.row_stride, m.column_stride}};
}

Product make_product(Context& own, const Matrix& a, const Matrix& b, const Matrix& c, Into into) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (into == Into::kAdd) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::primitive_desc plan({description(a), description(b), description(c)},
                                          attributes, own.engine);
  Product product;
  product.primitive = dnnl::matmul(plan);
  product.a = memory(plan.src_desc(), own.engine, nullptr);
  product.b = memory(plan.weights_desc(), own.engine, nullptr);
  product.c = memory(plan.dst_desc(), own.engine, nullptr);
  product.scratch_bytes = plan.scratchpad_desc().get_size();
  return product;
}

// Strides of a dimension of size 1 mean nothing to us, but oneDNN chooses its code by them.
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

bool has_fast_bf16() {
#if defined(__x86_64__)
  static const bool fast = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  return fast;
#else
  return false;
#endif
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
  if (a_in.type == ScalarType::BFloat16 && !has_fast_bf16())
    return detail::multiply_widened(a_in, b_in, c_in, into);
  Matrix a = canonical(a_in);
  Matrix b = canonical(b_in);
  Matrix c = canonical(c_in);
  // oneDNN writes rows: a result that is wanted by columns is the transposed product.
  if (c.column_stride != 1) {
    const Matrix left = b.transposed();
    b = a.transposed();
    a = left;
    c = c.transposed();
  }
  Context& own = context();
  const Key key = {a.rows,
                   a.columns,
                   b.columns,
                   a.row_stride,
                   a.column_stride,
                   b.row_stride,
                   b.column_stride,
                   c.row_stride,
                   c.column_stride,
                   static_cast<std::int64_t>(a.type),
                   static_cast<std::int64_t>(c.type),
                   static_cast<std::int64_t>(into)};
  auto found = own.products.find(key);
  if (found == own.products.end()) {
    if (own.products.size() >= kMostProducts) own.products.clear();
    found = own.products.emplace(key, make_product(own, a, b, c, into)).first;
  }
  Product& product = found->second;
  product.a.set_data_handle(a.data);
  product.b.set_data_handle(b.data);
  product.c.set_data_handle(c.data);
  const memory scratch(memory::desc({static_cast<memory::dim>(product.scratch_bytes)},
                                    memory::data_type::u8, memory::format_tag::a),
                       own.engine, own.scratch_of(product.scratch_bytes));
  product.primitive.execute(own.stream, {{DNNL_ARG_SRC, product.a},
                                         {DNNL_ARG_WEIGHTS, product.b},
                                         {DNNL_ARG_DST, product.c},
                                         {DNNL_ARG_SCRATCHPAD, scratch}});
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
