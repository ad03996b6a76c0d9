// The shape of a Llama-family decoder: published sizes, and Hugging Face's config.json in both of
// its spellings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::model {

/// How rotary frequencies are stretched beyond the context that a model was first trained with.
struct RopeScaling {
  enum class Type { kLinear, kLlama3 };
  Type type = Type::kLlama3;
  double factor = 1.0;
  // Of kLlama3 only: wavelengths below original/high keep their frequency, those above original/low
  // are divided by `factor`.
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_position_embeddings = 8192;

  bool operator==(const RopeScaling&) const = default;
};

struct LlamaConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< need not be hidden_size / heads
  std::int64_t max_positions = 2048;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  std::optional<RopeScaling> rope_scaling;
  bool tied_head = false;  ///< the head is the embedding matrix
  std::string dtype;       ///< "float32", "bfloat16", "float16" as published; empty when not said
  std::optional<std::int64_t> bos_token_id;
  std::vector<std::int64_t> eos_token_ids;

  bool operator==(const LlamaConfig&) const = default;

  /// Elements of all weights; a tied head counts once.
  std::int64_t parameter_count() const;

  /// Floating-point operations of one token's forward and backward pass in a sequence of `length`:
  ///   6 × parameters + 6 × layers × heads × head_dim × length.
  /// The second term is causal attention: two products (q·kᵀ, p·v) of 2 × heads × head_dim ×
  /// length/2 operations each (the mean number of visible positions is length/2), once forward and
  /// twice backward.
  double flops_per_token(std::int64_t length) const;
};

/// tiny, small (for CPUs), smollm2-135m, llama3.2-1b, llama3.2-3b, llama3.1-8b, llama3.1-70b;
/// smallest first.
const std::vector<std::string>& known_models();

/// The configuration of a known model, or nothing.
std::optional<LlamaConfig> known_model(std::string_view name);

/// Reads config.json: the classic spelling (rope_theta, rope_scaling, torch_dtype) and that of
/// transformers 5 (rope_parameters, dtype). Errors, each with its place: not JSON, a size that is
/// missing or not a positive integer, sizes that do not fit each other, and whatever would make the
/// model compute something else than this decoder does (another model_type or activation, biases,
/// an unknown rope type). Keys that do not change the computation are ignored.
Result<LlamaConfig> parse_config(std::string_view text, const std::string& file);

/// config.json in the classic spelling, which every version of transformers reads. `dtype` as in
/// LlamaConfig.
std::string write_config(const LlamaConfig& config);

}  // namespace muster::model
