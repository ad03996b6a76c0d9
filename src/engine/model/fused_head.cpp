// The two ends of the model, where the vocabulary is: embedding, and head with cross-entropy.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/model/fused_core.h"
#include "engine/model/fused_nodes.h"
#include "engine/model/gradient_slot.h"

#include <torch/torch.h>

namespace muster::model::fused {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Adds to row id of `target` the sum, in float32, of the gradient's rows with that id: each row is
/// rounded once.
template <typename T>
void scatter_rows(const std::int64_t* ids, std::int64_t count, const Tensor& gradient,
                  const Tensor& target) {
  const RowKernels<T>& loops = vector_kernels().rows<T>();
  const auto columns = target.size(1);
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return ids[a] < ids[b]; });
  std::vector<float> sum(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < order.size();) {
    const auto id = ids[order[i]];
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (; i < order.size() && ids[order[i]] == id; ++i)
      loops.accumulate(elements<T>(gradient) + order[i] * columns, sum.data(), 1.0f, columns);
    loops.accumulate_from_wide(sum.data(), elements<T>(target) + id * columns, 1.0f, columns);
  }
}

class Embedding : public torch::autograd::Function<Embedding> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& ids_in, const Tensor& weight) {
    const Tensor ids = ids_in.contiguous();
    const auto columns = weight.size(1);
    auto shape = ids.sizes().vec();
    shape.push_back(columns);
    Tensor y = torch::empty(shape, weight.options());
    const auto* id = ids.data_ptr<std::int64_t>();
    const auto row_bytes = static_cast<std::size_t>(columns) * weight.element_size();
    const auto* from = static_cast<const char*>(weight.data_ptr());
    auto* to = static_cast<char*>(y.data_ptr());
    for (std::int64_t i = 0; i < ids.numel(); ++i) {
      if (id[i] < 0 || id[i] >= weight.size(0))
        throw std::out_of_range("embedding: id " + std::to_string(id[i]) + " at position " +
                                std::to_string(i) + " is outside a vocabulary of " +
                                std::to_string(weight.size(0)));
      std::memcpy(to + static_cast<std::size_t>(i) * row_bytes,
                  from + static_cast<std::size_t>(id[i]) * row_bytes, row_bytes);
    }
    ctx->save_for_backward({ids, weight});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &ids = saved[0], &weight = saved[1];
    if (!weight.requires_grad()) return {{}, {}};
    const Tensor dy = gradients[0].contiguous();
    const GradientSlot slot = take_gradient_slot(weight);
    Tensor target = slot.view;
    if (!target.defined())
      target = torch::zeros_like(weight, weight.options().requires_grad(false));
    else if (!slot.accumulate)
      std::memset(target.data_ptr(), 0, target.nbytes());
    with_type(weight.scalar_type(), [&](auto zero) {
      scatter_rows<decltype(zero)>(ids.data_ptr<std::int64_t>(), ids.numel(), dy, target);
    });
    return {{}, slot.view.defined() ? Tensor() : target};
  }
};

/// The logits of all rows are made for a slice of the vocabulary at a time, in a buffer of about
/// this size: it stays in the last-level cache between the product that writes it and those that
/// read it.
constexpr std::int64_t kLogitBytes = 8 << 20;

/// Products of fewer columns are slow; many rows make the buffer larger instead.
constexpr std::int64_t kFewestColumns = 1024;

std::int64_t columns_at_once(std::int64_t rows, std::int64_t vocabulary) {
  const auto wanted = std::max(kLogitBytes / (4 * rows), kFewestColumns);
  const auto most = std::min(wanted, vocabulary);
  const auto slices = (vocabulary + most - 1) / most;
  return (vocabulary + slices - 1) / slices;
}

/// A row stride that does not put all rows into the same cache sets.
std::int64_t padded(std::int64_t columns) {
  return (columns + 15) / 16 * 16 + 32;
}

/// How many targets count; throws when one is outside the vocabulary or none counts.
std::int64_t count_targets(const Tensor& targets, std::int64_t ignore_index,
                           std::int64_t vocabulary) {
  const auto* target = targets.data_ptr<std::int64_t>();
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < targets.numel(); ++i) {
    if (target[i] == ignore_index) continue;
    if (target[i] < 0 || target[i] >= vocabulary)
      throw std::out_of_range("head_loss: target " + std::to_string(target[i]) + " at row " +
                              std::to_string(i) + " is outside a vocabulary of " +
                              std::to_string(vocabulary));
    ++counted;
  }
  if (counted == 0) throw std::invalid_argument("head_loss: no target counts");
  return counted;
}

static_assert(sizeof(LogSum) == 2 * sizeof(float), "a row of `sums` holds one");

/// One pass over the slices of the vocabulary for the loss and one, in the backward pass, for the
/// gradients, which need the logits again: making them twice is cheaper than keeping them.
/// `sums`, float32 [rows, 2], is all that the first pass leaves to the second.
template <typename T>
class SlicedHead {
 public:
  SlicedHead(const Tensor& hidden, const Tensor& weight, const Tensor& targets,
             std::int64_t ignore_index, const Tensor& sums)
      : hidden_(as_matrix(hidden)),
        weight_(as_matrix(weight)),
        target_(targets.data_ptr<std::int64_t>()),
        ignore_index_(ignore_index),
        columns_(columns_at_once(hidden_.rows, weight_.rows)),
        stride_(padded(columns_)),
        logits_(scratch_of<float>(Scratch::kLogits, hidden_.rows * stride_)),
        sums_(reinterpret_cast<LogSum*>(sums.data_ptr<float>())) {}

  /// The sum of the rows' cross-entropies; fills `sums`.
  double loss() {
    std::fill_n(sums_, hidden_.rows, LogSum());
    std::vector<float> goals(static_cast<std::size_t>(hidden_.rows));  // the targets' logits
    for_slices([&](std::int64_t first, std::int64_t count) {
      make_logits(first, count);
      for_rows([&](std::int64_t row) {
        take_in(row, first, count, goals[static_cast<std::size_t>(row)]);
      });
    });
    double total = 0;
    for (std::int64_t row = 0; row < hidden_.rows; ++row) {
      if (ignored(row)) continue;
      total += static_cast<double>(sums_[row].top) -
               static_cast<double>(goals[static_cast<std::size_t>(row)]) +
               std::log(static_cast<double>(sums_[row].total));
    }
    return total;
  }

  /// The gradients of scale · loss, of those tensors that are defined; the weight's is added to
  /// what is there, if asked.
  void gradients(float scale, const Tensor& dhidden, const Tensor& dweight, Into weight_into) {
    const bool single = columns_ == weight_.rows;
    Matrix sum;
    if (dhidden.defined())
      sum = single ? as_matrix(dhidden)
                   : scratch_matrix(Scratch::kHiddenGradient, torch::kFloat32, hidden_.rows,
                                    hidden_.columns);
    for_slices([&](std::int64_t first, std::int64_t count) {
      make_logits(first, count);
      for_rows([&](std::int64_t row) { make_gradient(row, first, count, scale); });
      const Matrix dlogits = gradient_matrix(count);
      if (dhidden.defined())
        multiply(dlogits, weight_.row_block(first, count), sum,
                 first == 0 ? Into::kOverwrite : Into::kAdd);
      if (dweight.defined())
        multiply(dlogits.transposed(), hidden_, as_matrix(dweight).row_block(first, count),
                 weight_into);
    });
    if (dhidden.defined() && !single)
      convert<float, T>(vector_kernels().rows<T>().narrow, static_cast<const float*>(sum.data),
                        elements<T>(dhidden), 1.0f, dhidden.numel());
  }

 private:
  template <typename Body>
  void for_slices(const Body& body) const {
    for (std::int64_t first = 0; first < weight_.rows; first += columns_)
      body(first, std::min(columns_, weight_.rows - first));
  }

  template <typename Body>
  void for_rows(const Body& body) const {
    at::parallel_for(0, hidden_.rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) body(row);
    });
  }

  bool ignored(std::int64_t row) const { return target_[row] == ignore_index_; }

  /// The row's target within a slice, or -1.
  std::int64_t target_in(std::int64_t row, std::int64_t first, std::int64_t count) const {
    const auto at = target_[row] - first;
    return at >= 0 && at < count ? at : -1;
  }

  void make_logits(std::int64_t first, std::int64_t count) const {
    multiply(hidden_, weight_.row_block(first, count).transposed(),
             {logits_, torch::kFloat32, hidden_.rows, count, stride_, 1});
  }

  /// Takes a slice of a row's logits into its sum, and keeps the target's if it is there.
  void take_in(std::int64_t row, std::int64_t first, std::int64_t count, float& goal) {
    if (ignored(row)) return;
    const float* logits = logits_ + row * stride_;
    vector_kernels().log_sum(logits, count, sums_[row]);
    const auto target = target_in(row, first, count);
    if (target >= 0) goal = logits[target];
  }

  /// Overwrites a slice of a row's logits with their gradient.
  void make_gradient(std::int64_t row, std::int64_t first, std::int64_t count, float scale) const {
    float* logits = logits_ + row * stride_;
    if (ignored(row))
      std::memset(logits, 0, static_cast<std::size_t>(count) * sizeof(T));
    else
      vector_kernels().rows<T>().softmax_gradient(logits, sums_[row], target_in(row, first, count),
                                                  count, scale);
  }

  /// The gradients that `make_gradient` left, as T in the rows of the logits.
  Matrix gradient_matrix(std::int64_t count) const {
    constexpr auto kPerFloat = static_cast<std::int64_t>(sizeof(float) / sizeof(T));
    return {logits_, kTypeOf<T>, hidden_.rows, count, stride_ * kPerFloat, 1};
  }

  Matrix hidden_;
  Matrix weight_;
  const std::int64_t* target_;
  std::int64_t ignore_index_;
  std::int64_t columns_;  ///< of a slice; the last one may have fewer
  std::int64_t stride_;
  float* logits_;
  LogSum* sums_;
};

/// The weight's gradient goes straight to its slot: nothing of the vocabulary's size is kept
/// between the passes.
class HeadLoss : public torch::autograd::Function<HeadLoss> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& hidden_in, const Tensor& weight,
                        const Tensor& targets_in, std::int64_t ignore_index) {
    const Tensor hidden = hidden_in.contiguous();
    const Tensor targets = targets_in.contiguous();
    const auto counted = count_targets(targets, ignore_index, weight.size(0));
    const Tensor sums = torch::empty({targets.numel(), 2}, torch::kFloat32);
    double loss = 0;
    with_type(hidden.scalar_type(), [&](auto zero) {
      loss = SlicedHead<decltype(zero)>(hidden, weight, targets, ignore_index, sums).loss();
    });
    ctx->save_for_backward({hidden, weight, targets, sums});
    ctx->saved_data["ignore_index"] = ignore_index;
    ctx->saved_data["counted"] = counted;
    return torch::full({}, loss / static_cast<double>(counted),
                       torch::TensorOptions().dtype(torch::kFloat32));
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &hidden = saved[0], &weight = saved[1], &targets = saved[2], &sums = saved[3];
    const auto ignore_index = ctx->saved_data["ignore_index"].toInt();
    const float scale =
        gradients[0].item<float>() / static_cast<float>(ctx->saved_data["counted"].toInt());
    Tensor dhidden, dweight;
    GradientSlot slot;
    if (ctx->needs_input_grad(0)) dhidden = torch::empty_like(hidden);
    if (weight.requires_grad()) {
      slot = take_gradient_slot(weight);
      dweight = slot.view.defined()
                    ? slot.view
                    : torch::empty_like(weight, weight.options().requires_grad(false));
    }
    with_type(hidden.scalar_type(), [&](auto zero) {
      SlicedHead<decltype(zero)>(hidden, weight, targets, ignore_index, sums)
          .gradients(scale, dhidden, dweight, slot.accumulate ? Into::kAdd : Into::kOverwrite);
    });
    return {dhidden, slot.view.defined() ? Tensor() : dweight, {}, {}};
  }
};

}  // namespace

Tensor embedding(const Tensor& ids, const Tensor& weight) {
  return Embedding::apply(ids, weight);
}

Tensor head_loss(const Tensor& hidden, const Tensor& weight, const Tensor& targets,
                 std::int64_t ignore_index) {
  return HeadLoss::apply(hidden, weight, targets, ignore_index);
}

}  // namespace muster::model::fused
