// The elementwise and row-wise loops of the fused operations, as a table of functions that exists
// once per instruction set and is chosen when the program starts. Sums run in 16 lanes whatever the
// width of a register and products are not contracted into fused ones, so every table gives the
// same bits.
#pragma once

#include <cstdint>

namespace muster::model {

/// bfloat16 by its bits: the upper half of a float32.
struct Bf16 {
  std::uint16_t bits;
};

/// AdamW with decoupled decay (Loshchilov & Hutter, "Decoupled Weight Decay Regularization", 2019).
struct AdamwStep {
  float learning_rate = 0;
  float beta1 = 0.9f;
  float beta2 = 0.95f;
  float epsilon = 1e-8f;
  float decay = 0;        ///< weight decay; multiplied by the learning rate
  float correction1 = 1;  ///< 1 / (1 - beta1^t)
  float correction2 = 1;  ///< 1 / (1 - beta2^t)
  float gradient_scale = 1;
};

/// The sum of the exponentials of a row, built from one piece of the row after the other: total ·
/// e^top.
struct LogSum {
  float top = -0x1.fffffep127f;  ///< the largest element so far
  float total = 0;
};

/// Loops on activations of type T. Rows are dense unless a stride is given; strides count elements.
template <typename T>
struct RowKernels {
  /// y = round(x · r) · w with r = 1/sqrt(mean(x²) + eps), kept in `inverse` [rows].
  void (*rms_norm)(const T* x, const T* w, T* y, float* inverse, std::int64_t rows,
                   std::int64_t columns, float eps);
  /// Gradient of the above: dx (+ residual, unless null) [rows, columns], and dw [columns] += in
  /// float32.
  void (*rms_norm_backward)(const float* dy, const T* x, const T* w, const float* inverse,
                            const T* residual, T* dx, float* dw, std::int64_t rows,
                            std::int64_t columns);
  /// Turns the pairs (i, i + half) of one head by the angle of each position: `heads` rows per
  /// position, read at x + position · x_stride + head · 2·half, written at y + position · y_stride
  /// + head · 2·half. `direction` is 1, or -1 for the inverse.
  void (*rotate)(const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride, const float* cos,
                 const float* sin, std::int64_t positions, std::int64_t heads, std::int64_t half,
                 float direction);
  /// The same from float32.
  void (*rotate_wide)(const float* x, std::int64_t x_stride, T* y, std::int64_t y_stride,
                      const float* cos, const float* sin, std::int64_t positions,
                      std::int64_t heads, std::int64_t half, float direction);
  /// Row r of `scores` [rows, columns] has `first + r / group + 1` live columns: p = softmax(scale
  /// · s) there, 0 behind; log_sum[r] = log Σ exp(scale · s).
  void (*causal_softmax)(const float* scores, T* p, float* log_sum, std::int64_t rows,
                         std::int64_t columns, std::int64_t first, std::int64_t group, float scale);
  /// p again from scores and log_sum, and the gradient of the scores: ds = p · (dp - delta) ·
  /// scale.
  void (*causal_softmax_backward)(const float* scores, const float* dp, const float* log_sum,
                                  const float* delta, T* p, T* ds, std::int64_t rows,
                                  std::int64_t columns, std::int64_t first, std::int64_t group,
                                  float scale);
  /// sums[r] = Σ a · b over a row.
  void (*row_dots)(const T* a, const T* b, float* sums, std::int64_t rows, std::int64_t columns);
  /// y = silu(gate) · up.
  void (*swiglu)(const T* gate, const T* up, T* y, std::int64_t count);
  /// y = silu(gate) · up again (unless null), and both gradients.
  void (*swiglu_backward)(const T* gate, const T* up, const T* dy, T* y, T* dgate, T* dup,
                          std::int64_t count);
  /// The cross-entropy's gradient for a piece of a row of logits, whose whole row sums to `sum`:
  /// scale · (softmax - [i = target]), in place, as T from the piece's first byte on. `target`
  /// counts from the piece's start; -1: it is in another piece.
  void (*softmax_gradient)(float* logits, const LogSum& sum, std::int64_t target,
                           std::int64_t columns, float scale);
  /// y += scale · x, from float32, rounded once.
  void (*accumulate_from_wide)(const float* x, T* y, float scale, std::int64_t count);
  /// y += scale · x, in float32.
  void (*accumulate)(const T* x, float* y, float scale, std::int64_t count);
  /// y = scale · x, from float32.
  void (*narrow)(const float* x, T* y, float scale, std::int64_t count);
  /// y += scale · x, in float32, rounded once.
  void (*add)(const T* x, T* y, float scale, std::int64_t count);
  /// y = scale · x, in float32, rounded once.
  void (*scale)(const T* x, T* y, float scale, std::int64_t count);
};

struct VectorKernels {
  const char* name;  ///< "generic", "avx2", "avx512"
  RowKernels<float> wide;
  RowKernels<Bf16> half;
  /// Takes the next piece of a row of logits into its sum. A NaN in the row makes the total one.
  void (*log_sum)(const float* logits, std::int64_t columns, LogSum& sum);
  /// One pass over a shard: parameters p, moments m and v in place, from gradients g; `copy`
  /// (unless null) gets p rounded to bfloat16.
  void (*adamw)(float* p, float* m, float* v, const float* g, Bf16* copy, std::int64_t count,
                const AdamwStep& step);

  template <typename T>
  const RowKernels<T>& rows() const;
};

template <>
inline const RowKernels<float>& VectorKernels::rows<float>() const {
  return wide;
}
template <>
inline const RowKernels<Bf16>& VectorKernels::rows<Bf16>() const {
  return half;
}

/// The best table for this processor.
const VectorKernels& vector_kernels();

/// Every table that this processor can run, "generic" first, the best last.
struct VectorKernelList {
  const VectorKernels* tables[3] = {};
  int count = 0;
  const VectorKernels* const* begin() const { return tables; }
  const VectorKernels* const* end() const { return tables + count; }
};
VectorKernelList all_vector_kernels();

}  // namespace muster::model
