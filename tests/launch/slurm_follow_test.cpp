#include "launch/slurm_follow.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace muster::launch {
namespace {

using std::chrono::milliseconds;
using End = runs::LauncherResult::End;

ProcessResult said(std::string out, int code = 0, std::string err = {}) {
  ProcessResult result;
  result.exit_code = code;
  result.out = std::move(out);
  result.err = std::move(err);
  return result;
}

/// A Slurm whose queue says one thing after another; the last is repeated.
class FollowTest : public ::testing::Test {
 protected:
  FollowTest() {
    processes_.answer("squeue", [this](const Command&) -> Result<ProcessResult> {
      const ProcessResult now = queue_.front();
      if (queue_.size() > 1) queue_.pop_front();
      return now;
    });
    processes_.answer("scancel", [this](const Command&) -> Result<ProcessResult> {
      queue_ = {said("12|CANCELLED|None|n1\n")};
      return said("");
    });
  }

  static ProcessResult queue(const std::string& state, const std::string& reason = "None",
                             const std::string& nodes = "n1") {
    return said("12|" + state + "|" + reason + "|" + nodes + "\n");
  }
  static ProcessResult gone() {
    return said("", 1, "slurm_load_jobs error: Invalid job id specified\n");
  }
  static ProcessResult unreachable() {
    return said("", 1, "slurm_load_jobs error: Unable to contact slurm controller\n");
  }

  runs::LauncherResult follow(const Tick& tick = [] { return Stop::kNo; }) {
    return follow_slurm({"12", ""}, processes_, clock_, options_, tick,
                        [this](const SlurmStatus& status) { seen_.push_back(describe(status)); });
  }

  bool asked(const std::string& program) const {
    for (const Command& command : processes_.asked()) {
      if (command.argv[0] == program) return true;
    }
    return false;
  }

  FakeProcessRunner processes_;
  ManualClock clock_;
  SlurmFollowOptions options_;
  std::deque<ProcessResult> queue_;
  std::vector<std::string> seen_;
};

TEST_F(FollowTest, ToTheEndWithTheAccountingsWord) {
  queue_ = {queue("PENDING", "Resources", ""), queue("PENDING", "Resources", ""), queue("RUNNING"),
            queue("COMPLETING"), gone()};
  processes_.answer("sacct", said("12|COMPLETED|0:0|n1\n"));
  const auto result = follow();
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_EQ(result.exit_code, 0);
  // Each change is told once.
  EXPECT_EQ(seen_, (std::vector<std::string>{"PENDING (Resources)", "RUNNING on n1",
                                             "COMPLETING on n1", "COMPLETED on n1"}));
}

TEST_F(FollowTest, WithoutAccountingScontrolKnows) {
  queue_ = {queue("RUNNING"), queue("FAILED", "NonZeroExitCode")};
  processes_.answer("sacct", said("", 1, "Slurm accounting storage is disabled\n"));
  processes_.answer(
      "scontrol",
      said(
          "JobId=12 JobState=FAILED Reason=NonZeroExitCode Restarts=0 ExitCode=3:0 NodeList=n1\n"));
  const auto result = follow();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.detail, "Slurm: FAILED on n1 (NonZeroExitCode), exit code 3");
}

TEST_F(FollowTest, WithNeitherTheEndIsUnknown) {
  queue_ = {queue("RUNNING"), gone()};
  const auto result = follow();
  EXPECT_EQ(result.end, End::kUnknown);
  EXPECT_EQ(result.detail,
            "job 12 left the queue and neither sacct nor scontrol knows how it ended; last seen: "
            "RUNNING on n1");
}

TEST_F(FollowTest, AccountingThatLagsIsWaitedFor) {
  queue_ = {queue("COMPLETED")};
  int asked = 0;
  processes_.answer("sacct", [&](const Command&) -> Result<ProcessResult> {
    return said(++asked < 4 ? "12|RUNNING|0:0|n1\n" : "12|COMPLETED|0:0|n1\n");
  });
  EXPECT_EQ(follow().exit_code, 0);
  EXPECT_EQ(asked, 4);
}

TEST_F(FollowTest, ALostNodeIsWaitedOutUntilTheJobRunsAgain) {
  queue_ = {queue("RUNNING", "None", "n[1-2]"), queue("NODE_FAIL", "NodeDown", "n[1-2]"),
            queue("PENDING", "BeginTime", ""), queue("RUNNING", "None", "n[1,3]"), gone()};
  processes_.answer("sacct", said("12|NODE_FAIL|0:0|n[1-2]\n12|COMPLETED|0:0|n[1,3]\n"));
  const auto result = follow();
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.detail, "Slurm: COMPLETED on n[1,3], restarted once");
}

TEST_F(FollowTest, ALostNodeThatIsNotRequeuedEndsTheRun) {
  queue_ = {queue("RUNNING"), queue("NODE_FAIL", "NodeDown")};
  processes_.answer("sacct", said("12|NODE_FAIL|0:0|n1\n"));
  const auto before = clock_.steady();
  const auto result = follow();
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_NE(result.exit_code.value_or(0), 0);
  EXPECT_LT(clock_.steady() - before, std::chrono::seconds(400));
}

TEST_F(FollowTest, AnUnknownStateIsShownAndFollowed) {
  queue_ = {queue("TELEPORTING"), queue("RUNNING"), gone()};
  processes_.answer("sacct", said("12|COMPLETED|0:0|n1\n"));
  EXPECT_EQ(follow().exit_code, 0);
  EXPECT_EQ(seen_.front(), "TELEPORTING on n1, a state that is not known here");
}

TEST_F(FollowTest, ScancelFromOutsideIsCancelled) {
  queue_ = {queue("RUNNING"), queue("CANCELLED")};
  processes_.answer("sacct", said("12|CANCELLED by 0|0:0|n1\n"));
  EXPECT_EQ(follow().end, End::kCancelled);
}

TEST_F(FollowTest, AControllerThatIsAwayForAWhileIsForgiven) {
  queue_ = {queue("RUNNING"), unreachable(),    unreachable(),
            unreachable(),    queue("RUNNING"), gone()};
  processes_.answer("sacct", said("12|COMPLETED|0:0|n1\n"));
  EXPECT_EQ(follow().exit_code, 0);
  EXPECT_FALSE(asked("scancel"));
}

TEST_F(FollowTest, AControllerThatStaysAwayLeavesTheJobAlone) {
  queue_ = {queue("RUNNING"), unreachable()};
  const auto result = follow();
  EXPECT_EQ(result.end, End::kUnknown);
  EXPECT_EQ(result.detail,
            "job 12 was left alone: for 300 s Slurm could not be asked (squeue: slurm_load_jobs "
            "error: Unable to contact "
            "slurm controller)");
  EXPECT_FALSE(asked("scancel"));
}

TEST_F(FollowTest, EveryStopCancelsTheJobAndSaysSo) {
  const std::pair<Stop, End> kStops[] = {{Stop::kInterrupted, End::kInterrupted},
                                         {Stop::kCancelled, End::kCancelled},
                                         {Stop::kTimeLimit, End::kTimedOut},
                                         {Stop::kSilent, End::kHang}};
  for (const auto& [stop, end] : kStops) {
    queue_ = {queue("RUNNING")};
    const Stop now = stop;
    const auto result = follow([now] { return now; });
    EXPECT_EQ(result.end, end);
    EXPECT_TRUE(asked("scancel"));
    EXPECT_EQ(result.detail, "Slurm job 12 was cancelled by muster");
  }
}

TEST_F(FollowTest, AJobThatWontGoIsNamed) {
  queue_ = {queue("RUNNING")};
  processes_.answer(
      "scancel",
      said("", 1, "scancel: error: Kill job error on job id 12: Access/permission denied\n"));
  const auto result = follow([] { return Stop::kTimeLimit; });
  EXPECT_EQ(result.end, End::kTimedOut);
  EXPECT_NE(result.detail.find("Access/permission denied"), std::string::npos) << result.detail;
  EXPECT_NE(result.detail.find("still there 60 s later"), std::string::npos) << result.detail;
}

TEST_F(FollowTest, PollingBacksOff) {
  queue_.assign(1, queue("RUNNING"));
  const auto start = clock_.steady();
  int ticks = 0;
  follow([&] {
    return ++ticks && clock_.steady() - start >= std::chrono::minutes(30) ? Stop::kTimeLimit
                                                                          : Stop::kNo;
  });
  std::size_t polls = 0;
  for (const Command& command : processes_.asked()) polls += command.argv[0] == "squeue" ? 1 : 0;
  EXPECT_LT(polls, 30 * 60 / 10 + 20U);
}

TEST(Submit, PassesOnWhatSbatchSays) {
  FakeProcessRunner processes;
  processes.answer("sbatch", said("", 1,
                                  "sbatch: error: invalid partition specified: nope\nsbatch: "
                                  "error: Batch job submission failed\n"));
  Command command;
  command.argv = {"sbatch", "--parsable", "job.sbatch"};
  const auto job = submit(command, processes);
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.findings().front().message, "sbatch: error: invalid partition specified: nope");
}

}  // namespace
}  // namespace muster::launch
