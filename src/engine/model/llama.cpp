#include "engine/model/llama.h"

#include <cmath>
#include <stdexcept>

#include <torch/torch.h>

namespace muster::model {
namespace {

using torch::Tensor;

/// Names of HF's tree that hold no parameter of their own: "model", "layers", "self_attn", "mlp".
class Folder : public torch::nn::Module {};

// FNV-1a, mixed with the seed: spreads names over the generator's seeds.
std::uint64_t seed_of(std::uint64_t seed, const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ (seed * 0x9e3779b97f4a7c15ULL);
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  hash ^= hash >> 29;
  return hash;
}

}  // namespace

Weight::Weight(std::vector<std::int64_t> shape)
    : weight(register_parameter("weight", torch::empty(shape, torch::kFloat32))) {}

Block::Block(const LlamaConfig& config)
    : shape_{config.heads, config.kv_heads, config.head_dim}, eps_(config.rms_norm_eps) {
  const auto hidden = config.hidden_size;
  const auto queries = config.heads * config.head_dim;
  const auto keys = config.kv_heads * config.head_dim;
  const auto attention = register_module("self_attn", std::make_shared<Folder>());
  const auto add = [](torch::nn::Module& parent, const char* name,
                      std::vector<std::int64_t> shape) {
    return parent.register_module(name, std::make_shared<Weight>(std::move(shape)));
  };
  q_ = add(*attention, "q_proj", {queries, hidden});
  k_ = add(*attention, "k_proj", {keys, hidden});
  v_ = add(*attention, "v_proj", {keys, hidden});
  o_ = add(*attention, "o_proj", {hidden, queries});
  const auto mlp = register_module("mlp", std::make_shared<Folder>());
  gate_ = add(*mlp, "gate_proj", {config.intermediate_size, hidden});
  up_ = add(*mlp, "up_proj", {config.intermediate_size, hidden});
  down_ = add(*mlp, "down_proj", {hidden, config.intermediate_size});
  input_norm_ = add(*this, "input_layernorm", {hidden});
  mlp_norm_ = add(*this, "post_attention_layernorm", {hidden});
}

Tensor Block::forward(const Tensor& x, const Rope& rope, const Kernels& kernels) const {
  const Tensor attended = kernels.attention_half(x, input_norm_->weight, eps_, q_->weight,
                                                 k_->weight, v_->weight, o_->weight, rope, shape_);
  return kernels.mlp_half(attended, mlp_norm_->weight, eps_, gate_->weight, up_->weight,
                          down_->weight);
}

Llama::Llama(const LlamaConfig& config, const Kernels& kernels)
    : config_(config), kernels_(&kernels) {
  const auto body = register_module("model", std::make_shared<Folder>());
  embedding_ = body->register_module(
      "embed_tokens", std::make_shared<Weight>(std::vector{config.vocab_size, config.hidden_size}));
  const auto layers = body->register_module("layers", std::make_shared<Folder>());
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const auto index = std::to_string(i);
    blocks_.push_back(layers->register_module(index, std::make_shared<Block>(config)));
    units_.push_back({"model.layers." + index, blocks_.back()});
  }
  norm_ = body->register_module("norm", std::make_shared<Weight>(std::vector{config.hidden_size}));
  if (!config.tied_head)
    head_ = register_module(
        "lm_head", std::make_shared<Weight>(std::vector{config.vocab_size, config.hidden_size}));
}

const Tensor& Llama::head_weight() const {
  return head_ ? head_->weight : embedding_->weight;
}

const Rope& Llama::rope_for(const Tensor& ids) {
  const auto length = ids.size(1);
  if (!rope_.cos.defined() || rope_.cos.size(0) < length || rope_.cos.device() != ids.device())
    rope_ = make_rope(config_, length, ids.device());
  return rope_;
}

Tensor Llama::hidden(const Tensor& ids, UnitRunner& runner) {
  if (ids.dim() != 2 || ids.size(1) == 0)
    throw std::invalid_argument("ids must be [batch, positions] with at least one position");
  const Rope rope = rope_for(ids);
  const Kernels& kernels = *kernels_;
  Tensor x = kernels.embedding(ids, embedding_->weight);
  for (const auto& block : blocks_) {
    const UnitRunner::Body body = [block = block.get(), rope, &kernels](const Tensor& input) {
      return block->forward(input, rope, kernels);
    };
    x = runner.run(*block, body, x);
  }
  return kernels.rms_norm(x, norm_->weight, config_.rms_norm_eps);
}

Tensor Llama::logits(const Tensor& ids) {
  UnitRunner direct;
  return kernels_->linear(hidden(ids, direct), head_weight());
}

Tensor Llama::last_logits(const Tensor& ids) {
  UnitRunner direct;
  const Tensor last = hidden(ids, direct).select(1, ids.size(1) - 1);
  return kernels_->linear(last.contiguous(), head_weight());
}

Tensor Llama::loss(const Tensor& ids, const Tensor& targets, UnitRunner& runner) {
  const Tensor states = hidden(ids, runner);
  return kernels_->head_loss(states.reshape({-1, config_.hidden_size}), head_weight(),
                             targets.reshape({-1}));
}

Rope make_rope(const LlamaConfig& config, std::int64_t positions, torch::Device device) {
  const auto wide = torch::TensorOptions().dtype(torch::kFloat32).device(device);
  const auto exponent =
      torch::arange(0, config.head_dim, 2, wide) / static_cast<double>(config.head_dim);
  Tensor frequency = 1.0 / torch::pow(static_cast<double>(config.rope_theta), exponent);
  if (config.rope_scaling && config.rope_scaling->type == RopeScaling::Type::kLinear) {
    frequency = frequency / config.rope_scaling->factor;
  } else if (config.rope_scaling) {
    // Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, those between are
    // blended linearly in original / wavelength.
    const RopeScaling& scaling = *config.rope_scaling;
    const auto original = static_cast<double>(scaling.original_max_position_embeddings);
    const Tensor turns = frequency * (original / (2.0 * M_PI));
    const Tensor blend =
        ((turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor))
            .clamp(0.0, 1.0);
    frequency = (1.0 - blend) * frequency / scaling.factor + blend * frequency;
  }
  const Tensor angle = torch::outer(torch::arange(positions, wide), frequency);
  return {angle.cos(), angle.sin()};
}

void initialise(torch::nn::Module& model, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    if (item.value().dim() < 2) {
      item.value().fill_(1.0);
      continue;
    }
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed_of(seed, item.key()));
    item.value().normal_(0.0, 0.02, generator);
  }
}

}  // namespace muster::model
