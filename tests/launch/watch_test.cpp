#include "launch/watch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "launch/tail.h"
#include "testing.h"

namespace muster::launch {
namespace {

class WatchTest : public ::testing::Test {
 protected:
  void append(int rank, const std::string& text) {
    std::filesystem::create_directories(directory_.path() / "metrics");
    std::ofstream(directory_.path() / "metrics" / ("rank-0000" + std::to_string(rank) + ".jsonl"),
                  std::ios::app)
        << text;
  }
  muster::testing::TemporaryDirectory directory_;
  ManualClock clock_;
};

TEST_F(WatchTest, FollowsRankZero) {
  RunWatch watch(directory_.path(), 2, clock_);
  EXPECT_FALSE(watch.look());
  append(0, R"({"event":"start","rank":0,"host":"a"})"
            "\n"
            R"({"event":"step","step":3,"loss":5.5,"tokens_per_second":100})"
            "\n");
  append(1, R"({"event":"step","step":9,"loss":1.0})"
            "\n");
  clock_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(watch.look());
  EXPECT_EQ(watch.standing().step, 3);
  EXPECT_EQ(watch.standing().loss, 5.5);
  EXPECT_EQ(watch.standing().tokens_per_second, 100);
}

TEST_F(WatchTest, ALineThatIsNotWholeYetWaits) {
  RunWatch watch(directory_.path(), 1, clock_);
  append(0, R"({"event":"step","step":1,)");
  watch.look();
  EXPECT_EQ(watch.standing().step, 0);
  append(0, R"("loss":2})"
            "\n");
  clock_.advance(std::chrono::seconds(1));
  watch.look();
  EXPECT_EQ(watch.standing().step, 1);
}

TEST_F(WatchTest, GarbageIsLeftToTheJudge) {
  RunWatch watch(directory_.path(), 1, clock_);
  append(0, "no json\n[1]\n{\"event\":7}\n{\"event\":\"step\",\"step\":\"x\",\"loss\":null}\n");
  EXPECT_TRUE(watch.look());
  EXPECT_EQ(watch.standing().step, 0);
  EXPECT_FALSE(watch.standing().loss.has_value());
}

TEST_F(WatchTest, SilenceNamesTheRanksThatAreBehind) {
  RunWatch watch(directory_.path(), 3, clock_);
  append(0, R"({"event":"start","host":"a"})"
            "\n"
            R"({"event":"step","step":5})"
            "\n");
  append(1, R"({"event":"start","host":"b"})"
            "\n"
            R"({"event":"step","step":4})"
            "\n");
  append(2, R"({"event":"start","host":"c"})"
            "\n"
            R"({"event":"step","step":5})"
            "\n");
  watch.look();
  EXPECT_EQ(watch.silent_for().count(), 0);
  clock_.advance(std::chrono::minutes(11));
  EXPECT_EQ(watch.silent_for(), std::chrono::minutes(11));
  EXPECT_EQ(watch.silent_ranks(), "rank 1 on b since step 4");
  watch.reset();
  EXPECT_EQ(watch.silent_for().count(), 0);
}

TEST_F(WatchTest, RanksThatNeverStartedAreNamed) {
  RunWatch watch(directory_.path(), 2, clock_);
  append(0, R"({"event":"start","host":"a"})"
            "\n"
            R"({"event":"step","step":1})"
            "\n");
  watch.look();
  EXPECT_EQ(watch.silent_ranks(), "rank 1 (never started)");
}

TEST_F(WatchTest, TailStartsAgainWhenAFileShrinks) {
  const auto path = directory_.path() / "log";
  std::ofstream(path) << "one\ntwo\nthr";
  Tail tail(path);
  EXPECT_EQ(tail.lines(), (std::vector<std::string>{"one", "two"}));
  std::ofstream(path) << "new\n";
  EXPECT_EQ(tail.lines(), (std::vector<std::string>{"new"}));
  std::ofstream(path, std::ios::app) << "end";
  EXPECT_TRUE(tail.lines().empty());
  EXPECT_EQ(tail.take_rest(), "end");
  EXPECT_TRUE(Tail(directory_.path() / "absent").lines().empty());
}

}  // namespace
}  // namespace muster::launch
