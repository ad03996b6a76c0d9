// muster run with the real trainer on real text: the main job, and what becomes of it when ranks
// are stopped, killed or interrupted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/process.h"
#include "launch/muster_process.h"
#include "launch/run_processes.h"
#include "testing.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
using muster::testing::Background;
using muster::testing::check;
using muster::testing::eventually;
using muster::testing::Finished;
using muster::testing::Muster;
using muster::testing::pid_of;
using muster::testing::steps_of;
using muster::testing::text_of;

/// Timings of a machine that others use too decide no test.
const std::string kAnySpeed = "expect.straggler.ratio=1000";

class RunReal : public ::testing::Test {
 protected:
  RunReal() : muster_(muster::testing::binary_dir() / "bin", directory_.path() / "runs") {}

  void SetUp() override {
    for (const char* program : {"mpirun", "bible"}) {
      if (!real_process_runner().find(program)) GTEST_SKIP() << program << " is missing";
    }
  }

  /// A small part of the text, prepared in a moment.
  std::string text() const {
    const fs::path path = directory_.path() / "text";
    if (!fs::exists(path)) std::system(("bible gen1:1-gen50:26 >" + path.string()).c_str());
    return path.string();
  }
  std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {
        "run",   "training/native/llama/tiny", "--profile", "smoke", "--set", "data.name=null",
        "--set", "data.path=" + text(),        "-o",        "json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// A run that goes on for long, with both ranks past step `steps`.
  std::unique_ptr<Background> start_long(int steps) {
    auto background = std::make_unique<Background>(
        muster_, arguments({"--set", "batch.steps=100000", "--set", "checkpoint.every=10", "--set",
                            "comm_timeout=5s"}));
    const bool started = eventually(
        [&] {
          const fs::path run = muster_.only_run();
          return steps_of(run, 0) > steps && steps_of(run, 1) > steps;
        },
        std::chrono::seconds(120));
    if (!started) {
      background->signal(SIGINT);
      throw std::runtime_error("did not start: " +
                               background->finish(std::chrono::seconds(20)).err);
    }
    return background;
  }

  static std::string host() {
    const std::string name = text_of("/proc/sys/kernel/hostname");
    return name.substr(0, name.find('\n'));
  }
  void expect_nothing_left() const {
    EXPECT_TRUE(processes_of_run(muster_.only_run().filename().string()).empty());
  }

  muster::testing::TemporaryDirectory directory_;
  Muster muster_;
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
