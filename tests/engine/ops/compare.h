// How far two tensors are apart, and inputs for the fused operations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "engine/model/ops.h"

namespace muster::model {

/// The largest difference relative to the largest magnitude expected: max|a - b| / max(max|b|,
/// floor).
inline double distance(const torch::Tensor& a, const torch::Tensor& b, double floor = 0.0) {
  const auto wide_a = a.detach().to(torch::kFloat64);
  const auto wide_b = b.detach().to(torch::kFloat64);
  if (wide_a.numel() == 0) return wide_b.numel() == 0 ? 0.0 : 1e30;
  const double scale = std::max(wide_b.abs().max().item<double>(), floor);
  const double difference = (wide_a - wide_b).abs().max().item<double>();
  return difference / (scale > 0 ? scale : 1.0);
}

/// Values and gradients agree to `limit`, for inputs of type `type`; the reference runs in float32
/// on the same (rounded) inputs.
struct Comparison {
  torch::ScalarType type = torch::kFloat32;
  double limit = 1e-5;
  /// Results smaller than this are differences of larger terms, whose rounding is what counts.
  double floor = 0.0;
};

using Operation = std::function<torch::Tensor(const Kernels&, const std::vector<torch::Tensor>&)>;

/// Leaves that start equal, one set of `type`, one of float32.
inline std::vector<torch::Tensor> leaves(const std::vector<torch::Tensor>& inputs,
                                         torch::ScalarType type, torch::ScalarType rounding) {
  std::vector<torch::Tensor> result;
  for (const auto& input : inputs)
    result.push_back(input.to(rounding).to(type).clone().set_requires_grad(true));
  return result;
}

/// The value, then the gradients along a fixed random direction.
inline std::vector<torch::Tensor> results(const Operation& operation, const Kernels& kernels,
                                          const std::vector<torch::Tensor>& inputs) {
  const auto y = operation(kernels, inputs);
  torch::manual_seed(7);
  y.backward(torch::randn(y.sizes()).to(torch::kBFloat16).to(y.scalar_type()));
  std::vector<torch::Tensor> all = {y.detach()};
  for (const auto& input : inputs) all.push_back(input.grad());
  return all;
}

inline void expect_same(const Operation& operation, const std::vector<torch::Tensor>& inputs,
                        const Comparison& comparison) {
  const auto type = comparison.type;
  const auto ours = results(operation, fused_kernels(), leaves(inputs, type, type));
  const auto exact = results(operation, reference_kernels(), leaves(inputs, torch::kFloat32, type));
  // In bfloat16 the reference is no better than its own roundings, which differences of few terms
  // enlarge: what it misses, ours may miss a few times.
  std::vector<torch::Tensor> plain = exact;
  if (type == torch::kBFloat16)
    plain = results(operation, reference_kernels(), leaves(inputs, type, type));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_TRUE(ours[i].defined()) << "result " << i;
    ASSERT_EQ(ours[i].sizes(), exact[i].sizes());
    const double allowed = comparison.limit + 3 * distance(plain[i], exact[i], comparison.floor);
    EXPECT_LE(distance(ours[i], exact[i], comparison.floor), allowed)
        << (i == 0 ? "value" : "gradient") << " of shape " << exact[i].sizes() << ", result " << i;
  }
}

}  // namespace muster::model
