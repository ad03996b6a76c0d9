// Products by oneDNN, for a libtorch that shares the system's.
#include "engine/model/matmul.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <unordered_map>

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

}  // namespace

bool detail::has_bf16_products() {
#if defined(__x86_64__)
  static const bool fast = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  return fast;
#else
  return false;
#endif
}

void detail::product(const Matrix& a, const Matrix& b, const Matrix& c, Into into) {
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

}  // namespace muster::model
