#include "engine/text/train_bpe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/text/reference.h"

namespace muster::text {
namespace {

TEST(TrainBpe, ChoosesWhatHuggingFaceChooses) {
  const auto ours = train_bpe(reference_text("text.txt"), 700);
  ASSERT_TRUE(ours.ok());
  const auto theirs = reference_json("trained.json");
  const auto json = nlohmann::json::parse(ours->to_json());
  EXPECT_EQ(json["model"]["vocab"], theirs["model"]["vocab"]);
  ASSERT_EQ(json["model"]["merges"].size(), theirs["model"]["merges"].size());
  for (std::size_t i = 0; i < theirs["model"]["merges"].size(); ++i) {
    const auto& pair = theirs["model"]["merges"][i];
    EXPECT_EQ(json["model"]["merges"][i],
              pair[0].get<std::string>() + " " + pair[1].get<std::string>())
        << i;
  }
}

TEST(TrainBpe, GivesExactlyTheIdsAsked) {
  const auto text = reference_text("text.txt");
  for (const std::int64_t size : {257, 258, 300, 512}) {
    const auto tokenizer = train_bpe(text, size);
    ASSERT_TRUE(tokenizer.ok());
    EXPECT_EQ(tokenizer->vocabulary_size(), size);
    for (std::int64_t id = 0; id < size; ++id) EXPECT_TRUE(tokenizer->contains(id)) << id;
    EXPECT_EQ(tokenizer->end_of_text(), 0);
  }
}

TEST(TrainBpe, StopsWhenNothingRepeats) {
  const auto tokenizer = train_bpe("ab ab cd", 1000);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_LT(tokenizer->vocabulary_size(), 262);
  EXPECT_GE(tokenizer->vocabulary_size(), 258);
}

TEST(TrainBpe, ExplainsWhatItCannotDo) {
  EXPECT_FALSE(train_bpe("", 300).ok());
  EXPECT_FALSE(train_bpe("text", 256).ok());
  EXPECT_FALSE(train_bpe("text", -5).ok());
  EXPECT_FALSE(train_bpe("text", std::int64_t{1} << 40).ok());
}

RC_GTEST_PROP(TrainBpeProperty, IsAFunctionOfTheTextAndLosesNothing, (const std::string& noise)) {
  RC_PRE(!noise.empty());
  const std::string text = noise + noise + " " + noise;
  const auto once = train_bpe(text, 280);
  const auto again = train_bpe(text, 280);
  RC_ASSERT(once.ok());
  RC_ASSERT(once->to_json() == again->to_json());
  RC_ASSERT(once->decode(once->encode(text)) == text);
  RC_ASSERT(Tokenizer::from_json(once->to_json(), "t").ok());
}

}  // namespace
}  // namespace muster::text
