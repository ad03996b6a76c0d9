// The traces of whole runs: they hold the steps that were asked for, a slowed rank is named from
// them, a killed one leaves its partner's readable, and without the option there are none.
#include <gtest/gtest.h>

#include "base/file_system.h"
#include "engine/train/jobs.h"
#include "runs/profile.h"

namespace muster::train {
namespace {

class TraceTest : public TrainingTest {
 protected:
  static const facts::Nsight& rules() {
    static const auto kRules = facts::load_nsight(real_file_system(), MUSTER_SOURCE_DIR);
    return *kRules;
  }

  runs::Profile profile(const std::string& folder) const {
    runs::Profile found;
    const auto read = runs::read_profile_folder(real_file_system(), path(folder), rules(), found);
    EXPECT_TRUE(read);
    for (const std::string& gap : found.gaps) ADD_FAILURE() << gap;
    return found;
  }
};

TEST_F(TraceTest, HoldsTheStepsOfItsRange) {
  const auto result = train(2, "out", {"--trace", path("t"), "--trace-steps", "2:4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto found = profile("t");
  ASSERT_EQ(found.traces.size(), 2U);
  for (const runs::RankTrace& trace : found.traces) {
    EXPECT_EQ(trace.world, 2);
    std::vector<std::int64_t> steps;
    int operations = 0, waits = 0;
    for (const runs::TraceSpan& span : trace.spans) {
      if (span.kind == runs::TraceSpan::Kind::kStep) steps.push_back(span.step);
      operations += span.kind == runs::TraceSpan::Kind::kOperation;
      waits += span.kind == runs::TraceSpan::Kind::kWait;
    }
    EXPECT_EQ(steps, (std::vector<std::int64_t>{2, 3, 4}));
    EXPECT_GT(operations, 0);
    EXPECT_GT(waits, 0);
    EXPECT_EQ(last("out", "trace", trace.rank).at("steps"), 3);
  }
  const auto broken = runs::break_down(found.traces, rules());
  for (const runs::RankBreakdown& rank : broken.ranks) {
    EXPECT_GT(rank.shares.wall, 0);
    EXPECT_NEAR(rank.shares.own + *rank.shares.waiting, rank.shares.wall, 1e-6);
    // What the engine itself says it waited is what the trace holds.
    double told = 0;
    for (const auto& event : events("out", rank.rank)) {
      if (event.at("event") == "step" && event.at("step") >= 2 && event.at("step") <= 4)
        told += event.at("wait_seconds").get<double>();
    }
    EXPECT_NEAR(*rank.shares.waiting, told, 0.05 * rank.shares.wall + 0.01);
  }
}

TEST_F(TraceTest, ASlowedRankIsWhatTheOthersWaitFor) {
  const auto result =
      train(2, "out", {"--trace", path("t"), "--inject-fault", "slow=1500:1:1", "--steps", "4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto broken = runs::break_down(profile("t").traces, rules());
  EXPECT_EQ(broken.bound, "straggler");
  EXPECT_EQ(broken.straggler, 1);
}

TEST_F(TraceTest, AKilledRankLeavesItsPartnersTrace) {
  const auto result = train(
      2, "out",
      {"--trace", path("t"), "--trace-steps", "1:9", "--steps", "9", "--inject-fault", "kill:1:5"});
  ASSERT_NE(result.exit_code, 0);
  const auto found = profile("t");
  ASSERT_FALSE(found.traces.empty());
  EXPECT_EQ(found.traces.front().rank, 0);
  const auto broken = runs::break_down(found.traces, rules());
  EXPECT_GE(broken.ranks.front().steps.size(), 3U);
}

TEST_F(TraceTest, ARunThatEndsBeforeTheRangeSaysSo) {
  const auto result = train(1, "out", {"--trace", path("t"), "--trace-steps", "20:30"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("none of the steps 20:30 was made"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("t")));
}

TEST_F(TraceTest, AFolderThatCantBeWrittenEndsNoTraining) {
  spill(path("t"), "a file");
  const auto result = train(1, "out", {"--trace", path("t"), "--trace-steps", "1:2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("no trace"), std::string::npos);
}

TEST_F(TraceTest, ABadRangeIsRefused) {
  for (const char* range : {"0:3", "5:4", "5", "a:b", "1:2x"})
    EXPECT_EQ(train(1, "out", {"--trace-steps", range}).exit_code, 2) << range;
}

}  // namespace
}  // namespace muster::train
