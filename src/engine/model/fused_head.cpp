// The two ends of the model, where the vocabulary is: embedding, and head with cross-entropy.
#include <algorithm>
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

/// Rows handled at once: their logits in float32 take about this much.
constexpr std::int64_t kLogitBytes = 64 << 20;

std::int64_t rows_at_once(std::int64_t rows, std::int64_t vocabulary) {
  const auto most = std::clamp<std::int64_t>(kLogitBytes / (4 * vocabulary), 16, rows);
  const auto chunks = (rows + most - 1) / most;
  return (rows + chunks - 1) / chunks;
}

/// A row stride that does not put all rows into the same cache sets.
std::int64_t padded(std::int64_t columns) {
  return (columns + 15) / 16 * 16 + 32;
}

/// Memory for the weight's gradient: the last step's, when nobody holds it any more (fresh memory
/// costs page faults).
Tensor weight_sum(std::int64_t vocabulary, std::int64_t width) {
  thread_local Tensor last;
  if (!last.defined() || last.use_count() > 1 || last.size(0) != vocabulary ||
      last.size(1) != width)
    last = torch::empty({vocabulary, width}, torch::kFloat32);
  return last;
}

struct HeadResult {
  Tensor loss;
  Tensor dhidden;  ///< undefined when no gradient is wanted
  Tensor dweight;  ///< float32; undefined when not wanted
};

template <typename T>
HeadResult head_of(const Tensor& hidden, const Tensor& weight, const Tensor& targets,
                   std::int64_t ignore_index, bool want_hidden, bool want_weight) {
  const auto rows = hidden.size(0);
  const auto width = hidden.size(1);
  const auto vocabulary = weight.size(0);
  const auto* target = targets.data_ptr<std::int64_t>();
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (target[i] == ignore_index) continue;
    if (target[i] < 0 || target[i] >= vocabulary)
      throw std::out_of_range("head_loss: target " + std::to_string(target[i]) + " at row " +
                              std::to_string(i) + " is outside a vocabulary of " +
                              std::to_string(vocabulary));
    ++counted;
  }
  if (counted == 0) throw std::invalid_argument("head_loss: no target counts");

  HeadResult result;
  if (want_hidden) result.dhidden = torch::empty_like(hidden);
  if (want_weight) result.dweight = weight_sum(vocabulary, width);
  const float scale = 1.0f / static_cast<float>(counted);
  const auto chunk = rows_at_once(rows, vocabulary);
  const auto stride = padded(vocabulary);
  float* buffer = scratch_of<float>(Scratch::kLogits, chunk * stride);
  std::vector<float> losses(static_cast<std::size_t>(rows), 0.0f);
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const auto count = std::min(chunk, rows - first);
    const Matrix states = as_matrix(hidden).row_block(first, count);
    const Matrix logits = {buffer, torch::kFloat32, count, vocabulary, stride, 1};
    multiply(states, as_matrix(weight).transposed(), logits);
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        float* row = buffer + i * stride;
        if (target[first + i] == ignore_index)
          std::memset(row, 0, static_cast<std::size_t>(vocabulary) * sizeof(T));
        else
          losses[static_cast<std::size_t>(first + i)] =
              vector_kernels().rows<T>().cross_entropy(row, target[first + i], vocabulary, scale);
      }
    });
    // The gradient lies in the same rows, as T.
    const Matrix dlogits = {
        buffer, kTypeOf<T>, count, vocabulary, stride * static_cast<std::int64_t>(4 / sizeof(T)),
        1};
    if (want_hidden)
      multiply(dlogits, as_matrix(weight), as_matrix(result.dhidden).row_block(first, count));
    if (want_weight)
      multiply(dlogits.transposed(), states, as_matrix(result.dweight),
               first == 0 ? Into::kOverwrite : Into::kAdd);
  }
  const double total = std::accumulate(losses.begin(), losses.end(), 0.0);
  result.loss = torch::full({}, total / static_cast<double>(counted),
                            torch::TensorOptions().dtype(torch::kFloat32));
  return result;
}

/// The loss is a scalar, so its gradients are made with it (as Liger Kernel does) and only scaled
/// in the backward pass: the logits are never needed again.
class HeadLoss : public torch::autograd::Function<HeadLoss> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& hidden_in, const Tensor& weight,
                        const Tensor& targets_in, std::int64_t ignore_index, bool want_hidden,
                        bool want_weight) {
    const Tensor hidden = hidden_in.contiguous();
    const Tensor targets = targets_in.contiguous();
    HeadResult result;
    with_type(hidden.scalar_type(), [&](auto zero) {
      result =
          head_of<decltype(zero)>(hidden, weight, targets, ignore_index, want_hidden, want_weight);
    });
    ctx->save_for_backward({weight});
    ctx->saved_data["dhidden"] = result.dhidden;
    ctx->saved_data["dweight"] = result.dweight;
    return result.loss;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const Tensor weight = ctx->get_saved_variables()[0];
    const float scale = gradients[0].item<float>();
    Tensor dhidden, dweight;
    if (const auto& saved = ctx->saved_data["dhidden"];
        saved.isTensor() && saved.toTensor().defined())
      dhidden = scale == 1.0f ? saved.toTensor() : saved.toTensor() * scale;
    if (const auto& saved = ctx->saved_data["dweight"];
        saved.isTensor() && saved.toTensor().defined())
      dweight = give_gradient(weight, saved.toTensor(), scale);
    return {dhidden, dweight, {}, {}, {}, {}};
  }
};

}  // namespace

Tensor embedding(const Tensor& ids, const Tensor& weight) {
  return Embedding::apply(ids, weight);
}

Tensor head_loss(const Tensor& hidden, const Tensor& weight, const Tensor& targets,
                 std::int64_t ignore_index) {
  const bool recording = torch::GradMode::is_enabled();
  return HeadLoss::apply(hidden, weight, targets, ignore_index, recording && hidden.requires_grad(),
                         recording && weight.requires_grad());
}

}  // namespace muster::model::fused
