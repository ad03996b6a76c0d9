#include <gtest/gtest.h>

#include "engine/score/program.h"

namespace muster::train {
namespace {

using Json = nlohmann::json;

std::string tokenizer_file(const std::string& name) {
  return (tests_path() / "text/reference" / (name + ".json")).string();
}

TEST(TokenizeCommand, PrintsIdsAndTheTextTheyStandFor) {
  const auto result = run_program({"tokenize", tokenizer_file("llama3"), "In the <|a|>"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto line = result.out.find('\n');
  ASSERT_NE(line, std::string::npos);
  EXPECT_EQ(result.out.substr(line), "\nIn the <|a|>\n");
  EXPECT_NE(result.out.find(" 501\n"), std::string::npos) << result.out;
}

TEST(TokenizeCommand, ReadsStandardInputAndAgreesWithHuggingFace) {
  const auto expected = Json::parse(std::ifstream(tests_path() / "text/reference/expected.json"));
  for (const std::size_t i : {4U, 7U, 12U, 22U}) {
    const auto text = expected["texts"][i].get<std::string>();
    const auto result = run_program({"tokenize", tokenizer_file("gpt2"), "-", "-o", "json"}, text);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto json = Json::parse(result.out);
    EXPECT_EQ(json["ids"], expected["cases"]["gpt2"]["plain"][i]);
    EXPECT_EQ(json["text"], text);
    EXPECT_EQ(json["round_trip"], true);
  }
}

TEST(TokenizeCommand, DecodesIds) {
  const auto result =
      run_program({"tokenize", tokenizer_file("trained"), "--decode", "[40, 77]", "-o", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["ids"], (Json{40, 77}));
}

TEST(TokenizeCommand, TakesAModelsFolder) {
  const Scratch scratch;
  std::filesystem::copy(tokenizer_file("llama3"), scratch.path() / "tokenizer.json");
  const auto result = run_program({"tokenize", scratch.path(), "--specials", "God"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.substr(0, 4), "501 ");
}

TEST(TokenizeCommand, BadInputIsExplainedWithExitCode2) {
  const Scratch scratch;
  const auto expect = [](const std::vector<std::string>& arguments, const std::string& message) {
    auto words = arguments;
    words.insert(words.begin(), "tokenize");
    const auto result = run_program(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  };
  expect({scratch.path() / "nowhere", "x"}, "nowhere/tokenizer.json");
  expect({scratch.put("tokenizer.json", "{\"model\": 3}"), "x"}, "tokenizer.json:1:");
  expect({tokenizer_file("gpt2"), "a\xff"}, "<text>:1:2: error");
  expect({tokenizer_file("gpt2"), "--decode", "1 2 77777"},
         "<text>:1:5: error: '77777' is no token id");
  expect({tokenizer_file("gpt2"), "--decode", "1 x"}, "'x' is no token id");
}

}  // namespace
}  // namespace muster::train
