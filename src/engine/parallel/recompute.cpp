#include "engine/parallel/recompute.h"

#include <torch/torch.h>

namespace muster::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Functions travel in a node's saved data as capsules.
template <typename Function>
struct Holder : torch::CustomClassHolder {
  explicit Holder(Function held) : function(std::move(held)) {}
  Function function;
};

template <typename Function>
void keep(AutogradContext* context, Function function) {
  context->saved_data["function"] =
      c10::IValue::make_capsule(c10::make_intrusive<Holder<Function>>(std::move(function)));
}

template <typename Function>
Function& kept(AutogradContext* context) {
  const auto capsule = context->saved_data["function"].toCapsule();
  return static_cast<Holder<Function>*>(capsule.get())->function;
}

struct Recompute : torch::autograd::Function<Recompute> {
  // `anchor` requires a gradient, so that the node is there even when the input requires none.
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor& anchor, Body body) {
    (void)anchor;
    context->save_for_backward({input});
    context->saved_data["tracked"] = input.requires_grad();
    torch::Tensor output;
    {
      const torch::NoGradGuard no_grad;
      output = body(input);
    }
    keep(context, std::move(body));
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor input = context->get_saved_variables()[0].detach();
    const bool tracked = context->saved_data["tracked"].toBool();
    input.set_requires_grad(tracked);
    torch::Tensor output;
    {
      const torch::AutoGradMode grad(true);
      output = kept<Body>(context)(input);
    }
    if (output.requires_grad()) torch::autograd::backward({output}, {gradients[0]});
    return {tracked ? input.grad() : torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

struct AfterBackward : torch::autograd::Function<AfterBackward> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               std::function<void()> passed) {
    keep(context, std::move(passed));
    return input.view_as(input);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    kept<std::function<void()>>(context)();
    return {gradients[0], torch::Tensor()};
  }
};

}  // namespace

torch::Tensor recompute(const Body& body, const torch::Tensor& input) {
  const torch::Tensor anchor =
      torch::zeros({1}, input.options().dtype(torch::kFloat32)).set_requires_grad(true);
  return Recompute::apply(input, anchor, body);
}

torch::Tensor after_backward(const torch::Tensor& input, std::function<void()> passed) {
  return AfterBackward::apply(input, std::move(passed));
}

}  // namespace muster::parallel
