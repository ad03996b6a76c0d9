// `muster-train score` against what transformers computed (tests/engine/model/reference).
#include <gtest/gtest.h>

#include <cmath>

#include "engine/score/program.h"

namespace muster::train {
namespace {

using Json = nlohmann::json;

std::string model_path(const std::string& name) {
  return (tests_path() / "model/reference" / name).string();
}

Json expected(const std::string& name) {
  return Json::parse(std::ifstream(model_path(name) + "/expected.json"));
}

std::string ids_of(const Json& reference) {
  Json ids;
  for (const auto& sequence : reference["sequences"]) ids["sequences"].push_back(sequence["ids"]);
  return ids.dump();
}

struct Case {
  const char* model;
  const char* kernels;
};

class ScoreCommand : public testing::TestWithParam<Case> {};

TEST_P(ScoreCommand, AgreesWithTransformers) {
  const Scratch scratch;
  const Json reference = expected(GetParam().model);
  const auto result = run_program({"score", model_path(GetParam().model), "--ids",
                                   scratch.put("ids.json", ids_of(reference)), "--grad",
                                   "--kernels", GetParam().kernels, "-o", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json scored = Json::parse(result.out);
  EXPECT_EQ(scored["schema_version"], 1);
  ASSERT_EQ(scored["sequences"].size(), reference["sequences"].size());
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < reference["sequences"].size(); ++i) {
    const Json& ours = scored["sequences"][i];
    const Json& theirs = reference["sequences"][i];
    EXPECT_EQ(ours["ids"], theirs["ids"]);
    ASSERT_EQ(ours["logprobs"].size(), theirs["logprobs"].size());
    for (std::size_t t = 0; t < theirs["logprobs"].size(); ++t)
      EXPECT_NEAR(ours["logprobs"][t].get<double>(), theirs["logprobs"][t].get<double>(), 1e-4);
    EXPECT_NEAR(ours["mean_cross_entropy"].get<double>(),
                theirs["mean_cross_entropy"].get<double>(), 1e-5);
    EXPECT_NEAR(ours["perplexity"].get<double>(),
                std::exp(theirs["mean_cross_entropy"].get<double>()), 1e-2);
    const Json& last = theirs["logits"].back();
    ASSERT_EQ(ours["last_logits"].size(), last.size());
    for (std::size_t v = 0; v < last.size(); ++v)
      EXPECT_NEAR(ours["last_logits"][v].get<double>(), last[v].get<double>(), 1e-4);
    sum +=
        theirs["mean_cross_entropy"].get<double>() * static_cast<double>(theirs["logprobs"].size());
    count += static_cast<double>(theirs["logprobs"].size());
  }
  EXPECT_NEAR(scored["mean_cross_entropy"].get<double>(), sum / count, 1e-5);
  ASSERT_EQ(scored["gradient_norms"].size(), reference["gradient_norms"].size());
  for (const auto& [name, norm] : reference["gradient_norms"].items())
    EXPECT_NEAR(scored["gradient_norms"][name].get<double>(), norm.get<double>(),
                1e-4 * norm.get<double>() + 1e-6)
        << name;
}

INSTANTIATE_TEST_SUITE_P(
    Reference, ScoreCommand,
    testing::Values(Case{"tied_llama3", "reference"}, Case{"untied_head_dim", "reference"},
                    Case{"linear_bf16", "reference"}, Case{"tied_llama3", "fused"},
                    Case{"untied_head_dim", "fused"}, Case{"linear_bf16", "fused"}),
    [](const auto& info) { return std::string(info.param.model) + "_" + info.param.kernels; });

// A tokenizer of lower-case letters and the space, which fits a vocabulary of 61.
std::string letters() {
  Json vocabulary;
  int id = 0;
  for (char c = 'a'; c <= 'z'; ++c) vocabulary[std::string(1, c)] = id++;
  vocabulary["Ġ"] = id;
  return Json{{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
              {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}}
      .dump();
}

TEST(ScoreCommands, TextIsScoredAsItsIdsAre) {
  const Scratch scratch;
  const auto model = model_path("tied_llama3");
  const auto by_text =
      run_program({"score", model, "--text", scratch.put("t.txt", "abc d"), "--tokenizer",
                   scratch.put("tokenizer.json", letters()), "-o", "json"});
  const auto by_ids =
      run_program({"score", model, "--ids",
                   scratch.put("ids.json", R"({"sequences": [[0, 1, 2, 26, 3]]})"), "-o", "json"});
  ASSERT_EQ(by_text.exit_code, 0) << by_text.err;
  EXPECT_EQ(by_text.out, by_ids.out);
  const auto cut =
      run_program({"score", model, "--text", scratch.put("t.txt", "abc d"), "--tokenizer",
                   scratch.put("tokenizer.json", letters()), "--window", "3", "-o", "json"});
  EXPECT_EQ(Json::parse(cut.out)["sequences"].size(), 2U);
}

TEST(ScoreCommands, ATableEndsInTheSum) {
  const Scratch scratch;
  const auto result = run_program({"score", model_path("tied_llama3"), "--ids",
                                   scratch.put("ids.json", R"({"sequences": [[1, 2], [3]]})")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("SEQUENCE"), std::string::npos);
  EXPECT_NE(result.out.find("over 1 predicted tokens"), std::string::npos);
}

TEST(ScoreCommands, BadInputIsExplainedWithExitCode2) {
  const Scratch scratch;
  const auto model = model_path("tied_llama3");
  const auto good = scratch.put("ids.json", R"({"sequences": [[1, 2]]})");
  const auto expect = [](const std::vector<std::string>& arguments, const std::string& message) {
    auto words = arguments;
    words.insert(words.begin(), "score");
    const auto result = run_program(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_TRUE(result.out.empty());
  };
  expect({scratch.path() / "nowhere", "--ids", good}, "nowhere: error: no such folder");
  expect({"tiny", "--ids", good}, "a size alone has no weights");
  expect({scratch.path(), "--ids", good}, "config.json");
  expect({model, "--ids", scratch.path() / "none.json"}, "none.json");
  expect({model, "--ids", scratch.put("bad.json", R"({"sequences": [[1, 61]]})")},
         "bad.json:1:20: error: the token id is '61'");
  expect({model, "--ids", scratch.put("bad.json", "{")}, "bad.json:1:");
  expect({model, "--text", scratch.put("t.txt", "abc")}, "tokenizer.json");
  expect({model, "--text", scratch.put("t.txt", ""), "--tokenizer",
          scratch.put("tokenizer.json", letters())},
         "t.txt: error: the text is empty");
  expect({model, "--text", scratch.put("t.txt", "a\nb\xff"), "--tokenizer",
          scratch.put("tokenizer.json", letters())},
         "t.txt:2:2: error");
  expect({model, "--text", scratch.put("t.txt", "ABC"), "--tokenizer",
          scratch.put("tokenizer.json", letters())},
         "no tokens");
}

TEST(ScoreCommands, DamagedWeightsAreLocated) {
  const Scratch scratch;
  for (const char* name : {"config.json", "model.safetensors"})
    std::filesystem::copy(std::filesystem::path(model_path("tied_llama3")) / name, scratch.path());
  const auto good = scratch.put("ids.json", R"({"sequences": [[1, 2]]})");
  const auto weights = scratch.path() / "model.safetensors";
  std::filesystem::resize_file(weights, std::filesystem::file_size(weights) - 1);
  const auto result = run_program({"score", scratch.path(), "--ids", good});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("model.safetensors: error: tensor"), std::string::npos) << result.err;
}

TEST(ScoreCommands, ACheckpointScoresAsTheModelThatTrainingLeft) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += "The " + std::to_string(i) + "th line of a text to train on.\n";
  const auto out = scratch.path() / "out";
  const auto trained =
      run_program({"train", "--model", "tiny", "--data", scratch.put("t.txt", text), "--tokenizer",
                   "bpe:300", "--out", out, "--steps", "2", "--seq-len", "32", "--checkpoint-every",
                   "2", "--transport", "single", "--threads", "1"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto ids = scratch.put("ids.json", R"({"sequences": [[1, 2, 3, 4, 5]]})");
  const auto model = run_program({"score", out / "model", "--ids", ids, "-o", "json"});
  const auto checkpoint =
      run_program({"score", out / "checkpoints/step-00000002", "--ids", ids, "-o", "json"});
  ASSERT_EQ(model.exit_code, 0) << model.err;
  ASSERT_EQ(checkpoint.exit_code, 0) << checkpoint.err;
  EXPECT_EQ(Json::parse(model.out)["sequences"], Json::parse(checkpoint.out)["sequences"]);
}

TEST(ScoreCommands, AModelThatGivesNoNumbersFails) {
  const Scratch scratch;
  for (const char* name : {"config.json", "model.safetensors"})
    std::filesystem::copy(std::filesystem::path(model_path("tied_llama3")) / name, scratch.path());
  const auto weights = scratch.path() / "model.safetensors";
  {
    std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-4, std::ios::end);  // the last element of the last tensor: not a number
    file.write("\x00\x00\xc0\x7f", 4);
  }
  const auto result =
      run_program({"score", scratch.path(), "--ids",
                   scratch.put("ids.json", R"({"sequences": [[1, 2]]})"), "-o", "json"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find("not finite"), std::string::npos);
  EXPECT_TRUE(Json::parse(result.out)["mean_cross_entropy"].is_null());
}

TEST(ScoreCommands, UsageErrorsGive1) {
  const auto model = model_path("tied_llama3");
  EXPECT_EQ(run_program({"score", model}).exit_code, 1);
  EXPECT_EQ(run_program({"score", model, "--ids", "a", "--text", "b"}).exit_code, 1);
  EXPECT_EQ(run_program({"score", model, "--ids", "a", "-o", "xml"}).exit_code, 1);
}

}  // namespace
}  // namespace muster::train
