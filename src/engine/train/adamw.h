// AdamW with decoupled weight decay (Loshchilov & Hutter, 2019) over the flat shards that this rank
// owns: one pass over memory on a CPU, plain ATen elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/parallel/sharded.h"

#include <torch/types.h>

namespace muster::train {

struct AdamwOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
};

class Adamw {
 public:
  /// The moments of one shard: float32, of its length.
  struct Moments {
    torch::Tensor first;
    torch::Tensor second;
  };

  explicit Adamw(AdamwOptions options);

  /// Moments of zero for every shard that has none yet. step() does it too; a checkpoint is loaded
  /// after it.
  void prepare(const std::vector<parallel::Shard>& shards);

  /// p -= rate · decay · p + rate · m̂ / (sqrt(v̂) + epsilon), with the gradients first multiplied by
  /// `gradient_scale` (a clipping factor, say). The first `undecayed` elements of a shard are not
  /// decayed. Writes every Shard::compute that is defined. The same values give the same bits
  /// whatever the processor's vectors, the number of threads, or how the parameters are cut into
  /// shards.
  void step(std::vector<parallel::Shard>& shards, double learning_rate,
            double gradient_scale = 1.0);

  /// Steps made so far: what the bias correction depends on.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }
  /// In the order of the shards; to be saved, and written into in place when a checkpoint is
  /// loaded.
  std::vector<Moments>& moments() { return moments_; }

 private:
  AdamwOptions options_;
  std::int64_t steps_ = 0;
  std::vector<Moments> moments_;
};

}  // namespace muster::train
