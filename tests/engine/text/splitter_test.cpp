#include "engine/text/splitter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/text/byte_level.h"
#include "engine/text/reference.h"

namespace muster::text {
namespace {

std::vector<std::string> split(std::vector<SplitStep> steps, std::string_view text) {
  const auto splitter = Splitter::make(std::move(steps));
  EXPECT_TRUE(splitter.ok());
  const Pieces pieces = splitter->split(text);
  return {pieces.views.begin(), pieces.views.end()};
}

SplitStep by(const std::string& regex) {
  SplitStep step;
  step.regex = regex;
  return step;
}

using Strings = std::vector<std::string>;

TEST(ByteLevel, EveryByteHasItsCharacter) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(from_visible(to_visible(all)), all);
  EXPECT_EQ(to_visible(" a\n"), "ĠaĊ");
  EXPECT_EQ(from_visible("€"), std::nullopt);
  EXPECT_EQ(from_visible("\xff"), std::nullopt);
  EXPECT_EQ(from_visible("a b"), std::nullopt);
}

TEST(Splitter, CutsAsGpt2) {
  SplitStep step;
  step.kind = SplitStep::Kind::kByteLevel;
  EXPECT_EQ(split({step}, "Don't  go 12ab!?\n\n x "),
            (Strings{"Don", "'t", " ", " go", " 12", "ab", "!?", "\n\n", " x", " "}));
}

TEST(Splitter, CutsAsLlama3) {
  EXPECT_EQ(split({by(kLlama3Pattern)}, "DON'T 12345\r\n (x)"),
            (Strings{"DON", "'T", " ", "123", "45", "\r\n", " (", "x", ")"}));
}

TEST(Splitter, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(split({by(R"(\s+)")}, "a\u00a0\u3000b\u180ec\u0085"),
            (Strings{"a", "\u00a0\u3000", "b\u180ec", "\u0085"}));
  EXPECT_EQ(split({by(R"([^\s]+)")}, "a\u00a0b"), (Strings{"a", "\u00a0", "b"}));
  EXPECT_EQ(split({by(R"(\S+)")}, "a\u2003b"), (Strings{"a", "\u2003", "b"}));
}

TEST(Splitter, RemovesWhatItIsToldTo) {
  SplitStep step = by(",");
  step.behavior = SplitStep::Behavior::kRemoved;
  EXPECT_EQ(split({step}, "a,b,,c"), (Strings{"a", "b", "c"}));
  step.invert = true;
  EXPECT_EQ(split({step}, "a,b,,c"), (Strings{",", ",", ","}));
}

TEST(Splitter, TakesALiteralAsItIs) {
  SplitStep step = by("a.[b");
  step.literal = true;
  EXPECT_EQ(split({step}, "axb a.[b c"), (Strings{"axb ", "a.[b", " c"}));
}

TEST(Splitter, ExplainsAWrongPattern) {
  const auto splitter = Splitter::make({by("(a")});
  ASSERT_FALSE(splitter.ok());
  EXPECT_NE(splitter.findings().front().message.find("'(a' is wrong: missing closing parenthesis"),
            std::string::npos);
}

TEST(Splitter, LongRunsAreNoTrouble) {
  for (const std::string& unit : {std::string("a"), std::string(" "), std::string("!"),
                                  std::string("\u00e9"), std::string("1")}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += unit;
    std::string joined;
    for (const auto& piece : split({by(kLlama3Pattern)}, text)) joined += piece;
    EXPECT_EQ(joined, text);
  }
}

RC_GTEST_PROP(SplitterProperty, PiecesOfAnyBytesJoinToTheText, (const std::string& text)) {
  SplitStep digits;
  digits.kind = SplitStep::Kind::kDigits;
  SplitStep bytes;
  bytes.kind = SplitStep::Kind::kByteLevel;
  for (const auto& steps : {std::vector{by(kLlama3Pattern)}, std::vector{digits, bytes}}) {
    std::string joined;
    for (const auto& piece : split(steps, text)) {
      RC_ASSERT(!piece.empty());
      joined += piece;
    }
    RC_ASSERT(joined == text);
  }
}

}  // namespace
}  // namespace muster::text
