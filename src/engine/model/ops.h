// The operations of a Llama decoder, as a table with two implementations: plain ATen, which is the
// reference and the path on CUDA, and fused ones for CPUs. Every fused operation is checked against
// the reference, values and gradients.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/types.h>

namespace muster::model {

/// Rotary position table: cos and sin of position × frequency, float32 [positions, head_dim / 2].
struct Rope {
  torch::Tensor cos;
  torch::Tensor sin;
};

/// How queries and keys/values are laid out: `heads` query heads share `kv_heads` key/value heads
/// in groups of equal size (head h reads key/value head h / (heads / kv_heads)).
struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
};

/// Differentiable operations. Activations and weights are float32 or bfloat16 (one dtype per call)
/// and contiguous in the last dimension; sums are made in float32. B batch, T positions, H hidden,
/// D head_dim, V vocabulary.
class Kernels {
 public:
  virtual ~Kernels() = default;

  /// "reference" or "fused".
  virtual const char* name() const = 0;

  /// ids int64 [B, T], weight [V, H] -> [B, T, H].
  virtual torch::Tensor embedding(const torch::Tensor& ids, const torch::Tensor& weight) const = 0;

  /// x [..., in], weight [out, in] -> x · weightᵀ, [..., out].
  virtual torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight) const = 0;

  /// x [..., H], weight [H] -> x / sqrt(mean(x²) + eps) · weight; the mean in float32, x rounded to
  /// its own dtype before the product with weight (as the published models do).
  virtual torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight,
                                 double eps) const = 0;

  /// Causal attention with rotary positions 0 … T-1, scaled by 1/sqrt(D). q [B, T, heads · D], k
  /// and v [B, T, kv_heads · D] before rotation -> [B, T, heads · D]. Rotation pairs element i of a
  /// head with i + D/2 (the Hugging Face layout).
  virtual torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k,
                                  const torch::Tensor& v, const Rope& rope,
                                  const AttentionShape& shape) const = 0;

  /// silu(gate) · up, elementwise.
  virtual torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up) const = 0;

  /// Mean cross-entropy of softmax(hidden · weightᵀ) against targets, float32 scalar. hidden [N,
  /// H], weight [V, H], targets int64 [N]; a target equal to `ignore_index` does not count. Throws
  /// std::invalid_argument when none counts.
  virtual torch::Tensor head_loss(const torch::Tensor& hidden, const torch::Tensor& weight,
                                  const torch::Tensor& targets,
                                  std::int64_t ignore_index = -100) const = 0;

  // Compositions of the above, which an implementation may do as one.

  /// The same input times several weights: one result each.
  virtual std::vector<torch::Tensor> linears(const torch::Tensor& x,
                                             const std::vector<torch::Tensor>& weights) const;

  /// The attention half of a block: x [B, T, H] (already normalised) -> output projection of
  /// attention over the projections of x.
  virtual torch::Tensor self_attention(const torch::Tensor& x, const torch::Tensor& q_weight,
                                       const torch::Tensor& k_weight, const torch::Tensor& v_weight,
                                       const torch::Tensor& o_weight, const Rope& rope,
                                       const AttentionShape& shape) const;

  /// The other half: down · swiglu(gate · x, up · x), with x [..., H] already normalised.
  virtual torch::Tensor mlp(const torch::Tensor& x, const torch::Tensor& gate_weight,
                            const torch::Tensor& up_weight, const torch::Tensor& down_weight) const;

  /// x + self_attention(rms_norm(x, norm_weight, eps), …): half of a block, with norm and residual.
  virtual torch::Tensor attention_half(const torch::Tensor& x, const torch::Tensor& norm_weight,
                                       double eps, const torch::Tensor& q_weight,
                                       const torch::Tensor& k_weight, const torch::Tensor& v_weight,
                                       const torch::Tensor& o_weight, const Rope& rope,
                                       const AttentionShape& shape) const;

  /// x + mlp(rms_norm(x, norm_weight, eps), …).
  virtual torch::Tensor mlp_half(const torch::Tensor& x, const torch::Tensor& norm_weight,
                                 double eps, const torch::Tensor& gate_weight,
                                 const torch::Tensor& up_weight,
                                 const torch::Tensor& down_weight) const;
};

/// Plain ATen. Needs T × T per head for attention and N × V for the head.
const Kernels& reference_kernels();

/// Fused for CPUs, float32 and bfloat16.
const Kernels& fused_kernels();

}  // namespace muster::model
