// muster run with the real trainer on real text: the main job, and what becomes of it when ranks
// are stopped, killed or interrupted.
#include <gtest/gtest.h>

#include <fstream>

#include "base/process.h"
#include "launch/run_fixture.h"
#include "testing.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
using muster::testing::Background;
using muster::testing::check;
using muster::testing::Finished;
using muster::testing::pid_of;
using muster::testing::steps_of;
using muster::testing::text_of;

/// Timings of a machine that others use too decide no test.
const std::string kAnySpeed = "expect.straggler.ratio=1000";

class RunReal : public muster::testing::RunFixture {
 protected:
  RunReal()
      : RunFixture(muster::testing::binary_dir() / "bin",
                   {{"mpirun", "openmpi-bin"}, {"bible", "bible-kjv"}}) {}

  void SetUp() override {
    RunFixture::SetUp();
    if (IsSkipped()) return;
    // A small part of the text, prepared in a moment.
    Command bible;
    bible.argv = {"bible", "gen1:1-gen50:26"};
    const auto said = real_process_runner().run(bible);
    ASSERT_TRUE(said.ok());
    write_text(said->out);
  }

  /// A run that goes on for long, with both ranks past step `steps`.
  std::unique_ptr<Background> start_long(int steps) const {
    return start(
        {"--set", "batch.steps=100000", "--set", "checkpoint.every=10", "--set", "comm_timeout=5s"},
        steps, std::chrono::seconds(120));
  }
};

TEST_F(RunReal, TheTinyCasePasses) {
  const Finished run = muster_.run({"run", "training/native/llama", "--profile", "smoke", "--set",
                                    kAnySpeed, "--set", "expect.timeout=4m", "-o", "json"},
                                   std::chrono::seconds(280));
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  for (const char* name : {"completed", "ranks-joined", "parameters-agree", "finite", "loss-fell",
                           "checkpoint-reloads", "transport", "throughput"}) {
    EXPECT_EQ(check(run.json(), name)["outcome"], "pass")
        << name << ": " << check(run.json(), name)["evidence"];
  }
  expect_nothing_left();
}

TEST_F(RunReal, AStoppedRankIsNamedWithinTheLimit) {
  auto background = start_long(2);
  const fs::path run = muster_.only_run();
  ASSERT_GT(pid_of(run, 1), 1);
  kill(pid_of(run, 1), SIGSTOP);
  const Finished ended = background->finish(std::chrono::seconds(60));
  EXPECT_EQ(ended.exit_code, 3) << ended.err << ended.out;
  const std::string evidence = check(ended.json(), "completed")["evidence"];
  EXPECT_NE(evidence.find("rank 1"), std::string::npos) << evidence;
  EXPECT_NE(evidence.find(host()), std::string::npos) << evidence;
  expect_nothing_left();
}

TEST_F(RunReal, AKilledRankIsNamedAndTheRunGoesOnFromItsCheckpoint) {
  {
    auto background = start_long(12);
    kill(pid_of(muster_.only_run(), 0), SIGKILL);
    const Finished ended = background->finish(std::chrono::seconds(60));
    EXPECT_EQ(ended.exit_code, 3) << ended.err << ended.out;
    const std::string evidence = check(ended.json(), "completed")["evidence"];
    EXPECT_NE(evidence.find("rank 0"), std::string::npos) << evidence;
    expect_nothing_left();
  }
  const int reached = steps_of(muster_.only_run(), 1);
  const Finished resumed =
      muster_.run({"run", "--resume", "last", "--set",
                   "batch.steps=" + std::to_string(reached + 20), "--set", kAnySpeed, "-o", "json"},
                  std::chrono::seconds(200));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err << resumed.out;
  EXPECT_NE(text_of(muster_.only_run() / "metrics/rank-00000.jsonl").find("\"resume\""),
            std::string::npos);
}

TEST_F(RunReal, AnInterruptLeavesNoProcess) {
  auto background = start_long(2);
  background->signal(SIGINT);
  const Finished ended = background->finish(std::chrono::seconds(60));
  EXPECT_EQ(ended.exit_code, 130) << ended.err << ended.out;
  EXPECT_EQ(ended.json()["run"]["state"], "interrupted");
  expect_nothing_left();
}

TEST_F(RunReal, OneRankPasses) {
  const Finished run = muster_.run(arguments({"--set", "topology.accelerators_per_node=1"}),
                                   std::chrono::seconds(200));
  EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
  EXPECT_EQ(check(run.json(), "transport")["outcome"], "pass");
}

TEST_F(RunReal, TextThatIsNoTextIsRefused) {
  std::ofstream(directory_.path() / "empty");
  std::ofstream(directory_.path() / "binary") << std::string(
      "\x7f"
      "ELF\0\0\xff\xfe",
      8);
  for (const char* name : {"empty", "binary"}) {
    const Finished run =
        muster_.run({"run", "training/native/llama/tiny", "--profile", "smoke", "--set",
                     "data.name=null", "--set", "data.path=" + (directory_.path() / name).string()},
                    std::chrono::seconds(60));
    EXPECT_EQ(run.exit_code, 2) << name << run.err << run.out;
    EXPECT_NE(run.err.find(name), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace muster::launch
