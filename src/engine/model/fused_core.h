// What the fused operations share: choosing the element type, scratch memory, rows over threads,
// and where the gradient of a weight goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "engine/model/matmul.h"
#include "engine/model/ops_vector.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

namespace muster::model::fused {

/// Calls body with a value of the element type: float or Bf16.
template <typename Body>
auto with_type(torch::ScalarType type, const Body& body) {
  if (type == torch::kFloat32) return body(float{});
  if (type == torch::kBFloat16) return body(Bf16{});
  throw std::invalid_argument("fused operations take float32 and bfloat16 only");
}

/// The elements, as the vector loops see them.
template <typename T>
T* elements(const torch::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

/// Scratch memory of this thread, one block per purpose; it keeps its largest size. The contents
/// last until the next call with the same purpose.
enum class Scratch {
  kNormed,
  kQuery,
  kKey,
  kValue,
  kMixedGradient,
  kHiddenGradient,
  kGate,
  kUp,
  kActivation,
  kActivationGradient,
  kScores,
  kScoresGradient,
  kWeights,
  kWeightsGradient,
  kStrip,
  kStripOutput,
  kStripGradient,
  kDelta,
  kKeySum,
  kValueSum,
  kQuerySum,
  kLogits,
  kPartials,
  kCount
};
void* scratch(Scratch purpose, std::size_t bytes);
template <typename T>
T* scratch_of(Scratch purpose, std::int64_t count) {
  return static_cast<T*>(scratch(purpose, static_cast<std::size_t>(count) * sizeof(T)));
}
/// The same as a dense matrix.
Matrix scratch_matrix(Scratch purpose, torch::ScalarType type, std::int64_t rows,
                      std::int64_t columns);

template <typename T>
constexpr torch::ScalarType kTypeOf = torch::kFloat32;
template <>
inline constexpr torch::ScalarType kTypeOf<Bf16> = torch::kBFloat16;

/// rms_norm of the rows of x [rows, columns] into y; 1/rms of each row into `inverse`.
void norm_forward(const torch::Tensor& x, const torch::Tensor& weight, double eps, const Matrix& y,
                  const torch::Tensor& inverse);

/// The gradients of rms_norm from dy (float32, dense): dx (+ residual, if defined) into `dx`;
/// returns dw. Sums over rows are made in fixed blocks, so that the threads' number does not change
/// them.
torch::Tensor norm_backward(const float* dy, const torch::Tensor& x, const torch::Tensor& weight,
                            const torch::Tensor& inverse, const torch::Tensor& residual,
                            const torch::Tensor& dx);

/// dyᵀ · x, written to the weight's gradient slot (then the result is undefined) or returned.
torch::Tensor weight_gradient(const torch::Tensor& weight, const Matrix& dy, const Matrix& x);

/// y[i] = x[i] · scale for all elements, in blocks over threads; `add`: y[i] += …
template <typename From, typename To>
using Convert = void (*)(const From*, To*, float, std::int64_t);
template <typename From, typename To>
void convert(Convert<From, To> loop, const From* from, To* to, float scale, std::int64_t count) {
  at::parallel_for(0, count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    loop(from + begin, to + begin, scale, end - begin);
  });
}

}  // namespace muster::model::fused
