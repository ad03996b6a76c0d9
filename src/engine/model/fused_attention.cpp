#include "engine/model/fused_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace muster::model::fused {
namespace {

/// Everything about one batch entry's group: its place in the operands.
struct Group {
  std::int64_t batch = 0;
  std::int64_t head = 0;  ///< of keys and values
  std::int64_t length = 0;
  std::int64_t heads = 0;  ///< query heads of the group
  std::int64_t dim = 0;
  std::int64_t index = 0;  ///< batch · kv_heads + head

  std::int64_t width() const { return heads * dim; }
  /// First element of position t of the group in [B · T, kv_heads · heads · D].
  std::int64_t query_offset(std::int64_t t, std::int64_t row_stride) const {
    return (batch * length + t) * row_stride + head * width();
  }
  std::int64_t key_offset(std::int64_t t, std::int64_t row_stride) const {
    return (batch * length + t) * row_stride + head * dim;
  }
};

/// Query positions handled at once: the scores of a strip should stay in a core's own cache.
std::int64_t strip_positions(const Group& group) {
  constexpr std::int64_t kScoreBytes = 256 << 10;
  const auto fit = kScoreBytes / 4 / std::max<std::int64_t>(1, group.length * group.heads);
  return std::clamp<std::int64_t>(fit / 16 * 16, 16, 128);
}

template <typename Body>
void for_groups(const AttentionSize& size, const Body& body) {
  const auto heads = size.shape.kv_heads;
  at::parallel_for(0, size.batch * heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i)
      body(Group{i / heads, i % heads, size.length, size.shape.heads / heads, size.shape.head_dim,
                 i});
  });
}

template <typename T>
void copy_rows(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
               std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row)
    std::memcpy(to + row * to_stride, from + row * from_stride,
                static_cast<std::size_t>(columns) * sizeof(T));
}

template <typename T>
void forward_group(const Group& group, const Matrix& q, const Matrix& k, const Matrix& v,
                   const Rope& rope, const AttentionState& state, T* output,
                   std::int64_t output_stride) {
  const RowKernels<T>& loops = vector_kernels().rows<T>();
  const auto type = kTypeOf<T>;
  const auto length = group.length;
  const auto dim = group.dim;
  const float* cos = elements<float>(rope.cos);
  const float* sin = elements<float>(rope.sin);
  T* query = elements<T>(state.query) + group.index * length * group.width();
  T* key = elements<T>(state.key) + group.index * length * dim;
  T* value = elements<T>(state.value) + group.index * length * dim;
  float* log_sum = elements<float>(state.log_sum) + group.index * length * group.heads;

  loops.rotate(static_cast<const T*>(q.data) + group.query_offset(0, q.row_stride), q.row_stride,
               query, group.width(), cos, sin, length, group.heads, dim / 2, 1.0f);
  loops.rotate(static_cast<const T*>(k.data) + group.key_offset(0, k.row_stride), k.row_stride, key,
               dim, cos, sin, length, 1, dim / 2, 1.0f);
  copy_rows(static_cast<const T*>(v.data) + group.key_offset(0, v.row_stride), v.row_stride, value,
            dim, length, dim);

  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  const auto strip = strip_positions(group);
  for (std::int64_t first = 0; first < length; first += strip) {
    const auto positions = std::min(strip, length - first);
    const auto rows = positions * group.heads;
    const auto seen = first + positions;
    const Matrix queries = dense(query + first * group.width(), type, rows, dim);
    const Matrix scores = scratch_matrix(Scratch::kScores, torch::kFloat32, rows, seen);
    const Matrix weights = scratch_matrix(Scratch::kWeights, type, rows, seen);
    const Matrix mixed = scratch_matrix(Scratch::kStripOutput, type, rows, dim);
    multiply(queries, dense(key, type, seen, dim).transposed(), scores);
    loops.causal_softmax(static_cast<float*>(scores.data), static_cast<T*>(weights.data),
                         log_sum + first * group.heads, rows, seen, first, group.heads, scale);
    multiply(weights, dense(value, type, seen, dim), mixed);
    copy_rows(static_cast<const T*>(mixed.data), group.width(),
              output + group.query_offset(first, output_stride), output_stride, positions,
              group.width());
  }
}

template <typename T>
void backward_group(const Group& group, const Matrix& doutput, const T* output,
                    const AttentionState& state, const Rope& rope, const Matrix& dq,
                    const Matrix& dk, const Matrix& dv) {
  const RowKernels<T>& loops = vector_kernels().rows<T>();
  const auto type = kTypeOf<T>;
  const auto length = group.length;
  const auto dim = group.dim;
  const float* cos = elements<float>(rope.cos);
  const float* sin = elements<float>(rope.sin);
  T* query = elements<T>(state.query) + group.index * length * group.width();
  const Matrix key = dense(elements<T>(state.key) + group.index * length * dim, type, length, dim);
  const Matrix value =
      dense(elements<T>(state.value) + group.index * length * dim, type, length, dim);
  const float* log_sum = elements<float>(state.log_sum) + group.index * length * group.heads;
  const Matrix key_sum = scratch_matrix(Scratch::kKeySum, torch::kFloat32, length, dim);
  const Matrix value_sum = scratch_matrix(Scratch::kValueSum, torch::kFloat32, length, dim);

  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  const auto strip = strip_positions(group);
  // From the last strip, which sees every key: it overwrites the sums, the others add.
  const auto last = (length - 1) / strip * strip;
  for (auto first = last; first >= 0; first -= strip) {
    const auto positions = std::min(strip, length - first);
    const auto rows = positions * group.heads;
    const auto seen = first + positions;
    const Into into = first == last ? Into::kOverwrite : Into::kAdd;
    const Matrix queries = dense(query + first * group.width(), type, rows, dim);
    const Matrix gradient = scratch_matrix(Scratch::kStripGradient, type, rows, dim);
    const Matrix mixed = scratch_matrix(Scratch::kStripOutput, type, rows, dim);
    const Matrix scores = scratch_matrix(Scratch::kScores, torch::kFloat32, rows, seen);
    const Matrix dweights = scratch_matrix(Scratch::kScoresGradient, torch::kFloat32, rows, seen);
    const Matrix weights = scratch_matrix(Scratch::kWeights, type, rows, seen);
    const Matrix dscores = scratch_matrix(Scratch::kWeightsGradient, type, rows, seen);
    const Matrix query_sum = scratch_matrix(Scratch::kQuerySum, torch::kFloat32, rows, dim);
    float* delta = scratch_of<float>(Scratch::kDelta, rows);

    const auto output_stride = doutput.columns;  // dense, of the same width
    copy_rows(static_cast<const T*>(doutput.data) + group.query_offset(first, doutput.row_stride),
              doutput.row_stride, static_cast<T*>(gradient.data), group.width(), positions,
              group.width());
    copy_rows(output + group.query_offset(first, output_stride), output_stride,
              static_cast<T*>(mixed.data), group.width(), positions, group.width());
    loops.row_dots(static_cast<const T*>(gradient.data), static_cast<const T*>(mixed.data), delta,
                   rows, dim);

    multiply(queries, key.row_block(0, seen).transposed(), scores);
    multiply(gradient, value.row_block(0, seen).transposed(), dweights);
    loops.causal_softmax_backward(
        static_cast<const float*>(scores.data), static_cast<const float*>(dweights.data),
        log_sum + first * group.heads, delta, static_cast<T*>(weights.data),
        static_cast<T*>(dscores.data), rows, seen, first, group.heads, scale);
    multiply(weights.transposed(), gradient, value_sum.row_block(0, seen), into);
    multiply(dscores.transposed(), queries, key_sum.row_block(0, seen), into);
    multiply(dscores, key.row_block(0, seen), query_sum);
    loops.rotate_wide(static_cast<const float*>(query_sum.data), group.width(),
                      static_cast<T*>(dq.data) + group.query_offset(first, dq.row_stride),
                      dq.row_stride, cos + first * dim / 2, sin + first * dim / 2, positions,
                      group.heads, dim / 2, -1.0f);
  }
  loops.rotate_wide(static_cast<const float*>(key_sum.data), dim,
                    static_cast<T*>(dk.data) + group.key_offset(0, dk.row_stride), dk.row_stride,
                    cos, sin, length, 1, dim / 2, -1.0f);
  for (std::int64_t t = 0; t < length; ++t)
    loops.narrow(static_cast<const float*>(value_sum.data) + t * dim,
                 static_cast<T*>(dv.data) + group.key_offset(t, dv.row_stride), 1.0f, dim);
}

}  // namespace

torch::Tensor attention_forward(const Matrix& q, const Matrix& k, const Matrix& v, const Rope& rope,
                                const AttentionSize& size, AttentionState& state) {
  const auto& shape = size.shape;
  const auto rows = size.length * (shape.heads / shape.kv_heads);
  const auto options = torch::TensorOptions().dtype(q.type);
  state.query = torch::empty({size.batch, shape.kv_heads, rows, shape.head_dim}, options);
  state.key = torch::empty({size.batch, shape.kv_heads, size.length, shape.head_dim}, options);
  state.value = torch::empty_like(state.key);
  state.log_sum = torch::empty({size.batch, shape.kv_heads, rows}, options.dtype(torch::kFloat32));
  const auto width = shape.heads * shape.head_dim;
  torch::Tensor output = torch::empty({size.batch, size.length, width}, options);
  with_type(q.type, [&](auto zero) {
    using T = decltype(zero);
    for_groups(size, [&](const Group& group) {
      forward_group<T>(group, q, k, v, rope, state, elements<T>(output), width);
    });
  });
  return output;
}

void attention_backward(const Matrix& doutput, const torch::Tensor& output,
                        const AttentionState& state, const Rope& rope, const AttentionSize& size,
                        const Matrix& dq, const Matrix& dk, const Matrix& dv) {
  with_type(doutput.type, [&](auto zero) {
    using T = decltype(zero);
    for_groups(size, [&](const Group& group) {
      backward_group<T>(group, doutput, elements<T>(output), state, rope, dq, dk, dv);
    });
  });
}

}  // namespace muster::model::fused
