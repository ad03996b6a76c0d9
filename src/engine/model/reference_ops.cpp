#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/model/ops.h"

#include <torch/torch.h>

namespace muster::model {
namespace {

using torch::Tensor;

// x [B, heads, T, D] turned by the angles of its positions.
Tensor rotate(const Tensor& x, const Rope& rope) {
  const auto length = x.size(2);
  const auto half = x.size(3) / 2;
  const Tensor cos = rope.cos.slice(0, 0, length).to(x.scalar_type());
  const Tensor sin = rope.sin.slice(0, 0, length).to(x.scalar_type());
  const Tensor first = x.slice(3, 0, half);
  const Tensor second = x.slice(3, half);
  return torch::cat({first * cos - second * sin, second * cos + first * sin}, 3);
}

Tensor split_heads(const Tensor& x, std::int64_t heads, std::int64_t head_dim) {
  return x.view({x.size(0), x.size(1), heads, head_dim}).transpose(1, 2);
}

class ReferenceKernels : public Kernels {
 public:
  const char* name() const override { return "reference"; }

  Tensor embedding(const Tensor& ids, const Tensor& weight) const override {
    return torch::embedding(weight, ids);
  }

  Tensor linear(const Tensor& x, const Tensor& weight) const override {
    return torch::linear(x, weight);
  }

  Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) const override {
    const Tensor wide = x.to(torch::kFloat32);
    const Tensor scale = torch::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps);
    return weight * (wide * scale).to(x.scalar_type());
  }

  Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Rope& rope,
                   const AttentionShape& shape) const override {
    const auto batch = q.size(0);
    const auto length = q.size(1);
    const auto group = shape.heads / shape.kv_heads;
    const Tensor queries = rotate(split_heads(q, shape.heads, shape.head_dim), rope);
    const Tensor keys = rotate(split_heads(k, shape.kv_heads, shape.head_dim), rope);
    const Tensor values = split_heads(v, shape.kv_heads, shape.head_dim);
    // [B, kv_heads, group, T, D] against [B, kv_heads, 1, T, D]: each key/value head serves its
    // group.
    const Tensor grouped = queries.reshape({batch, shape.kv_heads, group, length, shape.head_dim});
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
    const Tensor scores = torch::matmul(grouped, keys.unsqueeze(2).transpose(-1, -2)) * scale;
    const Tensor future =
        torch::ones({length, length}, q.options().dtype(torch::kBool).requires_grad(false)).triu(1);
    const Tensor masked =
        scores.to(torch::kFloat32).masked_fill(future, -std::numeric_limits<float>::infinity());
    const Tensor weights = torch::softmax(masked, -1).to(q.scalar_type());
    const Tensor mixed = torch::matmul(weights, values.unsqueeze(2));
    return mixed.reshape({batch, shape.heads, length, shape.head_dim})
        .transpose(1, 2)
        .reshape({batch, length, shape.heads * shape.head_dim});
  }

  Tensor swiglu(const Tensor& gate, const Tensor& up) const override {
    return torch::silu(gate) * up;
  }

  Tensor head_loss(const Tensor& hidden, const Tensor& weight, const Tensor& targets,
                   std::int64_t ignore_index) const override {
    if (!targets.ne(ignore_index).any().item<bool>())
      throw std::invalid_argument("head_loss: no target counts");
    const Tensor logits = torch::linear(hidden, weight).to(torch::kFloat32);
    namespace F = torch::nn::functional;
    return F::cross_entropy(logits, targets,
                            F::CrossEntropyFuncOptions().ignore_index(ignore_index));
  }
};

}  // namespace

std::vector<Tensor> Kernels::linears(const Tensor& x, const std::vector<Tensor>& weights) const {
  std::vector<Tensor> results;
  results.reserve(weights.size());
  for (const Tensor& weight : weights) results.push_back(linear(x, weight));
  return results;
}

Tensor Kernels::self_attention(const Tensor& x, const Tensor& q_weight, const Tensor& k_weight,
                               const Tensor& v_weight, const Tensor& o_weight, const Rope& rope,
                               const AttentionShape& shape) const {
  const auto projected = linears(x, {q_weight, k_weight, v_weight});
  return linear(attention(projected[0], projected[1], projected[2], rope, shape), o_weight);
}

Tensor Kernels::mlp(const Tensor& x, const Tensor& gate_weight, const Tensor& up_weight,
                    const Tensor& down_weight) const {
  const auto projected = linears(x, {gate_weight, up_weight});
  return linear(swiglu(projected[0], projected[1]), down_weight);
}

Tensor Kernels::attention_half(const Tensor& x, const Tensor& norm_weight, double eps,
                               const Tensor& q_weight, const Tensor& k_weight,
                               const Tensor& v_weight, const Tensor& o_weight, const Rope& rope,
                               const AttentionShape& shape) const {
  return x + self_attention(rms_norm(x, norm_weight, eps), q_weight, k_weight, v_weight, o_weight,
                            rope, shape);
}

Tensor Kernels::mlp_half(const Tensor& x, const Tensor& norm_weight, double eps,
                         const Tensor& gate_weight, const Tensor& up_weight,
                         const Tensor& down_weight) const {
  return x + mlp(rms_norm(x, norm_weight, eps), gate_weight, up_weight, down_weight);
}

const Kernels& reference_kernels() {
  static const ReferenceKernels kKernels;
  return kKernels;
}

}  // namespace muster::model
