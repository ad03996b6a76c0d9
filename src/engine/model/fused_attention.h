// Causal grouped-query attention without a T × T matrix: strips of query positions against the keys
// they see. Memory is linear in T; probabilities are made again in the backward pass from the saved
// log-sums (as FlashAttention, Dao et al. 2022).
#pragma once

#include "engine/model/fused_core.h"
#include "engine/model/ops.h"

namespace muster::model::fused {

/// What the backward pass needs. G = heads / kv_heads.
struct AttentionState {
  torch::Tensor query;    ///< rotated, [B, kv_heads, T · G, D]: the heads of a group side by side
  torch::Tensor key;      ///< rotated, [B, kv_heads, T, D]
  torch::Tensor value;    ///< [B, kv_heads, T, D]
  torch::Tensor log_sum;  ///< float32 [B, kv_heads, T · G]
};

struct AttentionSize {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  AttentionShape shape;
};

/// q [B · T, heads · D], k and v [B · T, kv_heads · D] before rotation -> output [B, T, heads · D].
torch::Tensor attention_forward(const Matrix& q, const Matrix& k, const Matrix& v, const Rope& rope,
                                const AttentionSize& size, AttentionState& state);

/// Gradients of q, k and v before rotation, from that of the output (both [B · T, heads · D]).
void attention_backward(const Matrix& doutput, const torch::Tensor& output,
                        const AttentionState& state, const Rope& rope, const AttentionSize& size,
                        const Matrix& dq, const Matrix& dk, const Matrix& dv);

}  // namespace muster::model::fused
