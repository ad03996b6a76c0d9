#include "engine/model/config.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace muster::model {
namespace {

LlamaConfig shape(std::int64_t hidden, std::int64_t layers, std::int64_t heads,
                  std::int64_t kv_heads, std::int64_t head_dim, std::int64_t intermediate,
                  std::int64_t vocabulary) {
  LlamaConfig config;
  config.hidden_size = hidden;
  config.layers = layers;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_dim = head_dim;
  config.intermediate_size = intermediate;
  config.vocab_size = vocabulary;
  config.rms_norm_eps = 1e-5;
  return config;
}

// Made for CPUs: not published anywhere, no token ids of their own.
LlamaConfig own(LlamaConfig config) {
  config.tied_head = true;
  config.max_positions = 2048;
  config.rope_theta = 10000.0;
  config.dtype = "float32";
  return config;
}

LlamaConfig smollm2(LlamaConfig config) {
  config.tied_head = true;
  config.max_positions = 8192;
  config.rope_theta = 1e5;
  config.dtype = "bfloat16";
  config.bos_token_id = 0;
  config.eos_token_ids = {0};
  return config;
}

LlamaConfig llama3(LlamaConfig config, double factor, bool tied) {
  config.tied_head = tied;
  config.max_positions = 131072;
  config.rope_theta = 5e5;
  config.rope_scaling = RopeScaling{RopeScaling::Type::kLlama3, factor, 1.0, 4.0, 8192};
  config.dtype = "bfloat16";
  config.bos_token_id = 128000;
  config.eos_token_ids = {128001};
  return config;
}

// From the models' published config.json files.
const std::vector<std::pair<std::string, LlamaConfig>>& table() {
  static const std::vector<std::pair<std::string, LlamaConfig>> kTable = {
      {"tiny", own(shape(128, 4, 4, 2, 32, 384, 4096))},
      {"small", own(shape(384, 8, 6, 2, 64, 1024, 8192))},
      {"smollm2-135m", smollm2(shape(576, 30, 9, 3, 64, 1536, 49152))},
      {"llama3.2-1b", llama3(shape(2048, 16, 32, 8, 64, 8192, 128256), 32, true)},
      {"llama3.2-3b", llama3(shape(3072, 28, 24, 8, 128, 8192, 128256), 32, true)},
      {"llama3.1-8b", llama3(shape(4096, 32, 32, 8, 128, 14336, 128256), 8, false)},
      {"llama3.1-70b", llama3(shape(8192, 80, 64, 8, 128, 28672, 128256), 8, false)},
  };
  return kTable;
}

}  // namespace

std::int64_t LlamaConfig::parameter_count() const {
  const std::int64_t attention =
      2 * hidden_size * heads * head_dim + 2 * hidden_size * kv_heads * head_dim;
  const std::int64_t block = attention + 3 * hidden_size * intermediate_size + 2 * hidden_size;
  return vocab_size * hidden_size * (tied_head ? 1 : 2) + layers * block + hidden_size;
}

double LlamaConfig::flops_per_token(std::int64_t length) const {
  return 6.0 * static_cast<double>(parameter_count()) +
         6.0 * static_cast<double>(layers * heads * head_dim) * static_cast<double>(length);
}

const std::vector<std::string>& known_models() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& row : table()) names.push_back(row.first);
    return names;
  }();
  return kNames;
}

std::optional<LlamaConfig> known_model(std::string_view name) {
  for (const auto& row : table())
    if (row.first == name) return row.second;
  return std::nullopt;
}

std::string write_config(const LlamaConfig& config) {
  nlohmann::ordered_json json;
  json["architectures"] = {"LlamaForCausalLM"};
  json["model_type"] = "llama";
  json["attention_bias"] = false;
  json["mlp_bias"] = false;
  json["hidden_act"] = "silu";
  if (config.bos_token_id) json["bos_token_id"] = *config.bos_token_id;
  if (config.eos_token_ids.size() == 1) {
    json["eos_token_id"] = config.eos_token_ids.front();
  } else if (!config.eos_token_ids.empty()) {
    json["eos_token_id"] = config.eos_token_ids;
  }
  json["vocab_size"] = config.vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["intermediate_size"] = config.intermediate_size;
  json["num_hidden_layers"] = config.layers;
  json["num_attention_heads"] = config.heads;
  json["num_key_value_heads"] = config.kv_heads;
  json["head_dim"] = config.head_dim;
  json["max_position_embeddings"] = config.max_positions;
  json["rms_norm_eps"] = config.rms_norm_eps;
  json["rope_theta"] = config.rope_theta;
  json["rope_scaling"] = nullptr;
  if (config.rope_scaling) {
    const RopeScaling& scaling = *config.rope_scaling;
    nlohmann::ordered_json rope;
    rope["factor"] = scaling.factor;
    if (scaling.type == RopeScaling::Type::kLlama3) {
      rope["low_freq_factor"] = scaling.low_freq_factor;
      rope["high_freq_factor"] = scaling.high_freq_factor;
      rope["original_max_position_embeddings"] = scaling.original_max_position_embeddings;
      rope["rope_type"] = "llama3";
    } else {
      rope["rope_type"] = "linear";
    }
    json["rope_scaling"] = std::move(rope);
  }
  json["tie_word_embeddings"] = config.tied_head;
  if (!config.dtype.empty()) json["torch_dtype"] = config.dtype;
  return json.dump(2) + "\n";
}

}  // namespace muster::model
