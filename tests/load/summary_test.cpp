#include "load/summary.h"

#include <gtest/gtest.h>

using namespace muster;
using namespace muster::load;
using std::chrono::seconds;

namespace {

constexpr std::int64_t kMs = 1'000'000;

/// A request due at `at` ms, first token 100 ms later, then `tokens` - 1 more, 10 ms apart.
Sample sample(std::int64_t at, int tokens) {
  Sample one;
  one.scheduled = at * kMs;
  one.sent = one.scheduled;
  for (int i = 0; i < tokens; ++i) one.pieces.push_back((at + 100 + 10 * i) * kMs);
  one.first = one.pieces.front();
  one.last = one.end = one.pieces.back();
  one.asked_tokens = tokens;
  one.output_tokens = tokens;
  one.status = 200;
  return one;
}

Level level(int concurrency, double rate) {
  Level one;
  one.concurrency = concurrency;
  one.summary.requests = one.summary.complete = 10;
  one.summary.output_tokens_per_second = rate;
  return one;
}

}  // namespace

TEST(LoadSummary, CountsFromWhenARequestWasDue) {
  DriveResult result;
  Sample late = sample(0, 11);
  late.sent = 90 * kMs;  // the generator's delay is part of what a user waits
  result.samples = {late};
  result.wall = 1000 * kMs;
  const Summary summary = summarise(result, seconds(0), seconds(1), {});
  EXPECT_EQ(summary.ttft.percentile(50), 100 * kMs);
  EXPECT_EQ(summary.e2e.max(), 200 * kMs);
  EXPECT_EQ(summary.itl.count(), 10U);
  EXPECT_EQ(summary.itl.max(), 10 * kMs);
  EXPECT_EQ(summary.tpot.max(), 10 * kMs);
  EXPECT_DOUBLE_EQ(summary.output_tokens_per_second, 11);
  EXPECT_EQ(summary.tokens_from, "server");
}

TEST(LoadSummary, WarmUpCountsInNoFigureButItsTokensFlowOn) {
  DriveResult result;
  result.samples = {sample(500, 101), sample(1500, 10)};  // the first streams from 0.6 to 1.6 s
  result.wall = 2000 * kMs;
  const Summary summary = summarise(result, seconds(1), seconds(2), {});
  EXPECT_EQ(summary.requests, 1);
  EXPECT_EQ(summary.ttft.count(), 1U);
  EXPECT_DOUBLE_EQ(summary.seconds, 1);
  EXPECT_DOUBLE_EQ(summary.output_tokens_per_second, 61 + 10);
}

TEST(LoadSummary, SpreadsTheServersCountOverPieces) {
  DriveResult result;
  Sample one = sample(0, 4);
  one.output_tokens = 8;  // two tokens a piece
  result.samples = {one};
  result.wall = 1000 * kMs;
  const Summary summary = summarise(result, seconds(0), seconds(1), {});
  EXPECT_DOUBLE_EQ(summary.output_tokens_per_second, 8);
  EXPECT_EQ(summary.tpot.max(), 30 * kMs / 7);
}

TEST(LoadSummary, FailedRequestsAreNotGood) {
  DriveResult result;
  Sample failed = sample(0, 2);
  failed.error = "status-503";
  failed.detail = "busy";
  result.samples = {failed, sample(0, 2), sample(0, 30)};
  result.wall = 1000 * kMs;
  Objectives objectives = *parse_objectives("ttft=150ms,e2e=200ms");
  const Summary summary = summarise(result, seconds(0), seconds(1), objectives);
  EXPECT_EQ(summary.errors.at("status-503"), 1);
  EXPECT_DOUBLE_EQ(*summary.good_share, 1.0 / 3);
  EXPECT_DOUBLE_EQ(*summary.good_per_second, 1);
  EXPECT_DOUBLE_EQ(summary.output_tokens_per_second, 32);
}

TEST(LoadSummary, ReadsObjectives) {
  EXPECT_DOUBLE_EQ(*parse_objectives("ttft=500ms,tpot=50ms,e2e=10s")->tpot, 0.05);
  for (const char* bad : {"", "ttft", "ttft=", "ttft=0s", "x=1s", "ttft=1s,ttft=2s", "ttft=1s,"})
    EXPECT_FALSE(parse_objectives(bad).ok()) << bad;
}

TEST(LoadSummary, NothingMeasuredIsNeverAPass) {
  Level empty;
  empty.concurrency = 1;
  EXPECT_EQ(judge_levels({empty}, {}, 0.99, seconds(1)).outcome(), Outcome::kUnknown);
  Level unreachable = level(1, 0);
  unreachable.summary.complete = 0;
  unreachable.summary.errors["unreachable"] = 10;
  unreachable.summary.examples["unreachable"] = "refused";
  EXPECT_EQ(judge_levels({unreachable}, {}, 0.99, seconds(1)).outcome(), Outcome::kUnknown);
  Level failing = level(1, 10);
  failing.summary.complete = 9;
  failing.summary.errors["status-500"] = 1;
  failing.summary.examples["status-500"] = "oops";
  EXPECT_EQ(judge_levels({failing}, {}, 0.99, seconds(1)).outcome(), Outcome::kFail);
}

TEST(LoadSummary, ASlowGeneratorMakesItsFiguresUnknown) {
  Level slow = level(1, 10);
  slow.drive.wall = 1000 * kMs;
  for (int i = 0; i < 100; ++i) slow.drive.loop.record(20 * kMs);
  EXPECT_EQ(judge_levels({slow}, {}, 0.99, std::chrono::milliseconds(5)).outcome(),
            Outcome::kUnknown);
  EXPECT_EQ(judge_levels({slow}, {}, 0.99, std::chrono::milliseconds(50)).outcome(),
            Outcome::kPass);
}

TEST(LoadSummary, TheKneeIsWhereMoreUsersStopPaying) {
  std::vector<Level> levels = {level(1, 100), level(2, 195), level(4, 300), level(8, 310)};
  EXPECT_EQ(knee(levels, 0.99), 2U);
  EXPECT_FALSE(sweep_is_over({level(1, 100), level(2, 195)}, 0.99));
  EXPECT_FALSE(sweep_is_over(levels, 0.99));
  levels.push_back(level(16, 305));
  EXPECT_TRUE(sweep_is_over(levels, 0.99));
  levels[2].summary.good_share = 0.5;  // misses the objectives
  levels[3].summary.good_share = 0.4;
  levels[4].summary.good_share = 0.3;
  EXPECT_EQ(knee(levels, 0.99), 1U);
  EXPECT_FALSE(knee({}, 0.99));
}
