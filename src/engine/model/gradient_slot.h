// Where a fused operation may write a parameter's gradient itself: the seam between operations and
// the way gradients are collected. It saves a pass over memory (autograd's tensor, then the copy
// into the flat gradient buffer) for each weight.
#pragma once

#include <functional>
#include <mutex>
#include <unordered_map>

#include <ATen/core/Tensor.h>

namespace muster::model {

/// The place for one parameter's gradient, or nothing.
struct GradientSlot {
  torch::Tensor view;  ///< shape and type of the parameter, contiguous; undefined: return the
                       ///< gradient as usual
  bool accumulate =
      false;  ///< false: overwrite what is there (it is not initialised); true: add to it
};

/// Who hands out slots. A parallel runner registers the parameters that it has taken over.
class GradientSlots {
 public:
  using Take = std::function<GradientSlot()>;

  static GradientSlots& instance() {
    static GradientSlots slots;
    return slots;
  }

  void add(const torch::Tensor& parameter, Take take) {
    const std::lock_guard lock(mutex_);
    takes_[parameter.unsafeGetTensorImpl()] = std::move(take);
  }
  void remove(const torch::Tensor& parameter) {
    const std::lock_guard lock(mutex_);
    takes_.erase(parameter.unsafeGetTensorImpl());
  }
  GradientSlot take(const torch::Tensor& parameter) {
    Take take;
    {
      const std::lock_guard lock(mutex_);
      const auto found = takes_.find(parameter.unsafeGetTensorImpl());
      if (found == takes_.end()) return {};
      take = found->second;
    }
    return take();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const c10::TensorImpl*, Take> takes_;
};

/// For the backward of an operation, with the parameter as saved for backward (the leaf itself, not
/// a view of it). When the view is defined the caller writes the whole gradient there (adds it, if
/// `accumulate`) and returns an undefined tensor for this input; each call is one contribution.
/// Otherwise it returns the gradient to autograd.
inline GradientSlot take_gradient_slot(const torch::Tensor& parameter) {
  return GradientSlots::instance().take(parameter);
}

}  // namespace muster::model
