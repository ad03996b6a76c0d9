#include "cli/script.h"

#include <gtest/gtest.h>

namespace muster::clitest {
namespace {

TEST(ScriptTest, ReadsSections) {
  const auto script = parse_script(
      "# shows it\n"
      "needs sh\n"
      "file a/b.yaml\n"
      "  x: 1\n"
      "\n"
      "    y\n"
      "\n"
      "run muster list 'a b'\n"
      "exit 2\n"
      "stdout\n"
      "  one\n",
      "t");
  ASSERT_TRUE(script);
  EXPECT_EQ(script->description, "shows it\n");
  EXPECT_EQ(script->needs, std::vector<std::string>{"sh"});
  ASSERT_EQ(script->steps.size(), 1U);
  const Step& step = script->steps[0];
  ASSERT_EQ(step.before.size(), 1U);
  EXPECT_EQ(step.before[0].body, "x: 1\n\n  y\n");
  EXPECT_EQ(step.run.rest, "muster list 'a b'");
  ASSERT_EQ(step.expected.size(), 2U);
  EXPECT_EQ(step.expected[1].body, "one\n");
  EXPECT_EQ(step.expected[1].line, 10);
  EXPECT_EQ(step.expected[1].end_line, 12);
}

struct Wrong {
  const char* text;
  int line;
  const char* message;
};

class ScriptErrorTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(ScriptErrorTest, IsLocated) {
  const auto script = parse_script(GetParam().text, "t");
  ASSERT_FALSE(script);
  EXPECT_EQ(script.findings()[0].where.line, GetParam().line);
  EXPECT_NE(to_string(script.findings()[0]).find(GetParam().message), std::string::npos)
      << to_string(script.findings()[0]);
}

INSTANTIATE_TEST_SUITE_P(All, ScriptErrorTest,
                         ::testing::Values(Wrong{"# x\n", 1, "runs nothing"},                   //
                                           Wrong{"run a\n", 1, "does not say"},                 //
                                           Wrong{"# x\nexit 0\n", 2, "follows no run"},         //
                                           Wrong{"# x\nrun a\nfile b\n", 3, "no run follows"},  //
                                           Wrong{"# x\nrun a\nstdot\n", 3, "did you mean 'stdout'"},
                                           Wrong{"# x\nrun a\n  body\n", 2, "has no body"}));

TEST(SplitWordsTest, QuotesAsAShellDoes) {
  const auto words = split_words("a  'b c' \"d \\\" e\" f\\ g ''");
  ASSERT_TRUE(words);
  EXPECT_EQ(*words, (std::vector<std::string>{"a", "b c", "d \" e", "f g", ""}));
  EXPECT_FALSE(split_words("a 'b"));
}

}  // namespace
}  // namespace muster::clitest
