#include "runs/breakdown.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runs/profile_fixture.h"
#include "runs/report_profile.h"

namespace muster::runs {
namespace {

using namespace testing;  // NOLINT: the fixture of these tests

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Breakdown, NothingReadIsUnknown) {
  const Breakdown none = break_down(std::vector<RankTrace>{}, rules());
  EXPECT_EQ(none.bound, "unknown");
  EXPECT_EQ(none.source, "");
}

TEST(Breakdown, CommunicationUnderComputingIsHidden) {
  // Begun at 2, waited for from 6 to 7: four seconds lie under the computing.
  const auto one =
      break_down({one_step(0, 1, 10 * kSecond, 2 * kSecond, 6 * kSecond, 7 * kSecond)}, rules());
  ASSERT_EQ(one.ranks.size(), 1U);
  const TimeShares& shares = one.ranks[0].shares;
  EXPECT_DOUBLE_EQ(shares.wall, 10);
  EXPECT_DOUBLE_EQ(shares.own, 9);
  EXPECT_DOUBLE_EQ(shares.communication, 5);
  EXPECT_DOUBLE_EQ(shares.hidden.value(), 4);
  EXPECT_DOUBLE_EQ(shares.waiting.value(), 1);
  EXPECT_EQ(one.bound, "compute");
}

TEST(Breakdown, LongWaitingForWhoCameInTimeIsCommunication) {
  const auto both = break_down({one_step(0, 2, 10 * kSecond, kSecond, kSecond, 9 * kSecond),
                                one_step(1, 2, 10 * kSecond, kSecond, kSecond, 9 * kSecond)},
                               rules());
  EXPECT_EQ(both.bound, "communication");
  EXPECT_EQ(both.straggler, std::nullopt);
}

TEST(Breakdown, TheRankThatComesLateIsNamed) {
  const auto three =
      break_down({one_step(0, 3, 10 * kSecond, kSecond, kSecond, 9 * kSecond),
                  one_step(1, 3, 10 * kSecond, kSecond, kSecond, 9 * kSecond),
                  one_step(2, 3, 10 * kSecond, 8 * kSecond, 8 * kSecond, 9 * kSecond)},
                 rules());
  EXPECT_EQ(three.bound, "straggler");
  EXPECT_EQ(three.straggler, 2);
  EXPECT_DOUBLE_EQ(three.ranks[0].shares.late.value(), 7);
  EXPECT_DOUBLE_EQ(three.ranks[2].waited_for.value(), 14);
  EXPECT_EQ(three.ranks[2].last, 1);
  ASSERT_EQ(three.remarks.size(), 1U);
  EXPECT_NE(three.remarks[0].message.find("rank 2 on node-2"), std::string::npos);
}

TEST(Breakdown, WithoutOneRanksTraceNobodyIsCalledLate) {
  const auto two = break_down({one_step(0, 3, 10 * kSecond, kSecond, kSecond, 9 * kSecond),
                               one_step(2, 3, 10 * kSecond, 8 * kSecond, 8 * kSecond, 9 * kSecond)},
                              rules());
  EXPECT_EQ(two.straggler, std::nullopt);
  EXPECT_EQ(two.ranks[0].shares.late, std::nullopt);
  ASSERT_EQ(two.gaps.size(), 1U);
  EXPECT_EQ(two.gaps[0], "no trace of rank 1 of 3: who came late can't be told");
}

TEST(Breakdown, RanksThatAreLateInTurnAreNotToBlame) {
  RankTrace first = one_step(0, 2, 10 * kSecond, kSecond, kSecond, 5 * kSecond);
  RankTrace second = one_step(1, 2, 10 * kSecond, 5 * kSecond - 1, 5 * kSecond - 1, 5 * kSecond);
  const auto add = [](RankTrace& trace, std::int64_t from) {
    trace.spans.push_back(span(TraceSpan::Kind::kOperation, "all_reduce", from, 10 * kSecond, 2));
    trace.spans.push_back(
        span(TraceSpan::Kind::kWait, "wait for all_reduce", from, 10 * kSecond, 2));
    sort_spans(trace.spans);
  };
  add(first, 10 * kSecond - 1);
  add(second, 6 * kSecond);
  const auto both = break_down({first, second}, rules());
  EXPECT_EQ(both.straggler, std::nullopt);
  EXPECT_EQ(both.bound, "mixed");
}

RC_GTEST_PROP(Breakdown, PartsNeverExceedTheWhole, ()) {
  std::vector<RankTrace> traces;
  const int world = *rc::gen::inRange(1, 4);
  for (int rank = 0; rank < world; ++rank) {
    const auto wall = *rc::gen::inRange<std::int64_t>(1, kSecond);
    const auto begin = *rc::gen::inRange<std::int64_t>(0, wall);
    const auto wait = *rc::gen::inRange<std::int64_t>(begin, wall);
    traces.push_back(
        one_step(rank, world, wall, begin, wait, *rc::gen::inRange<std::int64_t>(wait, wall)));
  }
  const auto all = break_down(traces, rules());
  for (const RankBreakdown& rank : all.ranks) {
    const TimeShares& shares = rank.shares;
    RC_ASSERT(std::abs(shares.own + *shares.waiting - shares.wall) < 1e-8);
    RC_ASSERT(*shares.hidden <= shares.own + 1e-8);
    RC_ASSERT(*shares.late <= *shares.waiting + 1e-8);
    RC_ASSERT(shares.communication <= shares.wall + 1e-8);
  }
}

TEST(ReportProfile, NamesTheStragglerAndEscapes) {
  Breakdown one = break_down({one_step(0, 2, 10 * kSecond, kSecond, kSecond, 9 * kSecond),
                              one_step(1, 2, 10 * kSecond, 8 * kSecond, 8 * kSecond, 9 * kSecond)},
                             rules());
  one.ranks[1].host = "<b>";
  const std::string html = profile_section({one});
  EXPECT_NE(html.find("straggler: the others wait for it"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(profile_section({}), "");
}

}  // namespace
}  // namespace muster::runs
