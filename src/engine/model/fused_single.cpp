// The operations by themselves; the halves of a block (fused_block.cpp) do without them.
#include "engine/model/fused_attention.h"
#include "engine/model/fused_nodes.h"

#include <torch/torch.h>

namespace muster::model::fused {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Linear : public torch::autograd::Function<Linear> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Tensor& weight) {
    const Tensor x = input.contiguous();
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    Tensor y = torch::empty(shape, x.options());
    multiply(as_matrix(x), as_matrix(weight).transposed(), as_matrix(y));
    ctx->save_for_backward({x, weight});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const Tensor dy = gradients[0].contiguous();
    Tensor dx;
    if (x.requires_grad()) {
      dx = torch::empty_like(x);
      multiply(as_matrix(dy), as_matrix(weight), as_matrix(dx));
    }
    return {dx, weight_gradient(weight, as_matrix(dy), as_matrix(x))};
  }
};

class RmsNorm : public torch::autograd::Function<RmsNorm> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Tensor& weight,
                        double eps) {
    const Tensor x = input.contiguous();
    Tensor y = torch::empty_like(x);
    const Tensor inverse =
        torch::empty({x.numel() / x.size(-1)}, x.options().dtype(torch::kFloat32));
    norm_forward(x, weight, eps, as_matrix(y), inverse);
    ctx->save_for_backward({x, weight, inverse});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor dy = gradients[0].to(torch::kFloat32).contiguous();
    Tensor dx = torch::empty_like(saved[0]);
    const Tensor dweight = norm_backward(elements<float>(dy), saved[0], saved[1], saved[2], {}, dx);
    return {dx, dweight, {}};
  }
};

class Swiglu : public torch::autograd::Function<Swiglu> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& gate_in, const Tensor& up_in) {
    const Tensor gate = gate_in.contiguous();
    const Tensor up = up_in.contiguous();
    Tensor y = torch::empty_like(gate);
    with_type(gate.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      vector_kernels().rows<T>().swiglu(elements<T>(gate), elements<T>(up), elements<T>(y),
                                        gate.numel());
    });
    ctx->save_for_backward({gate, up});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &gate = saved[0], &up = saved[1];
    const Tensor dy = gradients[0].contiguous();
    Tensor dgate = torch::empty_like(gate);
    Tensor dup = torch::empty_like(up);
    with_type(gate.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      vector_kernels().rows<T>().swiglu_backward(elements<T>(gate), elements<T>(up),
                                                 elements<T>(dy), nullptr, elements<T>(dgate),
                                                 elements<T>(dup), gate.numel());
    });
    return {dgate, dup};
  }
};

class Attention : public torch::autograd::Function<Attention> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Tensor& cos, const Tensor& sin, std::int64_t heads,
                        std::int64_t kv_heads, std::int64_t head_dim) {
    AttentionState state;
    const Tensor y = attention_forward(as_matrix(q.contiguous()), as_matrix(k.contiguous()),
                                       as_matrix(v.contiguous()), {cos, sin},
                                       {q.size(0), q.size(1), {heads, kv_heads, head_dim}}, state);
    ctx->save_for_backward({y, state.query, state.key, state.value, state.log_sum, cos, sin});
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["kv_heads"] = kv_heads;
    ctx->saved_data["head_dim"] = head_dim;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor& y = saved[0];
    const AttentionShape shape = {ctx->saved_data["heads"].toInt(),
                                  ctx->saved_data["kv_heads"].toInt(),
                                  ctx->saved_data["head_dim"].toInt()};
    const Tensor dy = gradients[0].contiguous();
    Tensor dq = torch::empty_like(y);
    Tensor dk = torch::empty({y.size(0), y.size(1), shape.kv_heads * shape.head_dim}, y.options());
    Tensor dv = torch::empty_like(dk);
    attention_backward(as_matrix(dy), y, {saved[1], saved[2], saved[3], saved[4]},
                       {saved[5], saved[6]}, {y.size(0), y.size(1), shape}, as_matrix(dq),
                       as_matrix(dk), as_matrix(dv));
    return {dq, dk, dv, {}, {}, {}, {}, {}};
  }
};

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight) {
  return Linear::apply(x, weight);
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return RmsNorm::apply(x, weight, eps);
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  return Swiglu::apply(gate, up);
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Rope& rope,
                 const AttentionShape& shape) {
  return Attention::apply(q, k, v, rope.cos, rope.sin, shape.heads, shape.kv_heads, shape.head_dim);
}

}  // namespace muster::model::fused
