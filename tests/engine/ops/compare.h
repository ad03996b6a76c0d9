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

inline void expect_same(const Operation& operation, const std::vector<torch::Tensor>& inputs,
                        const Comparison& comparison) {
  const auto ours = leaves(inputs, comparison.type, comparison.type);
  const auto theirs = leaves(inputs, torch::kFloat32, comparison.type);
  const auto y = operation(fused_kernels(), ours);
  const auto expected = operation(reference_kernels(), theirs);
  ASSERT_EQ(y.sizes(), expected.sizes());
  EXPECT_LE(distance(y, expected, comparison.floor), comparison.limit) << "value";

  torch::manual_seed(7);
  const auto direction = torch::randn_like(expected).to(y.scalar_type());
  y.backward(direction);
  expected.backward(direction.to(torch::kFloat32));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_TRUE(ours[i].grad().defined()) << "input " << i;
    EXPECT_LE(distance(ours[i].grad(), theirs[i].grad(), comparison.floor), comparison.limit)
        << "gradient of input " << i << " of shape " << ours[i].sizes();
  }
}

}  // namespace muster::model
