// The decoder against what Hugging Face transformers computes for the same weights (reference/,
// made by make_reference.py).
#include "engine/model/llama.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/model/weights.h"

namespace muster::model {
namespace {

namespace fs = std::filesystem;

const fs::path kReference = fs::path(MUSTER_SOURCE_DIR) / "tests/engine/model/reference";

nlohmann::json expected(const std::string& name) {
  std::ifstream file(kReference / name / "expected.json");
  return nlohmann::json::parse(file);
}

std::unique_ptr<Llama> load(const std::string& name, const Kernels& kernels) {
  const auto config = read_config(kReference / name);
  EXPECT_TRUE(config.ok()) << to_string(config.findings().front());
  auto model = std::make_unique<Llama>(*config, kernels);
  const auto loaded = load_weights(*model, kReference / name);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : to_string(loaded.findings().front()));
  return model;
}

torch::Tensor ids_of(const nlohmann::json& sequence) {
  return torch::tensor(sequence["ids"].get<std::vector<std::int64_t>>()).unsqueeze(0);
}

struct Case {
  const char* name;
  const Kernels& (*kernels)();
};

class AgainstTransformers : public testing::TestWithParam<Case> {};

TEST_P(AgainstTransformers, LogitsAreEqual) {
  const auto model = load(GetParam().name, GetParam().kernels());
  const torch::NoGradGuard no_grad;
  const auto reference = expected(GetParam().name);
  for (const auto& sequence : reference["sequences"]) {
    const auto ids = ids_of(sequence);
    const auto logits = model->logits(ids)[0];
    const auto rows = sequence["logits"].get<std::vector<std::vector<float>>>();
    ASSERT_EQ(logits.size(0), static_cast<std::int64_t>(rows.size()));
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const auto difference =
          (logits[static_cast<std::int64_t>(t)] - torch::tensor(rows[t])).abs().max().item<float>();
      EXPECT_LT(difference, 1e-4) << "position " << t;
    }
    const auto last = model->last_logits(ids)[0];
    EXPECT_LT((last - torch::tensor(rows.back())).abs().max().item<float>(), 1e-4);
  }
}

TEST_P(AgainstTransformers, LossAndGradientsAreEqual) {
  const auto model = load(GetParam().name, GetParam().kernels());
  const auto reference = expected(GetParam().name);
  UnitRunner direct;
  double count = 0;
  for (const auto& sequence : reference["sequences"])
    count += static_cast<double>(sequence["ids"].size() - 1);
  for (const auto& sequence : reference["sequences"]) {
    const auto ids = ids_of(sequence);
    const auto length = ids.size(1);
    const auto loss = model->loss(ids.slice(1, 0, length - 1), ids.slice(1, 1), direct);
    EXPECT_NEAR(loss.item<double>(), sequence["mean_cross_entropy"].get<double>(), 1e-5);
    (loss * (static_cast<double>(length - 1) / count)).backward();
  }
  const auto norms = reference["gradient_norms"].get<std::map<std::string, double>>();
  ASSERT_EQ(norms.size(), model->named_parameters().size());
  for (const auto& item : model->named_parameters()) {
    const double norm = norms.at(item.key());
    EXPECT_NEAR(item.value().grad().norm().item<double>(), norm, 1e-4 * norm + 1e-6) << item.key();
  }
}

INSTANTIATE_TEST_SUITE_P(Reference, AgainstTransformers,
                         testing::Values(Case{"tied_llama3", reference_kernels},
                                         Case{"untied_head_dim", reference_kernels},
                                         Case{"linear_bf16", reference_kernels},
                                         Case{"tied_llama3", fused_kernels},
                                         Case{"untied_head_dim", fused_kernels},
                                         Case{"linear_bf16", fused_kernels}),
                         [](const auto& info) {
                           return std::string(info.param.name) + "_" + info.param.kernels().name();
                         });

LlamaConfig small_config() {
  auto config = *known_model("tiny");
  config.vocab_size = 50;
  config.layers = 2;
  return config;
}

TEST(Llama, HasHuggingFacesNamesAndAsManyElementsAsTheConfigSays) {
  auto config = small_config();
  for (const bool tied : {true, false}) {
    config.tied_head = tied;
    const Llama model(config);
    std::int64_t elements = 0;
    for (const auto& parameter : model.parameters()) elements += parameter.numel();
    EXPECT_EQ(elements, config.parameter_count());
    const auto names = model.named_parameters();
    EXPECT_TRUE(names.contains("model.embed_tokens.weight"));
    EXPECT_TRUE(names.contains("model.layers.1.mlp.down_proj.weight"));
    EXPECT_TRUE(names.contains("model.layers.0.self_attn.q_proj.weight"));
    EXPECT_TRUE(names.contains("model.layers.0.post_attention_layernorm.weight"));
    EXPECT_EQ(names.contains("lm_head.weight"), !tied);
  }
}

TEST(Llama, InitialisationDependsOnSeedAndNameOnly) {
  auto config = small_config();
  Llama one(config);
  Llama two(config);
  initialise(one, 7);
  initialise(two, 7);
  config.layers = 4;
  config.tied_head = false;
  Llama deeper(config);
  initialise(deeper, 7);
  const auto others = two.named_parameters();
  const auto more = deeper.named_parameters();
  for (const auto& item : one.named_parameters()) {
    EXPECT_TRUE(torch::equal(item.value(), others[item.key()])) << item.key();
    EXPECT_TRUE(torch::equal(item.value(), more[item.key()])) << item.key();
    if (item.value().dim() == 1) {
      EXPECT_TRUE(torch::equal(item.value(), torch::ones_like(item.value())));
    } else {
      EXPECT_NEAR(item.value().std().item<double>(), 0.02, 0.001) << item.key();
    }
  }
  initialise(two, 8);
  const auto q = "model.layers.0.self_attn.q_proj.weight";
  EXPECT_FALSE(torch::equal(one.named_parameters()[q], two.named_parameters()[q]));
  EXPECT_FALSE(torch::equal(one.named_parameters()[q],
                            one.named_parameters()["model.layers.1.self_attn.q_proj.weight"]));
}

TEST(Llama, ALaterTokenChangesNothingBeforeIt) {
  Llama model(small_config());
  initialise(model, 1);
  const torch::NoGradGuard no_grad;
  auto ids = torch::randint(50, {2, 12}, torch::kInt64);
  const auto before = model.logits(ids);
  ids.index_put_({torch::indexing::Slice(), 8}, (ids.select(1, 8) + 1) % 50);
  const auto after = model.logits(ids);
  EXPECT_TRUE(torch::equal(before.slice(1, 0, 8), after.slice(1, 0, 8)));
  EXPECT_FALSE(torch::equal(before.slice(1, 8), after.slice(1, 8)));
}

TEST(Llama, RunsEachBlockThroughTheRunnerInOrder) {
  struct Recorder : UnitRunner {
    std::vector<const torch::nn::Module*> seen;
    torch::Tensor run(torch::nn::Module& unit, const Body& body,
                      const torch::Tensor& input) override {
      seen.push_back(&unit);
      return body(input);
    }
  } recorder;
  Llama model(small_config());
  initialise(model, 1);
  const auto ids = torch::zeros({1, 4}, torch::kInt64);
  model.loss(ids, ids, recorder);
  ASSERT_EQ(recorder.seen.size(), model.units().size());
  for (std::size_t i = 0; i < recorder.seen.size(); ++i)
    EXPECT_EQ(recorder.seen[i], model.units()[i].module.get());
}

TEST(Llama, IgnoresTargetsThatDoNotCount) {
  Llama model(small_config());
  initialise(model, 1);
  UnitRunner direct;
  const auto ids = torch::randint(50, {1, 6}, torch::kInt64);
  auto targets = torch::randint(50, {1, 6}, torch::kInt64);
  const auto short_loss = model.loss(ids.slice(1, 0, 3), targets.slice(1, 0, 3), direct);
  targets.slice(1, 3).fill_(-100);
  EXPECT_NEAR(model.loss(ids, targets, direct).item<double>(), short_loss.item<double>(), 1e-6);
  EXPECT_THROW(model.loss(ids, torch::full_like(targets, -100), direct), std::invalid_argument);
}

TEST(Llama, TrainsInBfloat16) {
  Llama model(small_config());
  initialise(model, 1);
  UnitRunner direct;
  const auto ids = torch::randint(50, {2, 8}, torch::kInt64);
  const auto wide = model.loss(ids, ids, direct).item<double>();
  model.to(torch::kBFloat16);
  const auto loss = model.loss(ids, ids, direct);
  EXPECT_EQ(loss.scalar_type(), torch::kFloat32);
  EXPECT_NEAR(loss.item<double>(), wide, 0.05);
  loss.backward();
  for (const auto& item : model.named_parameters())
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
}

}  // namespace
}  // namespace muster::model
