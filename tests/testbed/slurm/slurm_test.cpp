// muster run --target slurm on a real cluster: slurmctld, slurmdbd with MariaDB and four slurmd,
// each host in namespaces of its own (cluster.sh). The trainer is the real one where it was built,
// else the launcher tests' stand-in.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "cluster.h"
#include "launch/muster_process.h"
#include "testing.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
using muster::testbed::cluster;
using muster::testbed::on_controller;
using muster::testing::check;
using muster::testing::eventually;
using muster::testing::steps_of;
using muster::testing::text_of;
using nlohmann::json;

const fs::path& kState = muster::testbed::state();

class Slurm : public ::testing::Test {
 protected:
  static bool real_trainer() {
    return fs::exists(muster::testing::binary_dir() / "bin/muster-train");
  }

  void SetUp() override {
    const ProcessResult up = cluster({"up"}, std::chrono::seconds(120));
    ASSERT_EQ(up.exit_code, 0) << up.err;
    fs::create_directories(kState / "runs");
  }
  void TearDown() override {
    if (HasFailure()) {
      std::cerr << text_of(kState / "ctl/log/slurmctld.log").substr(0, 8000);
      for (const auto& run : fs::directory_iterator(kState / "runs")) {
        for (const char* log : {"launcher.out", "launcher.err", "rank-0.log", "rank-1.log"}) {
          std::cerr << "== " << log << "\n" << text_of(run.path() / "logs" / log).substr(0, 3000);
        }
      }
    }
    muster::testbed::remove_cluster();
  }

  /// muster on the controller, as its user would start it.
  muster::testing::Muster on_cluster(bool real) const {
    muster::testing::Muster muster(real ? muster::testing::binary_dir() / "bin"
                                        : muster::testing::source_dir() / "tests/launch/fake",
                                   kState / "runs");
    muster.environment["MUSTER_TESTBED"] = kState.string();
    muster.program = muster::testbed::kClusterScript;
    return muster;
  }
  static std::vector<std::string> words(std::vector<std::string> more) {
    std::vector<std::string> words = {"exec", "ctl",
                                      (muster::testing::binary_dir() / "bin/muster").string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::vector<std::string> run_words(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"run",       "training/native/llama/tiny",
                                          "--profile", "smoke",
                                          "--target",  "slurm",
                                          "--set",     "topology.nodes=2",
                                          "--set",     "topology.accelerators_per_node=1",
                                          "--set",     "expect.straggler.ratio=1000",
                                          "-o",        "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return words(arguments);
  }

  /// A text that every host sees.
  static std::vector<std::string> own_text() {
    fs::create_directories(kState / "data");
    std::system(("bible gen1:1-gen20:18 >" + (kState / "data/text").string()).c_str());
    return {"--set", "data.name=null", "--set", "data.path=" + (kState / "data/text").string()};
  }

  static std::string job_of(const fs::path& run) {
    return json::parse(text_of(run / "run.json"), nullptr, false)["launcher"].value("slurm_job_id",
                                                                                    "");
  }
  static std::string state_of(const fs::path& run) {
    return json::parse(text_of(run / "run.json"))["state"];
  }
};

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(Slurm, TwoNodesPass) {
  auto muster = on_cluster(real_trainer());
  const auto run = muster.run(joined(run_words(), own_text()), std::chrono::seconds(200));
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  const json result = run.json();
  EXPECT_EQ(result["verdict"]["outcome"], "pass");
  const std::string joined_ranks = check(result, "ranks-joined")["evidence"];
  EXPECT_NE(joined_ranks.find("2 hosts"), std::string::npos) << joined_ranks;
  EXPECT_EQ(check(result, "transport")["outcome"], "pass");
  EXPECT_NE(run.err.find("COMPLETED on n[1-2]"), std::string::npos) << run.err;
}

TEST_F(Slurm, ForeignCasePassesByItsLog) {
  auto muster = on_cluster(false);
  // Jobs of others don't disturb, whatever they are called.
  on_controller({"sbatch", "--hold", "--job-name=42|RUNNING|None|n1", "--wrap=true"});
  on_controller({"sbatch", "--hold", "--array=0-7%2", "--job-name=several words", "--wrap=true"});
  const fs::path folder = muster::testing::source_dir() / "tests/launch/foreign";
  muster.environment["MUSTER_VENV"] = (folder / "venv").string();
  const auto run = muster.run(words({"run", (folder / "case.yaml").string(), "--profile", "slurm",
                                     "--target", "slurm", "-o", "json"}),
                              std::chrono::seconds(200));
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  const json result = run.json();
  EXPECT_EQ(result["verdict"]["outcome"], "pass");
  const std::string joined_ranks = check(result, "ranks-joined")["evidence"];
  EXPECT_NE(joined_ranks.find("4 of 4 ranks on 2 hosts"), std::string::npos) << joined_ranks;
  EXPECT_NE(run.err.find("COMPLETED on n[1-2]"), std::string::npos) << run.err;
}

// A node that is up for Slurm and part of the job, and never runs what it is told to.
TEST_F(Slurm, ANodeThatDoesNotComeIsNamed) {
  auto muster = on_cluster(false);
  const fs::path folder = muster::testing::source_dir() / "tests/launch/foreign";
  muster.environment["MUSTER_VENV"] = (folder / "venv").string();
  const auto tell_slurmd = [](const std::string& signal) {
    const std::string command = "kill -" + signal + " \"$(cat /run/slurmd.pid)\"";
    return cluster({"exec", "n2", "bash", "-c", command}).exit_code;
  };
  ASSERT_EQ(tell_slurmd("STOP"), 0);
  muster::testing::Background background(
      muster, words({"run", (folder / "case.yaml").string(), "--profile", "slurm", "--target",
                     "slurm", "--set", "targets.slurm.options=['--nodelist=n[1-2]']",
                     "--start-timeout", "4", "-o", "json"}));
  ASSERT_TRUE(eventually(
      [&] {
        const fs::path run = muster.only_run();
        return !run.empty() &&
               text_of(run / "logs/launcher.err").find("did not come") != std::string::npos;
      },
      std::chrono::seconds(120)));
  // The job is over; Slurm only waits for the node to clean up.
  EXPECT_EQ(tell_slurmd("CONT"), 0);
  const auto run = background.finish(std::chrono::seconds(90));
  EXPECT_EQ(run.exit_code, 3) << run.err << run.out;
  const std::string evidence = check(run.json(), "completed")["evidence"];
  EXPECT_NE(evidence.find("within 4 s these nodes did not come: n2"), std::string::npos)
      << evidence;
}

TEST_F(Slurm, LostNodeResumes) {
  auto muster = on_cluster(real_trainer());
  const auto more = real_trainer() ? std::vector<std::string>{"--set", "batch.steps=400", "--set",
                                                              "checkpoint.every=20"}
                                   : std::vector<std::string>{"--set", "batch.steps=10", "--set",
                                                              "env.set={FAKE_STEPS_APART: '2'}"};
  muster::testing::Background background(muster, joined(joined(run_words(), own_text()), more));
  // Until there is something to resume from.
  ASSERT_TRUE(eventually(
      [&] {
        const fs::path run = muster.only_run();
        return steps_of(run, 0) > (real_trainer() ? 45 : 2);
      },
      std::chrono::seconds(120)));
  const fs::path run = muster.only_run();
  const std::string job = job_of(run);
  ASSERT_FALSE(job.empty());
  const int before = steps_of(run, 0);
  cluster({"crash", "n2"});
  // slurmctld notices by itself; then the job waits about two minutes for nothing, which the test
  // cuts short.
  ASSERT_TRUE(eventually(
      [&] {
        return on_controller({"squeue", "--noheader", "--format=%T", "--jobs=" + job}) ==
               "PENDING\n";
      },
      std::chrono::seconds(120)));
  EXPECT_EQ(cluster({"start", "n2"}).exit_code, 0);
  on_controller({"scontrol", "update", "JobId=" + job, "StartTime=now"});
  const auto ended = background.finish(std::chrono::seconds(150));
  ASSERT_EQ(ended.exit_code, 0) << ended.err << ended.out;
  EXPECT_EQ(ended.json()["verdict"]["outcome"], "pass");
  EXPECT_NE(ended.err.find("PENDING"), std::string::npos) << ended.err;
  EXPECT_NE(text_of(run / "logs/launcher.out").find("start 1, on"), std::string::npos);
  const std::string events = text_of(run / "metrics/rank-00000.jsonl");
  EXPECT_GT(steps_of(run, 0), before);
  if (real_trainer()) {
    EXPECT_NE(events.find("\"resume\""), std::string::npos) << "it went on from a checkpoint";
  }
}

TEST_F(Slurm, ScancelIsCancelled) {
  auto muster = on_cluster(false);
  muster::testing::Background background(
      muster, joined(run_words({"--set", "env.set={FAKE_STEPS_APART: '5'}"}), own_text()));
  ASSERT_TRUE(
      eventually([&] { return steps_of(muster.only_run(), 0) > 0; }, std::chrono::seconds(60)));
  const fs::path run = muster.only_run();
  on_controller({"scancel", job_of(run)});
  const auto ended = background.finish(std::chrono::seconds(60));
  EXPECT_EQ(ended.exit_code, 4) << ended.err << ended.out;
  EXPECT_EQ(ended.json()["run"]["state"], "cancelled");
  EXPECT_EQ(ended.json()["verdict"]["outcome"], "unknown");
  EXPECT_EQ(state_of(run), "cancelled");
}

TEST_F(Slurm, CancelVerb) {
  auto muster = on_cluster(false);
  muster::testing::Background background(
      muster, joined(run_words({"--set", "env.set={FAKE_STEPS_APART: '5'}"}), own_text()));
  ASSERT_TRUE(
      eventually([&] { return steps_of(muster.only_run(), 0) > 0; }, std::chrono::seconds(60)));
  const std::string job = job_of(muster.only_run());
  const auto status = muster.run(words({"status", "last", "-o", "json"}));
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_EQ(status.json()["run"]["slurm"]["state"], "RUNNING");
  EXPECT_EQ(muster.run(words({"cancel", "last"})).exit_code, 0);
  const auto ended = background.finish(std::chrono::seconds(60));
  EXPECT_EQ(ended.exit_code, 4) << ended.err;
  EXPECT_EQ(on_controller({"squeue", "--noheader", "--states=running,completing", "--jobs=" + job}),
            "");
}

TEST_F(Slurm, TimeLimitCancelsTheJob) {
  auto muster = on_cluster(false);
  const auto run = muster.run(
      joined(run_words({"--set", "env.set={FAKE_STEPS_APART: '5'}", "--timeout", "6"}), own_text()),
      std::chrono::seconds(90));
  EXPECT_EQ(run.exit_code, 124) << run.err;
  EXPECT_EQ(on_controller({"squeue", "--noheader", "--states=running,completing"}), "");
}

TEST_F(Slurm, BadPartitionIsSaid) {
  auto muster = on_cluster(false);
  const auto run =
      muster.run(joined(run_words({"--set", "targets.slurm.partition=nope"}), own_text()));
  EXPECT_EQ(run.exit_code, 4) << run.err;
  EXPECT_NE(std::string(check(run.json(), "completed")["evidence"])
                .find("invalid partition specified: nope"),
            std::string::npos)
      << run.out;
}

}  // namespace
}  // namespace muster::launch

int main(int argc, char** argv) {
  return muster::testbed::run_tests(argc, argv);
}
