#include "engine/train/score_input.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "engine/text/train_bpe.h"

namespace muster::train {
namespace {

TEST(ScoreInput, ReadsSequences) {
  const auto sequences = parse_sequences(R"({"sequences": [[1, 2, 3], [0]]})", "ids.json", 4);
  ASSERT_TRUE(sequences.ok());
  EXPECT_EQ(*sequences, (Sequences{{1, 2, 3}, {0}}));
}

struct Fault {
  const char* json;
  int column;
  const char* message;
};

class ScoreInputFault : public testing::TestWithParam<Fault> {};

TEST_P(ScoreInputFault, IsLocated) {
  const auto sequences = parse_sequences(GetParam().json, "ids.json", 4);
  ASSERT_FALSE(sequences.ok());
  const auto& first = sequences.findings().front();
  EXPECT_NE(first.message.find(GetParam().message), std::string::npos) << to_string(first);
  EXPECT_EQ(first.where, (Position{"ids.json", 1, GetParam().column}));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, ScoreInputFault,
    testing::Values(Fault{"[]", 1, "no list of sequences"},
                    Fault{R"({"sequences": 3})", 15, "no list of sequences"},
                    Fault{R"({"sequences": []})", 15, "nothing to score"},
                    Fault{R"({"sequences": [[]]})", 16, "the sequence is empty"},
                    Fault{R"({"sequences": [[1], 2]})", 21, "the sequence is '2'"},
                    Fault{R"({"sequences": [[1, 4]]})", 20, "the token id is '4'"},
                    Fault{R"({"sequences": [[1, -1]]})", 20, "the token id is '-1'"},
                    Fault{R"({"sequences": [[1, 1.5]]})", 20, "the token id is '1.5'"},
                    Fault{R"({"sequences": [["1"]]})", 17, "the token id is '1'"},
                    Fault{R"({"sequences": [[1]], "more": 1})", 22, "unknown key 'more'"}));

TEST(ScoreInput, SaysAllThatIsWrong) {
  const auto sequences = parse_sequences(R"({"sequences": [[9], [], [1]], "x": 1})", "ids.json", 4);
  ASSERT_FALSE(sequences.ok());
  EXPECT_EQ(sequences.findings().size(), 3U);
}

const text::Tokenizer& tokenizer() {
  static const auto kTokenizer =
      *text::train_bpe("some words, some more words and yet some more", 280);
  return kTokenizer;
}

RC_GTEST_PROP(ScoreInputProperty, WindowsJoinToTheText, ()) {
  const auto length = *rc::gen::inRange<std::size_t>(1, 60);
  const auto window = *rc::gen::inRange<std::int64_t>(1, 12);
  const std::string text(length, 'x');
  const auto sequences = windows_of(text, "t.txt", tokenizer(), window, 1000);
  RC_ASSERT(sequences.ok());
  std::vector<text::TokenId> joined;
  for (const auto& ids : *sequences) {
    RC_ASSERT(!ids.empty());
    RC_ASSERT(
        static_cast<std::int64_t>(ids.size()) <=
        std::max<std::int64_t>(window + 1, static_cast<std::int64_t>(window == 1 ? length : 0)));
    joined.insert(joined.end(), ids.begin(), ids.end());
  }
  RC_ASSERT(joined == tokenizer().encode(text));
}

TEST(ScoreInput, RefusesWhatIsNoText) {
  EXPECT_FALSE(windows_of("", "t.txt", tokenizer(), 8, 1000).ok());
  const auto binary = windows_of(std::string("ok\n\0x", 5), "t.txt", tokenizer(), 8, 1000);
  ASSERT_FALSE(binary.ok());
  EXPECT_EQ(binary.findings().front().where.line, 2);
  EXPECT_FALSE(windows_of("caf\xe9", "t.txt", tokenizer(), 8, 1000).ok());
  const auto small = windows_of("words", "t.txt", tokenizer(), 8, 50);
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.findings().front().message.find("the model has ids 0 to 49"), std::string::npos);
}

}  // namespace
}  // namespace muster::train
