#include "engine/model/fused_nodes.h"
#include "engine/model/ops.h"

namespace muster::model {
namespace {

using torch::Tensor;

class FusedKernels : public Kernels {
 public:
  const char* name() const override { return "fused"; }

  Tensor embedding(const Tensor& ids, const Tensor& weight) const override {
    return fused::embedding(ids, weight);
  }
  Tensor linear(const Tensor& x, const Tensor& weight) const override {
    return fused::linear(x, weight);
  }
  Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) const override {
    return fused::rms_norm(x, weight, eps);
  }
  Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Rope& rope,
                   const AttentionShape& shape) const override {
    return fused::attention(q, k, v, rope, shape);
  }
  Tensor swiglu(const Tensor& gate, const Tensor& up) const override {
    return fused::swiglu(gate, up);
  }
  Tensor head_loss(const Tensor& hidden, const Tensor& weight, const Tensor& targets,
                   std::int64_t ignore_index) const override {
    return fused::head_loss(hidden, weight, targets, ignore_index);
  }
  Tensor attention_half(const Tensor& x, const Tensor& norm_weight, double eps,
                        const Tensor& q_weight, const Tensor& k_weight, const Tensor& v_weight,
                        const Tensor& o_weight, const Rope& rope,
                        const AttentionShape& shape) const override {
    return fused::attention_half(x, norm_weight, eps, q_weight, k_weight, v_weight, o_weight, rope,
                                 shape);
  }
  Tensor mlp_half(const Tensor& x, const Tensor& norm_weight, double eps, const Tensor& gate_weight,
                  const Tensor& up_weight, const Tensor& down_weight) const override {
    return fused::mlp_half(x, norm_weight, eps, gate_weight, up_weight, down_weight);
  }
};

}  // namespace

const Kernels& fused_kernels() {
  static const FusedKernels kKernels;
  return kKernels;
}

}  // namespace muster::model
