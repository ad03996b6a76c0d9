#include "engine/train/adamw.h"

#include <cmath>

#include "engine/model/ops_vector.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

namespace muster::train {
namespace {

void step_on_cpu(parallel::Shard& shard, Adamw::Moments& moments, const model::AdamwStep& step) {
  const bool narrow = shard.compute.defined() && shard.compute.scalar_type() == torch::kBFloat16;
  float* p = shard.parameters.data_ptr<float>();
  float* m = moments.first.data_ptr<float>();
  float* v = moments.second.data_ptr<float>();
  const float* g = shard.gradients.data_ptr<float>();
  const std::uint8_t* mask =
      shard.decay_mask.defined() ? shard.decay_mask.data_ptr<std::uint8_t>() : nullptr;
  auto* copy = narrow ? static_cast<model::Bf16*>(shard.compute.data_ptr()) : nullptr;
  constexpr std::int64_t kGrain = 1 << 16;
  at::parallel_for(0, shard.parameters.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    model::vector_kernels().adamw(p + begin, m + begin, v + begin, g + begin,
                                  mask == nullptr ? nullptr : mask + begin,
                                  copy == nullptr ? nullptr : copy + begin, end - begin, step);
  });
  if (shard.compute.defined() && !narrow) shard.compute.copy_(shard.parameters);
}

void step_with_aten(parallel::Shard& shard, Adamw::Moments& moments, const model::AdamwStep& step) {
  const auto gradient = shard.gradients * step.gradient_scale;
  moments.first.mul_(step.beta1).add_(gradient, 1.0f - step.beta1);
  moments.second.mul_(step.beta2).addcmul_(gradient, gradient, 1.0f - step.beta2);
  const double shrink = static_cast<double>(step.learning_rate) * step.decay;
  if (shard.decay_mask.defined())
    shard.parameters.sub_(shard.parameters * shard.decay_mask, shrink);
  else
    shard.parameters.mul_(1.0 - shrink);
  const auto scale = (moments.second * step.correction2).sqrt_().add_(step.epsilon);
  shard.parameters.addcdiv_(moments.first, scale, -step.learning_rate * step.correction1);
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
  const auto count = static_cast<double>(steps_);
  const model::AdamwStep step = {
      .learning_rate = static_cast<float>(learning_rate),
      .beta1 = static_cast<float>(options_.beta1),
      .beta2 = static_cast<float>(options_.beta2),
      .epsilon = static_cast<float>(options_.epsilon),
      .decay = static_cast<float>(options_.weight_decay),
      .correction1 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta1, count))),
      .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta2, count))),
      .gradient_scale = static_cast<float>(gradient_scale)};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].parameters.is_cpu())
      step_on_cpu(shards[i], moments_[i], step);
    else
      step_with_aten(shards[i], moments_[i], step);
  }
}

}  // namespace muster::train
