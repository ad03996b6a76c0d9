#include "engine/model/fused_attention.h"
#include "engine/model/fused_nodes.h"

#include <cstring>

#include <torch/torch.h>

namespace muster::model::fused {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The residual is what the last product adds to.
void copy_into(const Tensor& from, const Matrix& to) {
  std::memcpy(to.data, from.data_ptr(), from.numel() * from.element_size());
}

class AttentionHalf : public torch::autograd::Function<AttentionHalf> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Tensor& norm_weight,
                        double eps, const Tensor& q_weight, const Tensor& k_weight,
                        const Tensor& v_weight, const Tensor& o_weight, const Tensor& cos,
                        const Tensor& sin, std::int64_t heads, std::int64_t kv_heads,
                        std::int64_t head_dim) {
    const Tensor x = input.contiguous();
    const AttentionSize size = {x.size(0), x.size(1), {heads, kv_heads, head_dim}};
    const auto rows = x.size(0) * x.size(1);
    const auto type = x.scalar_type();
    const Tensor inverse = torch::empty({rows}, x.options().dtype(torch::kFloat32));
    const Matrix normed = scratch_matrix(Scratch::kNormed, type, rows, x.size(2));
    norm_forward(x, norm_weight, eps, normed, inverse);

    const Matrix q = scratch_matrix(Scratch::kQuery, type, rows, heads * head_dim);
    const Matrix k = scratch_matrix(Scratch::kKey, type, rows, kv_heads * head_dim);
    const Matrix v = scratch_matrix(Scratch::kValue, type, rows, kv_heads * head_dim);
    multiply(normed, as_matrix(q_weight).transposed(), q);
    multiply(normed, as_matrix(k_weight).transposed(), k);
    multiply(normed, as_matrix(v_weight).transposed(), v);

    AttentionState state;
    const Tensor mixed = attention_forward(q, k, v, {cos, sin}, size, state);
    Tensor y = torch::empty_like(x);
    copy_into(x, as_matrix(y));
    multiply(as_matrix(mixed), as_matrix(o_weight).transposed(), as_matrix(y), Into::kAdd);

    ctx->save_for_backward({x, norm_weight, q_weight, k_weight, v_weight, o_weight, cos, sin,
                            inverse, mixed, state.query, state.key, state.value, state.log_sum});
    ctx->saved_data["eps"] = eps;
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["kv_heads"] = kv_heads;
    ctx->saved_data["head_dim"] = head_dim;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &norm_weight = saved[1], &q_weight = saved[2], &k_weight = saved[3],
                 &v_weight = saved[4], &o_weight = saved[5], &inverse = saved[8], &mixed = saved[9];
    const Rope rope = {saved[6], saved[7]};
    const AttentionState state = {saved[10], saved[11], saved[12], saved[13]};
    const AttentionShape shape = {ctx->saved_data["heads"].toInt(),
                                  ctx->saved_data["kv_heads"].toInt(),
                                  ctx->saved_data["head_dim"].toInt()};
    const AttentionSize size = {x.size(0), x.size(1), shape};
    const auto rows = x.size(0) * x.size(1);
    const auto type = x.scalar_type();
    const auto queries = shape.heads * shape.head_dim;
    const auto keys = shape.kv_heads * shape.head_dim;
    const Tensor dy = gradients[0].contiguous();

    const Matrix dmixed = scratch_matrix(Scratch::kMixedGradient, type, rows, queries);
    multiply(as_matrix(dy), as_matrix(o_weight), dmixed);
    const Tensor do_weight = weight_gradient(o_weight, as_matrix(dy), as_matrix(mixed));

    const Matrix dq = scratch_matrix(Scratch::kQuery, type, rows, queries);
    const Matrix dk = scratch_matrix(Scratch::kKey, type, rows, keys);
    const Matrix dv = scratch_matrix(Scratch::kValue, type, rows, keys);
    attention_backward(dmixed, mixed, state, rope, size, dq, dk, dv);

    const Matrix normed = scratch_matrix(Scratch::kNormed, type, rows, x.size(2));
    norm_forward(x, norm_weight, ctx->saved_data["eps"].toDouble(), normed, inverse);
    const Tensor dq_weight = weight_gradient(q_weight, dq, normed);
    const Tensor dk_weight = weight_gradient(k_weight, dk, normed);
    const Tensor dv_weight = weight_gradient(v_weight, dv, normed);

    const Matrix dnormed =
        scratch_matrix(Scratch::kHiddenGradient, torch::kFloat32, rows, x.size(2));
    multiply(dq, as_matrix(q_weight), dnormed);
    multiply(dk, as_matrix(k_weight), dnormed, Into::kAdd);
    multiply(dv, as_matrix(v_weight), dnormed, Into::kAdd);
    Tensor dx = torch::empty_like(x);
    const Tensor dnorm =
        norm_backward(static_cast<const float*>(dnormed.data), x, norm_weight, inverse, dy, dx);
    return {dx, dnorm, {}, dq_weight, dk_weight, dv_weight, do_weight, {}, {}, {}, {}, {}};
  }
};

class MlpHalf : public torch::autograd::Function<MlpHalf> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Tensor& norm_weight,
                        double eps, const Tensor& gate_weight, const Tensor& up_weight,
                        const Tensor& down_weight) {
    const Tensor x = input.contiguous();
    const auto rows = x.numel() / x.size(-1);
    const auto inner = gate_weight.size(0);
    const auto type = x.scalar_type();
    const Tensor inverse = torch::empty({rows}, x.options().dtype(torch::kFloat32));
    const Matrix normed = scratch_matrix(Scratch::kNormed, type, rows, x.size(-1));
    norm_forward(x, norm_weight, eps, normed, inverse);

    const Tensor gate = torch::empty({rows, inner}, x.options());
    const Tensor up = torch::empty({rows, inner}, x.options());
    multiply(normed, as_matrix(gate_weight).transposed(), as_matrix(gate));
    multiply(normed, as_matrix(up_weight).transposed(), as_matrix(up));
    const Matrix activation = scratch_matrix(Scratch::kActivation, type, rows, inner);
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      at::parallel_for(0, rows * inner, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        vector_kernels().rows<T>().swiglu(elements<T>(gate) + begin, elements<T>(up) + begin,
                                          static_cast<T*>(activation.data) + begin, end - begin);
      });
    });
    Tensor y = torch::empty_like(x);
    copy_into(x, as_matrix(y));
    multiply(activation, as_matrix(down_weight).transposed(), as_matrix(y), Into::kAdd);

    ctx->save_for_backward(
        {x, norm_weight, gate_weight, up_weight, down_weight, inverse, gate, up});
    ctx->saved_data["eps"] = eps;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &norm_weight = saved[1], &gate_weight = saved[2],
                 &up_weight = saved[3], &down_weight = saved[4], &inverse = saved[5],
                 &gate = saved[6], &up = saved[7];
    const auto rows = x.numel() / x.size(-1);
    const auto inner = gate_weight.size(0);
    const auto type = x.scalar_type();
    const Tensor dy = gradients[0].contiguous();

    const Matrix dactivation = scratch_matrix(Scratch::kActivationGradient, type, rows, inner);
    multiply(as_matrix(dy), as_matrix(down_weight), dactivation);
    const Matrix activation = scratch_matrix(Scratch::kActivation, type, rows, inner);
    const Matrix dgate = scratch_matrix(Scratch::kGate, type, rows, inner);
    const Matrix dup = scratch_matrix(Scratch::kUp, type, rows, inner);
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      at::parallel_for(0, rows * inner, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        vector_kernels().rows<T>().swiglu_backward(
            elements<T>(gate) + begin, elements<T>(up) + begin,
            static_cast<const T*>(dactivation.data) + begin,
            static_cast<T*>(activation.data) + begin, static_cast<T*>(dgate.data) + begin,
            static_cast<T*>(dup.data) + begin, end - begin);
      });
    });
    const Tensor ddown_weight = weight_gradient(down_weight, as_matrix(dy), activation);

    const Matrix normed = scratch_matrix(Scratch::kNormed, type, rows, x.size(-1));
    norm_forward(x, norm_weight, ctx->saved_data["eps"].toDouble(), normed, inverse);
    const Tensor dgate_weight = weight_gradient(gate_weight, dgate, normed);
    const Tensor dup_weight = weight_gradient(up_weight, dup, normed);

    const Matrix dnormed =
        scratch_matrix(Scratch::kHiddenGradient, torch::kFloat32, rows, x.size(-1));
    multiply(dgate, as_matrix(gate_weight), dnormed);
    multiply(dup, as_matrix(up_weight), dnormed, Into::kAdd);
    Tensor dx = torch::empty_like(x);
    const Tensor dnorm =
        norm_backward(static_cast<const float*>(dnormed.data), x, norm_weight, inverse, dy, dx);
    return {dx, dnorm, {}, dgate_weight, dup_weight, ddown_weight};
  }
};

}  // namespace

Tensor attention_half(const Tensor& x, const Tensor& norm_weight, double eps,
                      const Tensor& q_weight, const Tensor& k_weight, const Tensor& v_weight,
                      const Tensor& o_weight, const Rope& rope, const AttentionShape& shape) {
  return AttentionHalf::apply(x, norm_weight, eps, q_weight, k_weight, v_weight, o_weight, rope.cos,
                              rope.sin, shape.heads, shape.kv_heads, shape.head_dim);
}

Tensor mlp_half(const Tensor& x, const Tensor& norm_weight, double eps, const Tensor& gate_weight,
                const Tensor& up_weight, const Tensor& down_weight) {
  return MlpHalf::apply(x, norm_weight, eps, gate_weight, up_weight, down_weight);
}

}  // namespace muster::model::fused
