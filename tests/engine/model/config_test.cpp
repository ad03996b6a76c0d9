#include "engine/model/config.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file_system.h"

namespace muster::model {
namespace {

const std::string kMinimal =
    R"({"vocab_size": 100, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4)";

Result<LlamaConfig> parse(const std::string& more) {
  return parse_config(kMinimal + more + "}", "config.json");
}

TEST(Config, CountsParametersAsPublished) {
  EXPECT_EQ(known_model("smollm2-135m")->parameter_count(), 134515008);
  EXPECT_EQ(known_model("llama3.2-1b")->parameter_count(), 1235814400);
  EXPECT_EQ(known_model("llama3.2-3b")->parameter_count(), 3212749824);
  EXPECT_EQ(known_model("llama3.1-8b")->parameter_count(), 8030261248);
  EXPECT_EQ(known_model("llama3.1-70b")->parameter_count(), 70553706496);
}

TEST(Config, TinyIsTiny) {
  EXPECT_GE(known_model("tiny")->parameter_count(), 1'000'000);
  EXPECT_LE(known_model("tiny")->parameter_count(), 3'000'000);
  EXPECT_FALSE(known_model("huge").has_value());
}

TEST(Config, EveryKnownModelSurvivesItsJson) {
  for (const std::string& name : known_models()) {
    const auto config = *known_model(name);
    const auto again = parse_config(write_config(config), name);
    ASSERT_TRUE(again.ok()) << name << ": " << to_string(again.findings().front());
    EXPECT_EQ(*again, config) << name;
  }
}

TEST(Config, FlopsAreSixTimesParametersPlusCausalAttention) {
  const auto config = *known_model("smollm2-135m");
  EXPECT_DOUBLE_EQ(config.flops_per_token(0), 6.0 * 134515008);
  EXPECT_DOUBLE_EQ(config.flops_per_token(512) - config.flops_per_token(0),
                   6.0 * 30 * 9 * 64 * 512);
}

TEST(Config, DefaultsAreTheFamilys) {
  const auto config = parse("");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->kv_heads, 4);
  EXPECT_EQ(config->head_dim, 8);
  EXPECT_EQ(config->rope_theta, 10000.0);
  EXPECT_EQ(config->rms_norm_eps, 1e-6);
  EXPECT_FALSE(config->tied_head);
  EXPECT_FALSE(config->rope_scaling.has_value());
}

TEST(Config, BothSpellingsAreTheSame) {
  const auto classic = parse(
      R"(, "rope_theta": 500000.0, "torch_dtype": "bfloat16", "rope_scaling": {"type": "llama3", "factor": 32.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})");
  const auto current = parse(
      R"(, "dtype": "bfloat16", "rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", "factor": 32.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})");
  ASSERT_TRUE(classic.ok() && current.ok());
  EXPECT_EQ(*classic, *current);
  EXPECT_EQ(classic->rope_theta, 500000.0);
  ASSERT_TRUE(classic->rope_scaling.has_value());
  EXPECT_EQ(classic->rope_scaling->factor, 32.0);
  EXPECT_EQ(classic->dtype, "bfloat16");
}

TEST(Config, HeadSizeMayDiffer) {
  const auto config = parse(R"(, "head_dim": 10, "num_key_value_heads": 2)");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->head_dim, 10);
  const auto null = parse(R"(, "head_dim": null)");
  ASSERT_TRUE(null.ok());
  EXPECT_EQ(null->head_dim, 8);
}

TEST(Config, EndOfTextMayBeSeveral) {
  const auto config = parse(R"(, "bos_token_id": 1, "eos_token_id": [2, 5])");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->bos_token_id, 1);
  EXPECT_EQ(config->eos_token_ids, (std::vector<std::int64_t>{2, 5}));
}

struct Fault {
  const char* more;
  const char* message;
};

class ConfigFault : public testing::TestWithParam<Fault> {};

TEST_P(ConfigFault, IsLocated) {
  const auto config = parse(GetParam().more);
  ASSERT_FALSE(config.ok());
  const Finding& first = config.findings().front();
  EXPECT_NE(first.message.find(GetParam().message), std::string::npos) << to_string(first);
  EXPECT_EQ(first.where.file, "config.json");
  EXPECT_GE(first.where.line, 1);
  EXPECT_GT(first.where.column, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, ConfigFault,
    testing::Values(
        Fault{R"(, "num_key_value_heads": 3)", "4 query heads cannot share 3"},
        Fault{R"(, "num_key_value_heads": 0)", "'num_key_value_heads' is '0'"},
        Fault{R"(, "head_dim": 7)", "rotary"}, Fault{R"(, "head_dim": "8")", "'head_dim' is '8'"},
        Fault{R"(, "max_position_embeddings": 1e400)", "max_position_embeddings"},
        Fault{R"(, "rms_norm_eps": -1)", "'rms_norm_eps' is '-1'"},
        Fault{R"(, "rope_scaling": {"type": "yarn", "factor": 2})", "rope type 'yarn'"},
        Fault{R"(, "rope_scaling": {"factor": 2})", "'rope_type' is missing"},
        Fault{R"(, "rope_scaling": {"rope_type": "llama3", "factor": 2})",
              "'low_freq_factor' is missing"},
        Fault{R"(, "rope_scaling": 3)", "rope settings"},
        Fault{R"(, "rope_scaling": {"rope_type": "llama3", "factor": 2, "low_freq_factor": 4,
                             "high_freq_factor": 4, "original_max_position_embeddings": 10})",
              "high_freq_factor is not above"},
        Fault{R"(, "tie_word_embeddings": "yes")", "'tie_word_embeddings' is 'yes'"},
        Fault{R"(, "torch_dtype": "int8")", "dtype 'int8'"},
        Fault{R"(, "model_type": "gpt2")", "model_type 'gpt2'"},
        Fault{R"(, "hidden_act": "gelu")", "hidden_act 'gelu'"},
        Fault{R"(, "attention_bias": true)", "attention_bias"},
        Fault{R"(, "eos_token_id": "x")", "'eos_token_id' is 'x'"},
        Fault{R"(, "vocab_size": 3)", ""}));

TEST(ConfigFaults, EverySizeIsRequired) {
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads"}) {
    std::string text = kMinimal + "}";
    text.replace(text.find(key), 1, "X");
    const auto config = parse_config(text, "c.json");
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_EQ(config.findings().front().message, "'" + std::string(key) + "' is missing");
  }
}

TEST(ConfigFaults, NoPrefixOfAFileIsTakenOrCrashes) {
  const std::string text = write_config(*known_model("llama3.2-1b"));
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_FALSE(parse_config(text.substr(0, length), "c.json").ok()) << length;
}

TEST(ConfigFaults, AnythingButAnObjectIsRefused) {
  for (const char* text : {"[]", "3", "null", "\"llama\""})
    EXPECT_FALSE(parse_config(text, "c.json").ok()) << text;
}

}  // namespace
}  // namespace muster::model
