// One flat buffer of parameters: its layout, and what is held of it at the moment.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include "engine/comm/communicator.h"
#include "engine/parallel/flat_memory.h"

namespace muster::parallel {

struct NamedParameter {
  std::string name;
  torch::Tensor tensor;
};

/// The parameters of `module` that `taken` does not hold yet, under their names in the model, those
/// without weight decay first; they are added to `taken`. A tensor under two names counts once,
/// under its first.
std::vector<NamedParameter> take_parameters(const torch::nn::Module& module,
                                            const std::string& prefix,
                                            std::vector<const c10::TensorImpl*>& taken);

/// Cuts a list into runs of at most `bytes` of float32 each (a longer parameter is a run of its
/// own).
std::vector<std::vector<NamedParameter>> cut(std::vector<NamedParameter> parameters,
                                             std::int64_t bytes);

using GradientNode =
    decltype(torch::autograd::impl::grad_accumulator(std::declval<const torch::Tensor&>()));

/// A parameter in its unit.
struct Part {
  std::string name;
  torch::Tensor tensor;  ///< the leaf that the module holds
  std::int64_t offset = 0;
  std::int64_t elements = 0;
  std::vector<std::int64_t> shape;
  GradientNode node{};   ///< kept alive: the hook hangs on it
  bool written = false;  ///< its place in the gradient buffer holds something of this micro-batch
  bool arrived = false;  ///< autograd has brought all of its gradient in this micro-batch
};

struct Unit {
  enum class Compute { kReleased, kGathering, kGathered };

  std::string name;
  const torch::nn::Module* module = nullptr;
  std::vector<Part> parts;
  std::int64_t elements = 0;   ///< of the whole buffer, padded so that ranks own equal parts
  std::int64_t undecayed = 0;  ///< elements at the front that weight decay leaves alone
  std::int64_t begin = 0;      ///< of what this rank owns
  std::int64_t owned = 0;

  torch::Tensor master;  ///< float32 [owned]
  torch::Tensor sum;     ///< float32 [owned]: the reduced gradients; undefined between steps, so
                         ///< that activations can have the memory
  FlatTensor compute;    ///< [elements]; undefined when the master itself is used
  FlatTensor
      gradients;  ///< [elements] in the compute type; undefined when they go straight into `sum`

  Compute state = Compute::kGathered;
  comm::Handle gather;
  bool runs = false;       ///< passed to run() at least once: released between uses
  int order = -1;          ///< place in the order in which units run forward
  int forwards = 0;        ///< tracked runs in this micro-batch
  int passed = 0;          ///< of those, how many backward has gone through
  bool reduced = false;    ///< this micro-batch's gradients were handed to the reduction
  bool in_flight = false;  ///< a reduction of `gradients` or `sum` is under way
  bool has_sum = false;    ///< `sum` holds earlier micro-batches of this step

  bool direct() const { return !gradients.defined(); }
  /// Defines `sum`; its memory is not initialised.
  void make_sum();
  /// Where a parameter's gradient goes, in its shape.
  torch::Tensor gradient_view(const Part& part) const;
  torch::Tensor own_compute() const { return compute.tensor().narrow(0, begin, owned); }
};

/// What a unit is made for.
struct UnitPlace {
  int shard_rank = 0;
  int shard_size = 1;
  torch::ScalarType compute_dtype = torch::kFloat32;
};

/// Lays out the parameters, copies their values into the master and the compute copy, and makes
/// them views of it.
std::unique_ptr<Unit> make_unit(std::string name, const torch::nn::Module* module,
                                std::vector<NamedParameter> parameters, const UnitPlace& place,
                                MemoryPool& pool);

}  // namespace muster::parallel
