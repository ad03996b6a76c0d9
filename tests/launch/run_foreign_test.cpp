// muster run of a case of another framework: its launcher and its program are scripts that
// misbehave on request, so that no framework need be installed.
#include <fstream>

#include <gtest/gtest.h>

#include "launch/foreign_fixture.h"
#include "launch/run_processes.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
using muster::testing::Background;
using muster::testing::check;
using muster::testing::eventually;
using muster::testing::Finished;
using muster::testing::steps_of;

class RunForeign : public muster::testing::ForeignFixture {
 protected:
  RunForeign() {
    muster_.environment["MUSTER_VENV"] = (folder() / "venv").string();
    muster_.environment["PATH"] = "/usr/bin:/bin";
  }

  Finished run(const std::string& fault, const std::vector<std::string>& more = {}) {
    muster_.environment["FAKE_FAULT"] = fault;
    return muster_.run(arguments(more));
  }
  void expect_nothing_left() const {
    EXPECT_TRUE(processes_of_run(muster_.only_run().filename().string()).empty());
  }
};

TEST_F(RunForeign, AGoodRunPassesByItsLog) {
  const Finished ended = run("");
  ASSERT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  for (const char* name :
       {"completed", "ranks-joined", "finite", "loss-fell", "transport", "throughput"})
    EXPECT_EQ(check(ended.json(), name)["outcome"], "pass") << name << evidence(ended, name);
  EXPECT_NE(evidence(ended, "completed").find("step 10 of 10"), std::string::npos)
      << evidence(ended, "completed");
  EXPECT_NE(evidence(ended, "ranks-joined").find("gloo says a world of 2 on ranks 0, 1"),
            std::string::npos)
      << evidence(ended, "ranks-joined");
  EXPECT_EQ(check(ended.json(), "parameters-agree")["outcome"], "absent");
  const fs::path run = muster_.only_run();
  EXPECT_EQ(steps_of(run, 0), 10);
  for (const char* file : {"manifest.yaml", "rendered/job.sh", "rendered/process.sh",
                           "logs/rank-0.log", "logs/rank-1.log", "metrics/rank-00001.jsonl"})
    EXPECT_TRUE(fs::exists(run / file)) << file;
  expect_nothing_left();
}

TEST_F(RunForeign, AKilledRankIsNamed) {
  for (const char* rank : {"0", "1"}) {
    fs::remove_all(muster_.runs());
    const Finished ended = run(std::string(rank) + ":kill");
    EXPECT_EQ(ended.exit_code, 3) << ended.err;
    const std::string why = evidence(ended, "completed");
    EXPECT_NE(why.find(std::string("rank ") + rank), std::string::npos) << why;
    EXPECT_NE(why.find("left no end"), std::string::npos) << why;
    EXPECT_NE(why.find("signal 9"), std::string::npos) << why << " (the launcher's own words)";
    expect_nothing_left();
  }
}

TEST_F(RunForeign, AnExitCodeIsToldWithItsRankAndItsLastWords) {
  const Finished ended = run("1:exit-7");
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_NE(evidence(ended, "completed").find("rank 1 on "), std::string::npos);
  EXPECT_NE(evidence(ended, "completed").find("ended with 7"), std::string::npos);
  EXPECT_NE(ended.err.find("giving up on purpose"), std::string::npos) << ended.err;
}

TEST_F(RunForeign, ALogThatStopsEndsAtTheTimeLimit) {
  const Finished ended = run("0:stop", {"--timeout", "3"});
  EXPECT_EQ(ended.exit_code, 124) << ended.out;
  EXPECT_EQ(check(ended.json(), "completed")["outcome"], "fail");
  expect_nothing_left();
}

TEST_F(RunForeign, ALogWithoutAStepForAsLongAsTheCaseAllowsIsAHang) {
  Finished ended = run("0:stop", {"--set", "resilience.hang={start: 50s, period: 1s}"});
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_NE(evidence(ended, "completed").find("(resilience.hang.period)"), std::string::npos)
      << evidence(ended, "completed");
  expect_nothing_left();
  // Before the first step another limit counts.
  fs::remove_all(muster_.runs());
  muster_.environment["FAKE_STEPS_APART"] = "30";
  ended = run("mute", {"--set", "resilience.hang={start: 1s, period: 50s}"});
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_NE(evidence(ended, "completed").find("(resilience.hang.start)"), std::string::npos)
      << evidence(ended, "completed");
  expect_nothing_left();
}

TEST_F(RunForeign, ProcessesThatTrainAloneAreNoWorld) {
  muster_.environment["FAKE_ALONE"] = "1";
  Finished ended = run("");
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_EQ(check(ended.json(), "ranks-joined")["outcome"], "fail");
  // Told of each other by the launcher, but the program's own library finds nobody.
  muster_.environment.erase("FAKE_ALONE");
  fs::remove_all(muster_.runs());
  ended = run("peerless");
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_NE(evidence(ended, "ranks-joined").find("has found a world of 1 (gloo)"),
            std::string::npos)
      << evidence(ended, "ranks-joined");
}

TEST_F(RunForeign, NothingReadIsUnknown) {
  Finished ended = run("mute");
  EXPECT_EQ(ended.exit_code, 4) << ended.out;
  EXPECT_EQ(check(ended.json(), "completed")["outcome"], "unknown");
  fs::remove_all(muster_.runs());
  ended = run("strange");
  EXPECT_EQ(ended.exit_code, 4) << ended.out;
  EXPECT_NE(evidence(ended, "completed").find("10 lines speak of a loss"), std::string::npos)
      << evidence(ended, "completed");
}

TEST_F(RunForeign, APatternOfTheCaseReadsAStrangeLog) {
  const Finished ended =
      run("strange", {"--set", R"(expect.pattern='after (?<step>\d+): the loss = (?<loss>\S+)')"});
  EXPECT_EQ(check(ended.json(), "loss-fell")["outcome"], "pass") << ended.out << ended.err;
}

TEST_F(RunForeign, ALossThatIsNoNumberFails) {
  const Finished ended = run("0:nan");
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_NE(evidence(ended, "finite").find("step 4"), std::string::npos);
}

TEST_F(RunForeign, ARestartByItsLauncherIsCountedAndPasses) {
  muster_.environment["FAKE_ONCE"] = "1";
  const Finished ended = run("1:exit-1", {"--profile", "restart"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_NE(evidence(ended, "completed").find("in 2 starts"), std::string::npos)
      << evidence(ended, "completed");
}

TEST_F(RunForeign, ProcessesWithoutALauncherAreStartedToo) {
  const Finished ended = run("", {"--profile", "spawn"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
}

TEST_F(RunForeign, SeveralNodesOfThisMachineEndTogetherOrAtTheFirstError) {
  const std::vector<std::string> nodes = {"--profile", "spawn", "--set", "topology.nodes=2"};
  const Finished good = run("", nodes);
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  const Finished bad = run("3:exit-7", nodes);
  EXPECT_EQ(bad.exit_code, 3) << bad.out << bad.err;
  EXPECT_NE(evidence(bad, "completed").find("rank 3"), std::string::npos)
      << evidence(bad, "completed");
}

TEST_F(RunForeign, WhatNeedsGpusIsRefusedBeforeAnythingIsStarted) {
  const Finished ended = run("", {"--profile", "gpu"});
  EXPECT_EQ(ended.exit_code, 4) << ended.out;
  EXPECT_NE(ended.err.find("needs 64 GPUs"), std::string::npos) << ended.err;
  EXPECT_FALSE(fs::exists(muster_.runs()));
}

TEST_F(RunForeign, AMissingEnvironmentOrLauncherIsSaid) {
  muster_.environment["MUSTER_VENV"] = (directory_.path() / "none").string();
  Finished ended = run("");
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_NE(ended.err.find("no virtual environment"), std::string::npos) << ended.err;
  fs::create_directories(directory_.path() / "empty/bin");
  std::ofstream(directory_.path() / "empty/bin/python3") << "#!/bin/sh\n";
  ended = run("", {"--venv", (directory_.path() / "empty").string()});
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_NE(ended.err.find("the program torchrun is missing"), std::string::npos) << ended.err;
  EXPECT_FALSE(fs::exists(muster_.runs()));
}

TEST_F(RunForeign, ADryRunShowsWhatWouldStartAndLeavesNothing) {
  const Finished ended = run("", {"--dry-run"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  ASSERT_EQ(ended.json()["files"].size(), 2u);
  const std::string job = ended.json()["files"][0]["content"];
  EXPECT_NE(job.find("exec torchrun"), std::string::npos) << job;
  EXPECT_FALSE(fs::exists(muster_.runs()));
}

TEST_F(RunForeign, CancelEndsAllOfIt) {
  muster_.environment["FAKE_STEPS_APART"] = "3";
  Background background(muster_, arguments());
  ASSERT_TRUE(eventually([&] { return steps_of(muster_.only_run(), 0) > 0; }));
  const std::string id = muster_.only_run().filename().string();
  EXPECT_EQ(muster_.run({"cancel", id}).exit_code, 0);
  const Finished ended = background.finish(std::chrono::seconds(30));
  EXPECT_EQ(ended.exit_code, 4) << ended.err;
  expect_nothing_left();
}

TEST_F(RunForeign, AnInterruptEndsAllOfIt) {
  muster_.environment["FAKE_STEPS_APART"] = "3";
  Background background(muster_, arguments());
  ASSERT_TRUE(eventually([&] { return steps_of(muster_.only_run(), 0) > 0; }));
  background.signal(SIGINT);
  EXPECT_EQ(background.finish(std::chrono::seconds(30)).exit_code, 130);
  expect_nothing_left();
}

}  // namespace
}  // namespace muster::launch
