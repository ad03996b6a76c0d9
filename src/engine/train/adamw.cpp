#include "engine/train/adamw.h"

#include <algorithm>
#include <cmath>

#include "engine/model/ops_vector.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

namespace muster::train {
namespace {

/// A stretch of a shard that is decayed alike.
struct Stretch {
  torch::Tensor parameters, gradients, first, second, compute;

  Stretch(parallel::Shard& shard, Adamw::Moments& moments, std::int64_t begin, std::int64_t end)
      : parameters(shard.parameters.slice(0, begin, end)),
        gradients(shard.gradients.slice(0, begin, end)),
        first(moments.first.slice(0, begin, end)),
        second(moments.second.slice(0, begin, end)) {
    if (shard.compute.defined()) compute = shard.compute.slice(0, begin, end);
  }
};

void step_on_cpu(const Stretch& shard, const model::AdamwStep& step) {
  const bool narrow = shard.compute.defined() && shard.compute.scalar_type() == torch::kBFloat16;
  float* p = shard.parameters.data_ptr<float>();
  float* m = shard.first.data_ptr<float>();
  float* v = shard.second.data_ptr<float>();
  const float* g = shard.gradients.data_ptr<float>();
  auto* copy = narrow ? static_cast<model::Bf16*>(shard.compute.data_ptr()) : nullptr;
  constexpr std::int64_t kGrain = 1 << 16;
  at::parallel_for(0, shard.parameters.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    model::vector_kernels().adamw(p + begin, m + begin, v + begin, g + begin,
                                  copy == nullptr ? nullptr : copy + begin, end - begin, step);
  });
  if (shard.compute.defined() && !narrow) shard.compute.copy_(shard.parameters);
}

void step_with_aten(const Stretch& shard, const model::AdamwStep& step) {
  const auto gradient = shard.gradients * step.gradient_scale;
  shard.first.mul_(step.beta1).add_(gradient, 1.0f - step.beta1);
  shard.second.mul_(step.beta2).addcmul_(gradient, gradient, 1.0f - step.beta2);
  shard.parameters.mul_(1.0 - static_cast<double>(step.learning_rate) * step.decay);
  const auto scale = (shard.second * step.correction2).sqrt_().add_(step.epsilon);
  shard.parameters.addcdiv_(shard.first, scale, -step.learning_rate * step.correction1);
  if (shard.compute.defined()) shard.compute.copy_(shard.parameters);
}

}  // namespace

Adamw::Adamw(AdamwOptions options) : options_(options) {}

void Adamw::prepare(const std::vector<parallel::Shard>& shards) {
  for (auto i = moments_.size(); i < shards.size(); ++i)
    moments_.push_back(
        {torch::zeros_like(shards[i].parameters), torch::zeros_like(shards[i].parameters)});
}

void Adamw::step(std::vector<parallel::Shard>& shards, double learning_rate,
                 double gradient_scale) {
  const torch::NoGradGuard no_grad;
  prepare(shards);
  ++steps_;
  const auto made = static_cast<double>(steps_);
  const model::AdamwStep step = {
      .learning_rate = static_cast<float>(learning_rate),
      .beta1 = static_cast<float>(options_.beta1),
      .beta2 = static_cast<float>(options_.beta2),
      .epsilon = static_cast<float>(options_.epsilon),
      .decay = static_cast<float>(options_.weight_decay),
      .correction1 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta1, made))),
      .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta2, made))),
      .gradient_scale = static_cast<float>(gradient_scale)};
  model::AdamwStep without_decay = step;
  without_decay.decay = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto count = shards[i].parameters.numel();
    const auto boundary = std::min(shards[i].undecayed, count);
    const auto apply = [&](std::int64_t begin, std::int64_t end, const model::AdamwStep& how) {
      if (begin == end) return;
      const Stretch stretch(shards[i], moments_[i], begin, end);
      if (stretch.parameters.is_cpu())
        step_on_cpu(stretch, how);
      else
        step_with_aten(stretch, how);
    };
    apply(0, boundary, without_decay);
    apply(boundary, count, step);
  }
}

}  // namespace muster::train
