#include "engine/model/score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <torch/torch.h>

namespace muster::model {
namespace {

using torch::Tensor;

// Positions whose logits are in memory at a time.
constexpr std::int64_t kChunk = 128;

std::vector<float> to_floats(const Tensor& values) {
  const Tensor flat = values.to(torch::kCPU, torch::kFloat32).contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

/// states [T, H], targets [T] -> the log-probability of each target.
std::vector<float> logprobs_of(const Llama& model, const Tensor& states, const Tensor& targets) {
  std::vector<float> all;
  for (std::int64_t at = 0; at < targets.size(0); at += kChunk) {
    const auto end = std::min(at + kChunk, targets.size(0));
    const Tensor logits = model.kernels().linear(states.slice(0, at, end), model.head_weight());
    const Tensor logprobs = torch::log_softmax(logits.to(torch::kFloat32), -1);
    const auto chosen = to_floats(logprobs.gather(1, targets.slice(0, at, end).unsqueeze(1)));
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  return all;
}

double mean_of_negated(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum -= static_cast<double>(value);
  return values.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : sum / static_cast<double>(values.size());
}

void check(const Llama& model, const std::vector<std::vector<std::int64_t>>& sequences) {
  for (const auto& ids : sequences) {
    if (ids.empty()) throw std::invalid_argument("a sequence to score is empty");
    for (const auto id : ids)
      if (id < 0 || id >= model.config().vocab_size)
        throw std::invalid_argument("a token id to score is not in the vocabulary");
  }
}

}  // namespace

bool Score::finite() const {
  const auto good = [](const auto& values) {
    return std::all_of(values.begin(), values.end(),
                       [](auto value) { return std::isfinite(value); });
  };
  for (const auto& sequence : sequences)
    if (!good(sequence.logprobs) || !good(sequence.last_logits)) return false;
  return std::all_of(gradient_norms.begin(), gradient_norms.end(),
                     [](const auto& item) { return std::isfinite(item.second); });
}

Score score(Llama& model, const std::vector<std::vector<std::int64_t>>& sequences, bool gradients) {
  check(model, sequences);
  Score result;
  for (const auto& ids : sequences) result.predicted += static_cast<std::int64_t>(ids.size()) - 1;
  if (gradients) model.zero_grad();
  double sum = 0;
  UnitRunner direct;
  for (const auto& ids : sequences) {
    SequenceScore scored;
    scored.ids = ids;
    const torch::AutoGradMode grad_mode(gradients);
    const auto length = static_cast<std::int64_t>(ids.size());
    const Tensor tokens = torch::tensor(ids, torch::kInt64).to(model.head_weight().device());
    const Tensor states = model.hidden(tokens.unsqueeze(0), direct)[0];
    const Tensor targets = tokens.slice(0, 1);
    if (gradients && length > 1) {
      const Tensor loss =
          model.kernels().head_loss(states.slice(0, 0, length - 1), model.head_weight(), targets);
      (loss * (static_cast<double>(length - 1) / static_cast<double>(result.predicted))).backward();
    }
    const torch::NoGradGuard no_grad;
    scored.logprobs = logprobs_of(model, states.slice(0, 0, length - 1), targets);
    scored.last_logits =
        to_floats(model.kernels().linear(states.slice(0, length - 1), model.head_weight()));
    scored.mean_cross_entropy = mean_of_negated(scored.logprobs);
    if (!scored.logprobs.empty())
      sum += scored.mean_cross_entropy * static_cast<double>(length - 1);
    result.sequences.push_back(std::move(scored));
  }
  result.mean_cross_entropy = result.predicted > 0 ? sum / static_cast<double>(result.predicted)
                                                   : std::numeric_limits<double>::quiet_NaN();
  if (gradients) {
    for (const auto& item : model.named_parameters()) {
      const Tensor& grad = item.value().grad();
      result.gradient_norms[item.key()] =
          grad.defined() ? grad.to(torch::kFloat32).norm().item<double>() : 0.0;
    }
  }
  return result;
}

}  // namespace muster::model
