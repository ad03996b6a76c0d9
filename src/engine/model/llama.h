// A Llama-family decoder on libtorch, with Hugging Face's parameter names
// ("model.layers.0.self_attn.q_proj.weight", …).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "engine/model/config.h"
#include "engine/model/ops.h"
#include "engine/model/unit_runner.h"

namespace muster::model {

/// A module that only holds one parameter, "weight": a matrix [out, in] or a norm's [size].
class Weight : public torch::nn::Module {
 public:
  explicit Weight(std::vector<std::int64_t> shape);
  torch::Tensor weight;
};

/// One transformer block; a unit of parallelism.
class Block : public torch::nn::Module {
 public:
  explicit Block(const LlamaConfig& config);

  /// x [B, T, H] -> [B, T, H].
  torch::Tensor forward(const torch::Tensor& x, const Rope& rope, const Kernels& kernels) const;

 private:
  AttentionShape shape_;
  double eps_;
  std::shared_ptr<Weight> input_norm_, q_, k_, v_, o_, mlp_norm_, gate_, up_, down_;
};

/// The whole decoder. Parameters are float32 and not set when made: initialise(), load_weights(),
/// or copy into them. A parallel runner may put other storage of another dtype below the parameters
/// (set_data), never other Tensor objects.
class Llama : public torch::nn::Module {
 public:
  /// A part that a parallel runner wraps on its own: a block, by its name ("model.layers.0").
  struct Unit {
    std::string name;
    std::shared_ptr<torch::nn::Module> module;
  };

  explicit Llama(const LlamaConfig& config, const Kernels& kernels = reference_kernels());

  const LlamaConfig& config() const { return config_; }
  const Kernels& kernels() const { return *kernels_; }
  void use(const Kernels& kernels) { kernels_ = &kernels; }

  /// The blocks, in the order in which they run. What is left (embedding, last norm, head) is the
  /// root.
  const std::vector<Unit>& units() const { return units_; }

  /// ids int64 [B, T] -> what the head reads, after the last norm: [B, T, H].
  torch::Tensor hidden(const torch::Tensor& ids, UnitRunner& runner);

  /// [B, T, V], in the dtype of the weights.
  torch::Tensor logits(const torch::Tensor& ids);

  /// Of the last position only: [B, V].
  torch::Tensor last_logits(const torch::Tensor& ids);

  /// Mean cross-entropy (float32 scalar) against targets int64 [B, T]: targets[b, t] is the token
  /// that follows ids[b, t]; -100 does not count.
  torch::Tensor loss(const torch::Tensor& ids, const torch::Tensor& targets, UnitRunner& runner);

  /// [V, H]: the head's matrix, which is the embedding's when tied.
  const torch::Tensor& head_weight() const;

 private:
  const Rope& rope_for(const torch::Tensor& ids);

  LlamaConfig config_;
  const Kernels* kernels_;
  std::shared_ptr<Weight> embedding_, norm_, head_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<Unit> units_;
  Rope rope_;
};

/// Rotary table of the first `positions` positions.
Rope make_rope(const LlamaConfig& config, std::int64_t positions,
               torch::Device device = torch::kCPU);

/// As the family is initialised: matrices from a normal distribution of deviation 0.02, norms at
/// one. Each parameter's values depend only on the seed and its name: not on the order, the other
/// parameters or the number of ranks.
void initialise(torch::nn::Module& model, std::uint64_t seed);

}  // namespace muster::model
