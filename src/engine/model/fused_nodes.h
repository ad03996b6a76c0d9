// The fused operations as differentiable functions: one autograd node each, with a backward pass
// written by hand. Shapes as in ops.h; tensors on the CPU, contiguous, float32 or bfloat16.
#pragma once

#include "engine/model/ops.h"

namespace muster::model::fused {

torch::Tensor embedding(const torch::Tensor& ids, const torch::Tensor& weight);
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight);
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const Rope& rope, const AttentionShape& shape);
torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up);
torch::Tensor head_loss(const torch::Tensor& hidden, const torch::Tensor& weight,
                        const torch::Tensor& targets, std::int64_t ignore_index);
torch::Tensor attention_half(const torch::Tensor& x, const torch::Tensor& norm_weight, double eps,
                             const torch::Tensor& q_weight, const torch::Tensor& k_weight,
                             const torch::Tensor& v_weight, const torch::Tensor& o_weight,
                             const Rope& rope, const AttentionShape& shape);
torch::Tensor mlp_half(const torch::Tensor& x, const torch::Tensor& norm_weight, double eps,
                       const torch::Tensor& gate_weight, const torch::Tensor& up_weight,
                       const torch::Tensor& down_weight);

}  // namespace muster::model::fused
