// How the units of a model (one transformer block, say) are run: the seam between a model and the
// way it is parallelised.
#pragma once

#include <functional>

#include <torch/nn/module.h>

namespace muster::model {

/// Runs one unit: a module and the function that computes its output from its input. The default
/// calls the function. A parallel runner gathers the unit's parameters before, releases them after,
/// and does the same again around the unit's backward pass; it may drop the activations and compute
/// them a second time.
class UnitRunner {
 public:
  using Body = std::function<torch::Tensor(const torch::Tensor&)>;
  virtual ~UnitRunner() = default;
  virtual torch::Tensor run(torch::nn::Module& unit, const Body& body, const torch::Tensor& input) {
    (void)unit;
    return body(input);
  }
};

}  // namespace muster::model
