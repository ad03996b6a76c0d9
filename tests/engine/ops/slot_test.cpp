// Gradients written into slots are the gradients that autograd would have been given.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "compare.h"
#include "engine/model/gradient_slot.h"

namespace muster::model {
namespace {

/// A parameter whose gradient goes to a slot of its own, filled with rubbish first; every
/// contribution but the first adds.
class Slotted {
 public:
  Slotted(std::vector<std::int64_t> shape, torch::ScalarType type)
      : parameter((torch::randn(shape) * 0.2).to(type).set_requires_grad(true)),
        gradient(torch::full(shape, 1e9, type)) {
    GradientSlots::instance().add(parameter, [this] {
      return GradientSlot{gradient, takes++ > 0};
    });
  }
  ~Slotted() { GradientSlots::instance().remove(parameter); }
  Slotted(const Slotted&) = delete;
  Slotted& operator=(const Slotted&) = delete;

  torch::Tensor parameter;
  torch::Tensor gradient;
  int takes = 0;
};

class Slots : public testing::TestWithParam<torch::ScalarType> {
 protected:
  double limit() const { return GetParam() == torch::kFloat32 ? 1e-6 : 1e-2; }
  torch::Tensor leaf(const Slotted& slotted) const {
    return slotted.parameter.detach().clone().set_requires_grad(true);
  }
};

INSTANTIATE_TEST_SUITE_P(Types, Slots, testing::Values(torch::kFloat32, torch::kBFloat16),
                         [](const auto& info) {
                           return info.param == torch::kFloat32 ? "float32" : "bfloat16";
                         });

TEST_P(Slots, EmbeddingAndHeadOfOneWeightAddUp) {
  torch::manual_seed(1);
  Slotted tied({300, 32}, GetParam());
  const auto plain = leaf(tied);
  const auto ids = torch::randint(300, {2, 20}, torch::kInt64);
  const auto targets = torch::randint(300, {40}, torch::kInt64);
  const auto loss = [&](const torch::Tensor& weight) {
    const auto states = fused_kernels().embedding(ids, weight).view({40, 32});
    return fused_kernels().head_loss(states, weight, targets) * 3.0;
  };
  loss(tied.parameter).backward();
  loss(plain).backward();
  EXPECT_EQ(tied.takes, 2);
  EXPECT_FALSE(tied.parameter.grad().defined());
  EXPECT_LE(distance(tied.gradient, plain.grad()), limit());
}

TEST_P(Slots, AllWeightsOfABlock) {
  torch::manual_seed(2);
  constexpr std::int64_t kHidden = 48, kInner = 80, kDim = 8;
  const AttentionShape shape = {6, 2, kDim};
  const auto angle = torch::randn({10, kDim / 2});
  const Rope rope = {angle.cos(), angle.sin()};
  Slotted q({48, kHidden}, GetParam()), k({16, kHidden}, GetParam()), v({16, kHidden}, GetParam()),
      o({kHidden, 48}, GetParam()), gate({kInner, kHidden}, GetParam()),
      up({kInner, kHidden}, GetParam()), down({kHidden, kInner}, GetParam());
  std::vector<Slotted*> slotted = {&q, &k, &v, &o, &gate, &up, &down};
  const auto norm = torch::ones({kHidden}, GetParam());
  const auto x = torch::randn({1, 10, kHidden}).to(GetParam());
  const auto run = [&](const std::vector<torch::Tensor>& w) {
    const auto& kernels = fused_kernels();
    const auto y = kernels.attention_half(x, norm, 1e-5, w[0], w[1], w[2], w[3], rope, shape);
    return kernels.mlp_half(y, norm, 1e-5, w[4], w[5], w[6]).to(torch::kFloat32).square().sum();
  };
  std::vector<torch::Tensor> parameters, plain;
  for (const auto* s : slotted) {
    parameters.push_back(s->parameter);
    plain.push_back(leaf(*s));
  }
  // Two micro-batches: the second adds.
  run(parameters).backward();
  run(parameters).backward();
  run(plain).backward();
  run(plain).backward();
  for (std::size_t i = 0; i < slotted.size(); ++i) {
    EXPECT_EQ(slotted[i]->takes, 2);
    EXPECT_LE(distance(slotted[i]->gradient, plain[i].grad()), limit()) << "weight " << i;
  }
}

}  // namespace
}  // namespace muster::model
