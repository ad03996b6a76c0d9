// Nodes that a parallel runner puts into autograd's graph.
#pragma once

#include <functional>

#include <torch/types.h>

namespace muster::parallel {

using Body = std::function<torch::Tensor(const torch::Tensor&)>;

/// `body(input)` without its activations: backward computes them again. The body must give the same
/// result each time (no random numbers) and may use parameters; their gradients come to them as
/// usual.
torch::Tensor recompute(const Body& body, const torch::Tensor& input);

/// `input`, with `passed` called once backward has computed its gradient.
torch::Tensor after_backward(const torch::Tensor& input, std::function<void()> passed);

}  // namespace muster::parallel
