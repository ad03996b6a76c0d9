#include "load/workload.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

using namespace muster::load;

namespace {

std::size_t words(const std::string& text) {
  return text.empty() ? 0 : static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')) + 1;
}

}  // namespace

TEST(Workload, ReadsLengths) {
  EXPECT_EQ(parse_lengths("128", "--input")->first, 128);
  EXPECT_EQ(parse_lengths("64-256", "--input")->second, 256);
  EXPECT_EQ(parse_lengths("normal:512,64", "--input")->kind, Lengths::Kind::kNormal);
  EXPECT_EQ(parse_lengths("lognormal:512,0.6", "--input")->second, 0.6);
  for (const char* bad : {"", "0", "-5", "9-3", "1.5", "normal:512", "normal:a,b", "2000000",
                          "lognormal:0,1", "exp:3"})
    EXPECT_FALSE(parse_lengths(bad, "--input").ok()) << bad;
}

RC_GTEST_PROP(Workload, DrawnLengthsStayInTheirBounds, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const int low = *rc::gen::inRange(1, 1000), high = low + *rc::gen::inRange(0, 1000);
  const Lengths uniform{Lengths::Kind::kUniform, static_cast<double>(low),
                        static_cast<double>(high)};
  const int drawn = uniform.draw(random, 1);
  RC_ASSERT(drawn >= low && drawn <= high);
  const Lengths normal{Lengths::Kind::kNormal, 5, 100};
  RC_ASSERT(normal.draw(random, 1) >= 1);
}

TEST(Workload, AConversationDependsOnItsNumberAlone) {
  Workload workload;
  workload.input = {Lengths::Kind::kUniform, 10, 50};
  workload.turns = 3;
  const Conversation first = workload.conversation(5, {});
  workload.conversation(6, {});
  const Conversation again = workload.conversation(5, {});
  ASSERT_EQ(first.turns.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first.turns[i].prompt, again.turns[i].prompt);
    EXPECT_EQ(static_cast<int>(words(first.turns[i].prompt)), first.turns[i].input);
  }
  EXPECT_NE(first.turns[0].prompt, workload.conversation(6, {}).turns[0].prompt);
}

TEST(Workload, GroupsShareTheirPrefixAndCountItAsInput) {
  Workload workload;
  workload.input = {Lengths::Kind::kFixed, 100, 0};
  workload.shared_prefix = 60;
  workload.prefix_groups = 2;
  const Conversation a = workload.conversation(0, {}), b = workload.conversation(1, {}),
                     c = workload.conversation(2, {});
  EXPECT_EQ(words(a.system), 60U);
  EXPECT_EQ(a.system, c.system);
  EXPECT_NE(a.system, b.system);
  EXPECT_NE(a.turns[0].prompt, c.turns[0].prompt);
  EXPECT_EQ(words(a.turns[0].prompt), 40U);
  EXPECT_EQ(a.turns[0].input, 100);
}

TEST(Workload, ATraceStatesLengthsAndAFileStatesPrompts) {
  Workload workload;
  const Conversation traced = workload.conversation(0, {0, 7, 3});
  EXPECT_EQ(words(traced.turns[0].prompt), 7U);
  EXPECT_EQ(traced.turns[0].output, 3);
  const auto prompts =
      parse_prompts("{\"prompt\": \"Why?\", \"max_tokens\": 9}\nWhat is this\n", "prompts.jsonl");
  ASSERT_TRUE(prompts.ok());
  workload.prompts = *prompts;
  EXPECT_EQ(workload.conversation(0, {}).turns[0].prompt, "Why?");
  EXPECT_EQ(workload.conversation(0, {}).turns[0].output, 9);
  EXPECT_EQ(workload.conversation(3, {}).turns[0].prompt, "What is this");
  EXPECT_EQ(parse_prompts("ok\n{\"prompt\": 1}\n", "p").findings().front().where.line, 2);
  EXPECT_FALSE(parse_prompts("\n", "p").ok());
}
