#include "cli/compare.h"

#include <gtest/gtest.h>

namespace muster::clitest {
namespace {

TEST(DifferenceTest, IsEmptyOnlyForEqualTexts) {
  EXPECT_EQ(difference("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(difference("a\nb\n", "a\nc\n"), "      a\n    - b\n    + c\n");
  EXPECT_EQ(difference("a\n", "a"), "    - a\n    + a\\ no line end\n");
  EXPECT_NE(difference("", "x\n"), "");
}

TEST(PatternTest, MatchesWholeLines) {
  EXPECT_EQ(difference_by_pattern("a[0-9]+\nb\n", "a12\nb\n"), "");
  EXPECT_NE(difference_by_pattern("a[0-9]\n", "a12\n"), "");
  EXPECT_NE(difference_by_pattern("a\n", "a\nb\n"), "");
  EXPECT_NE(difference_by_pattern("a\nb\n", "a\n"), "");
}

TEST(PartsTest, FindsAndMisses) {
  EXPECT_EQ(missing_parts("b\na\n", "a b", false), "");
  EXPECT_NE(missing_parts("c\n", "a b", false), "");
  EXPECT_EQ(missing_parts("c\n", "a b", true), "");
  EXPECT_NE(missing_parts("a\n", "a b", true), "");
}

TEST(JsonTest, ComparesOneValue) {
  const char* json = R"({"a": {"b": [1, "x", {"c": true}]}, "n": null})";
  EXPECT_EQ(json_difference("a.b.0 = 1", json), "");
  EXPECT_EQ(json_difference("a.b.1 = x", json), "");
  EXPECT_EQ(json_difference("a.b.1 = \"x\"", json), "");
  EXPECT_EQ(json_difference("a.b.2.c = true", json), "");
  EXPECT_EQ(json_difference("a.b.# = 3", json), "");
  EXPECT_EQ(json_difference("n = null", json), "");
  EXPECT_EQ(json_difference("a.b.1 ~ ^x$", json), "");
  EXPECT_NE(json_difference("a.b.0 = 2", json), "");
  EXPECT_NE(json_difference("a.b.7 = 1", json), "");
  EXPECT_NE(json_difference("a.x = 1", json), "");
  EXPECT_NE(json_difference("a.b.1 ~ y", json), "");
  EXPECT_NE(json_difference("a = 1", "not json"), "");
}

}  // namespace
}  // namespace muster::clitest
