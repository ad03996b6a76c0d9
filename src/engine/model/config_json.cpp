// Reading config.json.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/document.h"
#include "engine/model/config.h"

namespace muster::model {
namespace {

// Reads typed fields of one mapping; every fault becomes a finding with its place.
class Fields {
 public:
  Fields(const Node& node, Findings& findings) : node_(node), findings_(findings) {}

  /// The value of a key that is there and not null.
  const Node* find(std::string_view key) const {
    const Node* value = node_.find(key);
    return value != nullptr && !value->is_null() ? value : nullptr;
  }

  void fault(const Position& where, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(where, "model-config", std::move(message), std::move(hint)));
  }

  void missing(std::string_view key) {
    fault(node_.where(), fmt::format("'{}' is missing", key),
          "the model's size cannot be known without it");
  }

  /// A positive integer that a tensor's size can be.
  std::optional<std::int64_t> size(std::string_view key) {
    const Node* value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto number = value->as_int();
    if (!number || *number <= 0 || *number > std::numeric_limits<std::int32_t>::max()) {
      fault(value->where(), fmt::format("'{}' is {}", key, shown(*value)),
            "a positive integer below 2^31");
      return std::nullopt;
    }
    return number;
  }

  std::optional<double> positive(std::string_view key) {
    const Node* value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto number = value->quoted() ? std::nullopt : value->as_double();
    if (!number || !std::isfinite(*number) || *number <= 0) {
      fault(value->where(), fmt::format("'{}' is {}", key, shown(*value)), "a positive number");
      return std::nullopt;
    }
    return number;
  }

  bool flag(std::string_view key, bool otherwise) {
    const Node* value = find(key);
    if (value == nullptr) return otherwise;
    const auto answer = value->as_bool();
    if (!answer)
      fault(value->where(), fmt::format("'{}' is {}", key, shown(*value)), "true or false");
    return answer.value_or(otherwise);
  }

  std::optional<std::string> text(std::string_view key) {
    const Node* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_scalar() || !value->quoted()) {
      fault(value->where(), fmt::format("'{}' is {}", key, shown(*value)), "a text");
      return std::nullopt;
    }
    return value->text();
  }

  static std::string shown(const Node& value) {
    return value.is_scalar() ? fmt::format("'{}'", value.text())
                             : fmt::format("a {}", value.type_name());
  }

 private:
  const Node& node_;
  Findings& findings_;
};

void read_sizes(Fields& fields, const Node& root, LlamaConfig& config, Findings& findings) {
  const auto required = [&](std::string_view key, std::int64_t& into) {
    const auto before = findings.size();
    const auto value = fields.size(key);
    if (value)
      into = *value;
    else if (findings.size() == before)
      fields.missing(key);
  };
  required("vocab_size", config.vocab_size);
  required("hidden_size", config.hidden_size);
  required("intermediate_size", config.intermediate_size);
  required("num_hidden_layers", config.layers);
  required("num_attention_heads", config.heads);
  config.kv_heads = fields.size("num_key_value_heads").value_or(config.heads);
  config.max_positions = fields.size("max_position_embeddings").value_or(config.max_positions);
  const auto head_dim = fields.size("head_dim");
  if (has_errors(findings)) return;

  const auto place = [&](std::string_view key) {
    const Node* value = root.find(key);
    return value != nullptr ? value->where() : root.where();
  };
  if (config.heads % config.kv_heads != 0) {
    fields.fault(place("num_key_value_heads"),
                 fmt::format("{} query heads cannot share {} key/value heads", config.heads,
                             config.kv_heads),
                 "num_attention_heads must be a multiple of num_key_value_heads");
  }
  if (head_dim) {
    config.head_dim = *head_dim;
  } else if (config.hidden_size % config.heads == 0) {
    config.head_dim = config.hidden_size / config.heads;
  } else {
    fields.fault(place("hidden_size"),
                 fmt::format("hidden_size {} is not a multiple of {} heads", config.hidden_size,
                             config.heads),
                 "another size, or an explicit head_dim");
    return;
  }
  if (config.head_dim % 2 != 0) {
    fields.fault(
        place(head_dim ? "head_dim" : "hidden_size"),
        fmt::format("a head has {} elements, which rotary positions cannot pair", config.head_dim),
        "an even head_dim");
  }
}

// `node` is rope_scaling or rope_parameters.
void read_rope(const Node& node, LlamaConfig& config, Findings& findings) {
  Fields fields(node, findings);
  if (!node.is_mapping()) {
    fields.fault(node.where(), fmt::format("the rope settings are {}", Fields::shown(node)),
                 "a mapping or null");
    return;
  }
  if (const auto theta = fields.positive("rope_theta")) config.rope_theta = *theta;
  auto type = fields.text("rope_type");
  const Node* place = fields.find("rope_type");
  if (!type) {
    type = fields.text("type");
    place = fields.find("type");
  }
  if (!type) {
    if (fields.find("factor") != nullptr) fields.missing("rope_type");
    return;
  }
  if (*type == "default") return;
  RopeScaling scaling;
  if (*type == "llama3") {
    scaling.type = RopeScaling::Type::kLlama3;
  } else if (*type == "linear") {
    scaling.type = RopeScaling::Type::kLinear;
  } else {
    fields.fault(place->where(), fmt::format("rope type '{}' is not known", *type),
                 "default, linear or llama3");
    return;
  }
  const auto required = [&](std::string_view key) {
    const auto before = findings.size();
    const auto value = fields.positive(key);
    if (!value && findings.size() == before) fields.missing(key);
    return value.value_or(1.0);
  };
  scaling.factor = required("factor");
  if (scaling.type == RopeScaling::Type::kLlama3) {
    scaling.low_freq_factor = required("low_freq_factor");
    scaling.high_freq_factor = required("high_freq_factor");
    const auto before = findings.size();
    if (const auto original = fields.size("original_max_position_embeddings")) {
      scaling.original_max_position_embeddings = *original;
    } else if (findings.size() == before) {
      fields.missing("original_max_position_embeddings");
    }
    if (findings.size() == before && scaling.high_freq_factor <= scaling.low_freq_factor) {
      fields.fault(fields.find("high_freq_factor")->where(),
                   "high_freq_factor is not above low_freq_factor", "a larger high_freq_factor");
    }
  }
  config.rope_scaling = scaling;
}

void read_token_ids(Fields& fields, LlamaConfig& config) {
  const auto id = [&](const Node& value, const char* key) -> std::optional<std::int64_t> {
    const auto number = value.as_int();
    if (!number || *number < -1) {
      fields.fault(value.where(), fmt::format("'{}' is {}", key, Fields::shown(value)),
                   "a token id");
      return std::nullopt;
    }
    return number;
  };
  if (const Node* bos = fields.find("bos_token_id")) config.bos_token_id = id(*bos, "bos_token_id");
  if (const Node* eos = fields.find("eos_token_id")) {
    const auto add = [&](const Node& value) {
      if (const auto number = id(value, "eos_token_id")) config.eos_token_ids.push_back(*number);
    };
    if (eos->is_sequence()) {
      for (const Node& item : eos->items()) add(item);
    } else {
      add(*eos);
    }
  }
}

// Whatever would make the published model compute something else than this decoder does.
void refuse_others(Fields& fields) {
  if (const auto type = fields.text("model_type"); type && *type != "llama") {
    fields.fault(fields.find("model_type")->where(),
                 fmt::format("model_type '{}' is not a Llama", *type),
                 "a model whose model_type is 'llama'");
  }
  if (const auto act = fields.text("hidden_act"); act && *act != "silu") {
    fields.fault(fields.find("hidden_act")->where(),
                 fmt::format("hidden_act '{}' is not supported", *act), "'silu'");
  }
  for (const char* key : {"attention_bias", "mlp_bias", "rope_interleaved"}) {
    if (fields.flag(key, false)) {
      fields.fault(fields.find(key)->where(), fmt::format("{} is not supported", key), "false");
    }
  }
}

}  // namespace

Result<LlamaConfig> parse_config(std::string_view text, const std::string& file) {
  auto document = parse_json(text, file);
  if (!document) return document.error();
  const Node& root = document.value();
  if (!root.is_mapping())
    return Failure(error_at(root.where(), "model-config",
                            fmt::format("the configuration is {}", Fields::shown(root)),
                            "an object"));

  Findings findings;
  Fields fields(root, findings);
  LlamaConfig config;
  refuse_others(fields);
  read_sizes(fields, root, config, findings);
  if (const auto eps = fields.positive("rms_norm_eps")) config.rms_norm_eps = *eps;
  if (const auto theta = fields.positive("rope_theta")) config.rope_theta = *theta;
  if (const Node* rope = fields.find("rope_scaling")) read_rope(*rope, config, findings);
  if (const Node* rope = fields.find("rope_parameters")) read_rope(*rope, config, findings);
  config.tied_head = fields.flag("tie_word_embeddings", false);
  const char* dtype_key = fields.find("dtype") != nullptr ? "dtype" : "torch_dtype";
  if (auto dtype = fields.text(dtype_key)) {
    if (*dtype != "float32" && *dtype != "bfloat16" && *dtype != "float16") {
      fields.fault(fields.find(dtype_key)->where(), fmt::format("dtype '{}' is not known", *dtype),
                   "float32, bfloat16 or float16");
    }
    config.dtype = std::move(*dtype);
  }
  read_token_ids(fields, config);
  if (has_errors(findings)) return Failure(std::move(findings));
  return config;
}

}  // namespace muster::model
