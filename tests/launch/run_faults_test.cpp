// muster run with a trainer that misbehaves on request: every way in which a run can go wrong ends
// within its limit, is judged and recorded, and leaves no process behind.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/process.h"
#include "launch/run_fixture.h"
#include "launch/run_processes.h"
#include "testing.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
using muster::testing::Background;
using muster::testing::check;
using muster::testing::eventually;
using muster::testing::Finished;
using muster::testing::steps_of;
using muster::testing::text_of;

class RunFaults : public muster::testing::RunFixture {
 protected:
  RunFaults()
      : RunFixture(muster::testing::source_dir() / "tests/launch/fake",
                   {{"mpirun", "openmpi-bin"}}) {}

  std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--set", "batch.steps=10"});
    return RunFixture::arguments(more);
  }

  /// Starts a run that takes long, and waits until both ranks train.
  std::unique_ptr<Background> start_long() {
    muster_.environment["FAKE_STEPS_APART"] = "3";
    return start({"--set", "batch.steps=10"}, 0, std::chrono::seconds(30));
  }
};

TEST_F(RunFaults, AGoodRunPassesAndItsChecksumsHold) {
  const Finished run = muster_.run(arguments());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.json()["verdict"]["outcome"], "pass");
  const fs::path folder = muster_.only_run();
  for (const char* file :
       {"manifest.yaml", "rendered/job.sh", "rendered/rank.sh", "command.json", "versions.json",
        "topology.json", "environment.json", "logs/launcher.out", "logs/launcher.err",
        "logs/rank-0.log", "logs/rank-1.log", "metrics/rank-00000.jsonl", "verdict.json"}) {
    EXPECT_TRUE(fs::exists(folder / file)) << file;
  }
  Command sums;
  sums.argv = {"sha256sum", "--check", "--quiet", "checksums.sha256"};
  sums.directory = folder;
  EXPECT_EQ(real_process_runner().run(sums)->exit_code, 0);
  EXPECT_EQ(state(), "passed");
}

TEST_F(RunFaults, WhatIsPrintedDryIsWhatRuns) {
  const Finished dry = muster_.run(arguments({"--dry-run"}));
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_FALSE(fs::exists(muster_.runs())) << "a dry run leaves nothing";
  ASSERT_EQ(muster_.run(arguments()).exit_code, 0);
  const fs::path folder = muster_.only_run();
  for (const auto& file : dry.json()["files"]) {
    std::string expected = file["content"];
    for (std::size_t at = 0; (at = expected.find("RUN", at)) != std::string::npos; ++at) {
      const bool whole = (at == 0 || expected[at - 1] == '/' || expected[at - 1] == '=' ||
                          expected[at - 1] == ' ') &&
                         !std::isalnum(static_cast<unsigned char>(expected[at + 3])) &&
                         expected[at + 3] != '_';
      if (whole) expected.replace(at, 3, folder.filename().string());
    }
    EXPECT_EQ(text_of(folder / file["path"].get<std::string>()), expected);
  }
}

TEST_F(RunFaults, AKilledRankIsNamedWhicheverItIs) {
  for (const char* rank : {"0", "1"}) {
    fs::remove_all(muster_.runs());
    muster_.environment["FAKE_FAULT"] = std::string(rank) + ":kill";
    const Finished run = muster_.run(arguments());
    EXPECT_EQ(run.exit_code, 3) << run.err;
    const std::string evidence = check(run.json(), "completed")["evidence"];
    EXPECT_EQ(check(run.json(), "completed")["outcome"], "fail");
    EXPECT_NE(evidence.find(std::string("rank ") + rank), std::string::npos) << evidence;
    EXPECT_NE(evidence.find("signal 9"), std::string::npos) << evidence;
    EXPECT_NE(evidence.find(host()), std::string::npos) << evidence;
    EXPECT_EQ(state(), "failed");
    expect_nothing_left();
  }
}

TEST_F(RunFaults, ARankThatRefusesItsInputMakesExitCode2) {
  muster_.environment["FAKE_FAULT"] = "1:exit-2";
  const Finished run = muster_.run(arguments());
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_EQ(run.json()["verdict"]["outcome"], "fail");
}

TEST_F(RunFaults, ARankThatFailsMakesExitCode3) {
  muster_.environment["FAKE_FAULT"] = "0:exit-75";
  const Finished run = muster_.run(arguments());
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find("giving up on purpose"), std::string::npos)
      << "the log's last words are shown: " << run.err;
}

TEST_F(RunFaults, AStoppedRankEndsAtTheTimeLimit) {
  muster_.environment["FAKE_FAULT"] = "1:stop";
  const Finished run = muster_.run(arguments({"--timeout", "3"}), std::chrono::seconds(60));
  EXPECT_EQ(run.exit_code, 124) << run.err;
  EXPECT_EQ(state().substr(0, 5), "timed");
  expect_nothing_left();
}

TEST_F(RunFaults, TwoRunsOfOneRankAreNotARunOfTwo) {
  muster_.environment["FAKE_FAULT"] = "world-one";
  const Finished run = muster_.run(arguments());
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(check(run.json(), "ranks-joined")["outcome"], "fail");
}

TEST_F(RunFaults, AnInterruptEndsEverything) {
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove_all(muster_.runs());
    auto background = start_long();
    background->signal(signal);
    const Finished run = background->finish(std::chrono::seconds(30));
    EXPECT_EQ(run.exit_code, 130) << run.err;
    EXPECT_EQ(state(), "interrupted");
    expect_nothing_left();
  }
}

// mpirun asked to end kills its ranks a few seconds later, which cuts a large checkpoint.
TEST_F(RunFaults, AnInterruptedRankMayFinishItsCheckpoint) {
  for (const char* rank : {"0", "1"}) {
    fs::remove_all(muster_.runs());
    muster_.environment["FAKE_LINGER"] = std::string(rank) + ":3";
    auto background = start_long();
    background->signal(SIGINT);
    const Finished run = background->finish(std::chrono::seconds(60));
    EXPECT_EQ(run.exit_code, 130) << run.err;
    EXPECT_NE(text_of(muster_.only_run() / "logs" / (std::string("rank-") + rank + ".log"))
                  .find("saved at last"),
              std::string::npos);
    expect_nothing_left();
  }
}

TEST_F(RunFaults, ASecondInterruptEndsARankThatTakesLong) {
  muster_.environment["FAKE_LINGER"] = "1:50";
  auto background = start_long();
  const auto ranks = processes_of_run(muster_.only_run().filename().string());
  background->signal(SIGINT);
  EXPECT_TRUE(eventually([&] {  // the other rank has heard of the first
    return processes_of_run(muster_.only_run().filename().string()).size() < ranks.size();
  }));
  background->signal(SIGINT);
  EXPECT_EQ(background->finish(std::chrono::seconds(30)).exit_code, 130);
  expect_nothing_left();
}

TEST_F(RunFaults, AKilledMpirunLeavesNoRanks) {
  auto background = start_long();
  const int mpirun = std::atoi(text_of(muster_.only_run() / "logs/job.pid").c_str());
  ASSERT_GT(mpirun, 1);
  kill(mpirun, SIGKILL);
  const Finished run = background->finish(std::chrono::seconds(30));
  EXPECT_EQ(run.exit_code, 3) << run.err;
  expect_nothing_left();
}

TEST_F(RunFaults, CancelFromAnotherProcess) {
  auto background = start_long();
  const Finished status = muster_.run({"status", "last", "-o", "json"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_EQ(status.json()["run"]["state"], "running");
  EXPECT_EQ(status.json()["run"]["followed"], true);
  const Finished cancel = muster_.run({"cancel", "last"});
  EXPECT_EQ(cancel.exit_code, 0) << cancel.err;
  const Finished run = background->finish(std::chrono::seconds(30));
  EXPECT_EQ(run.exit_code, 4) << run.err;
  EXPECT_EQ(state(), "cancelled");
  expect_nothing_left();
  EXPECT_EQ(muster_.run({"cancel", "last"}).out.find("had ended already") == std::string::npos,
            false);
}

TEST_F(RunFaults, AKilledMusterIsNoticedAndItsRanksCanBeCancelled) {
  auto background = start_long();
  const std::string id = muster_.only_run().filename().string();
  background->signal(SIGKILL);
  background->finish(std::chrono::seconds(10));
  EXPECT_FALSE(processes_of_run(id).empty());
  const Finished status = muster_.run({"status", id, "-o", "json"});
  EXPECT_EQ(status.exit_code, 4);
  EXPECT_EQ(status.json()["run"]["orphaned"], true);
  // To go on in that directory while ranks still write there would spoil it.
  const Finished again = muster_.run({"run", "--resume", id});
  EXPECT_EQ(again.exit_code, 2) << again.err;
  EXPECT_NE(again.err.find("still has"), std::string::npos) << again.err;
  EXPECT_EQ(muster_.run({"cancel", id}).exit_code, 0);
  expect_nothing_left();
  EXPECT_EQ(state(), "cancelled");
}

TEST_F(RunFaults, TheSecondRunInADirectoryIsRefusedByName) {
  muster_.environment["FAKE_STEPS_APART"] = "3";
  const std::string folder = (muster_.runs() / "mine").string();
  Background first(muster_, arguments({"--run-dir", folder}));
  ASSERT_TRUE(eventually([&] { return steps_of(folder, 0) > 0; }));
  for (const auto& second :
       {arguments({"--run-dir", folder}), std::vector<std::string>{"run", "--resume", folder}}) {
    const Finished refused = muster_.run(second);
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_NE(refused.err.find(std::to_string(first.pid())), std::string::npos) << refused.err;
  }
  first.signal(SIGINT);
  EXPECT_EQ(first.finish(std::chrono::seconds(30)).exit_code, 130);
}

TEST_F(RunFaults, ARunThatWasKilledIsResumed) {
  muster_.environment["FAKE_FAULT"] = "1:kill";
  EXPECT_EQ(muster_.run(arguments()).exit_code, 3);
  muster_.environment.erase("FAKE_FAULT");
  const Finished resumed = muster_.run({"run", "--resume", "last", "-o", "json"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err << resumed.out;
  EXPECT_EQ(state(), "passed");
}

// karpathy/llm.c#692
TEST_F(RunFaults, OneRankRunsWithoutMpi) {
  const fs::path bin = directory_.path() / "bin";
  fs::create_directories(bin);
  for (const char* program : {"bash", "hostname", "seq", "mkdir", "sleep"}) {
    fs::create_symlink(*real_process_runner().find(program), bin / program);
  }
  muster_.environment["PATH"] = bin.string();
  const Finished one = muster_.run(arguments({"--set", "topology.accelerators_per_node=1"}));
  EXPECT_EQ(one.exit_code, 0) << one.err << one.out;
  const Finished two = muster_.run(arguments());
  EXPECT_EQ(two.exit_code, 4);
  EXPECT_NE(two.err.find("apt-get install openmpi-bin"), std::string::npos) << two.err;
  const Finished dry = muster_.run(arguments({"--dry-run"}));
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
}

TEST_F(RunFaults, NoArtefactHoldsASecret) {
  const std::string token = "q7Zk2vXw9-planted-5TtRb";
  muster_.environment["HF_TOKEN"] = token;
  muster_.environment["FAKE_SAY"] = "using " + token + " for the hub";
  const Finished run = muster_.run(arguments(
      {"--set", "env.set={HUB: 'x-" + token + "'}", "--set", "description=trained with " + token}));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ((run.out + run.err).find(token), std::string::npos);
  std::set<std::string> holders;
  for (const auto& entry : fs::recursive_directory_iterator(muster_.runs())) {
    if (entry.is_regular_file() && text_of(entry.path()).find(token) != std::string::npos) {
      holders.insert(entry.path().filename().string());
    }
  }
  EXPECT_TRUE(holders.empty()) << *holders.begin();
  EXPECT_EQ(muster_.run({"logs", "last"}).out.find(token), std::string::npos);
  EXPECT_EQ(muster_.run({"show", "run", "last", "-o", "json"}).out.find(token), std::string::npos);
}

// Known by their shape alone: the names that hold them say nothing.
TEST_F(RunFaults, NoArtefactHoldsAKnownKindOfToken) {
  // Made up, and put together so that no scanner takes them for real ones.
  const std::vector<std::string> secrets = {
      "hf_" + std::string("abcdefghijklmnopqrstuvwxyzABCDEFGH"),
      "ghp_" + std::string("0123456789abcdefghijABCDEFGHIJ012345"),
      "github_pat_" + std::string("11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz"),
      "nvapi-" + std::string("abcdefghijklmnopqrstuvwxyz-0123"),
      "eyJ" + std::string("hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijklmnop"),
      "AKIA" + std::string("ABCDEFGHIJKLMNOP"),
      "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789+/ab",
      "b3arerb3arerb3arer",
      "hunter22hunter22",
      "0123456789abcdef0123456789abcdef01234567",
      "MIIEmadeupprivatekey",
  };
  const std::vector<std::string> texts = {
      secrets[0],
      secrets[1],
      secrets[2],
      secrets[3],
      secrets[4],
      secrets[5] + " with " + secrets[6],
      "Authorization: Bearer " + secrets[7],
      "postgres://user:" + secrets[8] + "@db:5432/x",
      "wandb: " + secrets[9],
      std::string("-----BEGIN RSA ") + "PRIVATE KEY----- " + secrets[10] +
          " -----END RSA PRIVATE KEY-----",
  };
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    muster_.environment["HARMLESS_" + std::to_string(i)] = texts[i];
    all += texts[i] + " ; ";
  }
  muster_.environment["FAKE_SAY"] = all;
  const auto expect_none = [&](const std::string& text, const std::string& where) {
    for (const std::string& secret : secrets)
      EXPECT_EQ(text.find(secret), std::string::npos) << where << " holds " << secret;
  };
  const Finished run = muster_.run(arguments());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  expect_none(run.out + run.err, "the output");
  expect_none(muster_.run({"logs", "last"}).out, "what logs prints");
  const auto search = [&] {
    for (const auto& entry : fs::recursive_directory_iterator(muster_.runs())) {
      if (entry.is_regular_file()) expect_none(text_of(entry.path()), entry.path().string());
    }
  };
  search();
  // In a manifest they are refused, or at the least not recorded.
  for (const std::string& text : texts) {
    const Finished written =
        muster_.run(arguments({"--set", "description='" + text + "'", "--set", "batch.steps=1"}));
    EXPECT_NE(written.exit_code, 1) << written.err;
    expect_none(written.out + written.err, "the output");
  }
  search();
}

TEST_F(RunFaults, ASecretOfTheCaseMustBeThereAndReachesTheRanks) {
  muster_.unset = {"HUB_TOKEN"};
  const auto with_secret = arguments({"--set", "env.set={FAKE_SAY: '${HUB_TOKEN}'}"});
  const Finished missing = muster_.run(with_secret);
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("HUB_TOKEN"), std::string::npos) << missing.err;
  muster_.unset.clear();
  muster_.environment["HUB_TOKEN"] = "a-value-that-is-long-enough";
  const Finished given = muster_.run(with_secret);
  EXPECT_EQ(given.exit_code, 0) << given.err;
  // It came to the ranks, who printed it, and was taken out of the record.
  EXPECT_NE(text_of(muster_.only_run() / "logs/rank-0.log").find("REDACTED"), std::string::npos);
  EXPECT_EQ(text_of(muster_.only_run() / "rendered/rank.sh").find("a-value-that"),
            std::string::npos);
}

TEST_F(RunFaults, LogsAreShownByRank) {
  muster_.environment["FAKE_SAY"] = "hello";
  ASSERT_EQ(muster_.run(arguments()).exit_code, 0);
  EXPECT_EQ(muster_.run({"logs", "last", "--rank", "1"}).out, "hello\n");
  EXPECT_NE(muster_.run({"logs"}).out.find("rank-0.log   | hello\n"), std::string::npos);
  EXPECT_EQ(muster_.run({"logs", "last", "--rank", "7"}).exit_code, 4);
  EXPECT_EQ(muster_.run({"logs", "no-such-run"}).exit_code, 2);
}

TEST_F(RunFaults, BadInputIsLocated) {
  EXPECT_EQ(muster_.run({"run"}).exit_code, 2);
  const Finished unknown = muster_.run({"run", "training/native/lama/tiny"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("llama"), std::string::npos) << unknown.err;
  EXPECT_EQ(muster_.run(arguments({"--target", "slrum"})).exit_code, 2);
  EXPECT_EQ(muster_.run(arguments({"--set", "batch.stepps=3"})).exit_code, 2);
  EXPECT_EQ(muster_.run(arguments({"--set", "nonsense"})).exit_code, 2);
  fs::remove(text_);
  const Finished no_data = muster_.run(arguments());
  EXPECT_EQ(no_data.exit_code, 2);
  EXPECT_NE(no_data.err.find(text_.string() + ": error:"), std::string::npos) << no_data.err;
}

}  // namespace
}  // namespace muster::launch
