// What a model thinks of given token sequences: how a port or a checkpoint is checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model/llama.h"

namespace muster::model {

struct SequenceScore {
  std::vector<std::int64_t> ids;
  std::vector<float> logprobs;  ///< of ids[1], ids[2], …, each given all before it
  double mean_cross_entropy =
      0;  ///< -mean(logprobs); NaN for a single token, which predicts nothing
  std::vector<float> last_logits;  ///< of the last position, one for each token of the vocabulary
};

struct Score {
  std::vector<SequenceScore> sequences;
  std::int64_t predicted = 0;     ///< tokens with a log-probability, over all sequences
  double mean_cross_entropy = 0;  ///< over all predicted tokens; NaN when there are none
  /// 2-norm of the gradient of mean_cross_entropy, by parameter; empty unless asked for.
  std::map<std::string, double> gradient_norms;

  /// True when every figure is a finite number (means of nothing aside).
  bool finite() const;
};

/// Scores each sequence by itself. Sequences are not empty and their ids lie in the vocabulary:
/// anything else is a bug of the caller (std::invalid_argument). Gradients of the model's
/// parameters are overwritten when `gradients` is set.
Score score(Llama& model, const std::vector<std::vector<std::int64_t>>& sequences, bool gradients);

}  // namespace muster::model
