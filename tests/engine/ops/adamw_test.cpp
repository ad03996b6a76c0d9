// AdamW against its formula in float64, and that its bits depend on nothing but the values.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <torch/torch.h>

#include "engine/model/ops_vector.h"
#include "engine/train/adamw.h"

namespace muster::train {
namespace {

parallel::Shard shard_of(std::int64_t count, std::int64_t undecayed, torch::ScalarType compute) {
  parallel::Shard shard;
  shard.parameters = torch::randn({count});
  shard.gradients = torch::randn({count});
  shard.compute = torch::zeros({count}, compute);
  shard.undecayed = undecayed;
  return shard;
}

parallel::Shard part_of(const parallel::Shard& whole, std::int64_t begin, std::int64_t end) {
  parallel::Shard part;
  part.parameters = whole.parameters.slice(0, begin, end).clone();
  part.gradients = whole.gradients.slice(0, begin, end).clone();
  part.compute = whole.compute.slice(0, begin, end).clone();
  part.undecayed = std::clamp<std::int64_t>(whole.undecayed - begin, 0, end - begin);
  return part;
}

TEST(Adamw, FollowsTheFormulaOverManySteps) {
  torch::manual_seed(1);
  const AdamwOptions options = {0.9, 0.95, 1e-8, 0.1};
  std::vector<parallel::Shard> shards = {shard_of(1000, 300, torch::kBFloat16),
                                         shard_of(77, 0, torch::kFloat32)};
  std::vector<torch::Tensor> p, m, v;
  for (const auto& shard : shards) {
    p.push_back(shard.parameters.to(torch::kFloat64));
    m.push_back(torch::zeros_like(p.back()));
    v.push_back(torch::zeros_like(p.back()));
  }
  Adamw adamw(options);
  for (int t = 1; t <= 20; ++t) {
    const double rate = 1e-2 / t;
    const double scale = 0.5;
    for (auto& shard : shards) shard.gradients.normal_();
    adamw.step(shards, rate, scale);
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const auto g = shards[i].gradients.to(torch::kFloat64) * scale;
      m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
      auto mask = torch::ones_like(p[i]);
      mask.slice(0, 0, shards[i].undecayed).zero_();
      p[i] = p[i] - rate * options.weight_decay * mask * p[i] -
             rate * (m[i] / (1 - std::pow(options.beta1, t))) /
                 ((v[i] / (1 - std::pow(options.beta2, t))).sqrt() + options.epsilon);
    }
  }
  EXPECT_EQ(adamw.steps(), 20);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    EXPECT_LT((shards[i].parameters - p[i]).abs().max().item<double>(), 2e-6);
    EXPECT_LT((adamw.moments()[i].first - m[i]).abs().max().item<double>(), 1e-6);
    EXPECT_LT((adamw.moments()[i].second - v[i]).abs().max().item<double>(), 1e-6);
    EXPECT_TRUE(
        torch::equal(shards[i].compute, shards[i].parameters.to(shards[i].compute.scalar_type())));
  }
}

RC_GTEST_PROP(AdamwProperty, BitsDoNotDependOnHowTheShardIsCut, ()) {
  torch::manual_seed(*rc::gen::inRange(0, 100000));
  const auto count = *rc::gen::inRange<std::int64_t>(1, 300);
  const auto cut = *rc::gen::inRange<std::int64_t>(0, count + 1);
  const auto whole =
      shard_of(count, *rc::gen::inRange<std::int64_t>(0, count + 1), torch::kBFloat16);
  std::vector<parallel::Shard> one = {part_of(whole, 0, count)};
  std::vector<parallel::Shard> two = {part_of(whole, 0, cut), part_of(whole, cut, count)};
  Adamw first({}), second({});
  for (int t = 0; t < 3; ++t) {
    first.step(one, 1e-3);
    second.step(two, 1e-3);
  }
  RC_ASSERT(torch::equal(one[0].parameters, torch::cat({two[0].parameters, two[1].parameters})));
  RC_ASSERT(torch::equal(one[0].compute, torch::cat({two[0].compute, two[1].compute})));
  RC_ASSERT(torch::equal(first.moments()[0].second,
                         torch::cat({second.moments()[0].second, second.moments()[1].second})));
}

TEST(Adamw, ZeroGradientOnlyDecays) {
  parallel::Shard shard;
  shard.parameters = torch::ones({5});
  shard.gradients = torch::zeros({5});
  shard.undecayed = 2;
  std::vector<parallel::Shard> shards = {shard};
  Adamw adamw({.weight_decay = 0.5});
  adamw.step(shards, 0.1);
  const auto expected = torch::tensor({1.0f, 1.0f, 0.95f, 0.95f, 0.95f});
  EXPECT_TRUE(torch::allclose(shards[0].parameters, expected, 1e-6, 1e-7));
}

}  // namespace
}  // namespace muster::train
