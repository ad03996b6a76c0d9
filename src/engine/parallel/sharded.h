// Data parallelism: replicated (DDP) or fully sharded (ZeRO-3/FSDP), as one mechanism. A unit's
// parameters live in one flat buffer; each rank owns a shard of it in float32; the compute copy is
// gathered when the unit runs.
//
//   shard group of 1 rank, replica group of all     DDP
//   shard group of all ranks                        full_shard (released after forward),
//                                                   shard_grad_op (kept until backward)
//   shard group within, replicas across             hybrid
//
// A training step:
//
//   for each micro-batch:  begin_micro_batch(is_last); loss = model(…); loss.backward();
//   finish_backward(); norm = clip_gradients(limit); optimizer over shards(); parameters_changed();
//
// Gradients come out as the mean over the ranks of the sum over the micro-batches. Parameters'
// .grad stays undefined: gradients go into flat buffers as they arrive, and shards() holds the
// result. Operations can write them there themselves: see engine/model/gradient_slot.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "engine/comm/communicator.h"
#include "engine/model/unit_runner.h"

namespace muster::parallel {

enum class Strategy { kDdp, kFullShard, kShardGradOp, kHybrid };

struct Options {
  Strategy strategy = Strategy::kFullShard;
  int shard_size = 0;  ///< ranks of a shard group, for kHybrid; divides the world
  torch::ScalarType compute_dtype = torch::kFloat32;  ///< parameters and gradients inside the units
  bool activation_checkpointing = false;  ///< recompute a unit's activations in backward
  int prefetch = 1;                       ///< how many units ahead parameters are gathered
  std::int64_t bucket_bytes =
      32 << 20;  ///< of a DDP all-reduce: a longer unit is cut, at parameters
};

/// The part of a flat buffer that this rank owns: what an optimizer updates.
struct Shard {
  std::string unit;
  torch::Tensor parameters;  ///< float32 [n], the truth
  torch::Tensor gradients;   ///< float32 [n], from finish_backward() to parameters_changed(), else
                             ///< undefined: its memory is used for activations in between
  torch::Tensor compute;  ///< undefined, or [n] in the compute type: a copy of `parameters` that an
                          ///< optimizer may write in the same pass (then parameters_changed(true)).
                          ///< Ask for it anew each step.
  /// The first `undecayed` elements belong to parameters of fewer than two dimensions (norms,
  /// biases), which weight decay leaves alone.
  std::int64_t undecayed = 0;
};

/// Where one parameter lies in its flat buffer: for checkpoints that do not depend on the world's
/// size.
struct ParameterSlot {
  std::string name;  ///< as in the model: "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;
  int shard = 0;                 ///< index into shards()
  std::int64_t unit_offset = 0;  ///< elements, in the whole buffer
  std::int64_t elements = 0;
};

/// What is held beside the shards, now and at most so far; for tests and for reports.
struct Held {
  int gathered_units = 0;  ///< units that are released between uses; the root is not counted
  int gradient_buffers = 0;
  int most_gathered_units = 0;
  int most_gradient_buffers = 0;
};

class Sharded : public model::UnitRunner {
 public:
  /// Collective for kHybrid. Throws comm::Error when the options do not fit the world.
  Sharded(std::shared_ptr<comm::Communicator> world, Options options);
  ~Sharded() override;

  /// Takes over the parameters of a module (those not yet taken by an earlier call): call it for
  /// each block, then once for the rest of the model, which becomes the root unit and stays
  /// gathered: what is never passed to run() is never released. `name` is the module's path in the
  /// model, the prefix of its parameters' names; empty for the model itself. All ranks must hold
  /// the same values. From then on the parameters are views of the flat buffer, in the compute
  /// type.
  void wrap(torch::nn::Module& module, const std::string& name);

  torch::Tensor run(torch::nn::Module& unit, const Body& body, const torch::Tensor& input) override;

  /// Before forward: `last` is false for all micro-batches of a step but the last (gradients are
  /// then only accumulated). A step of one micro-batch can do without.
  void begin_micro_batch(bool last);
  /// After loss.backward() of the last micro-batch: waits for the reductions.
  void finish_backward();
  /// After the optimizer changed shards(): the compute copies are stale and are refreshed.
  /// `compute_written`: it has written every Shard::compute that there is. Collective.
  void parameters_changed(bool compute_written = false);
  /// Scales the gradients so that their global 2-norm is at most `limit` (<= 0: only measures);
  /// returns the norm before. The sums are made in double, and added in rank order. Collective.
  double clip_gradients(double limit);
  /// The next backward starts gradients anew. finish_backward() implies it, so that a step need
  /// not.
  void zero_gradients();

  std::vector<Shard>& shards();
  const std::vector<ParameterSlot>& slots() const;
  /// Elements [begin, end) of a flat buffer that this rank owns.
  std::pair<std::int64_t, std::int64_t> owned_range(int shard) const;
  /// The same on all ranks exactly when all ranks hold the same parameters; a hash of every
  /// parameter's bits, whatever the world size and strategy. Collective.
  std::string parameter_hash();

  Held held() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::parallel
