// muster run --target kubernetes, with a kubectl that makes processes of this machine of pods
// (tests/launch/fake/kubectl). tests/conformance/kube-apiserver does the same on a real API server.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "launch/foreign_fixture.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
using muster::testing::Background;
using muster::testing::check;
using muster::testing::eventually;
using muster::testing::Finished;
using muster::testing::steps_of;
using muster::testing::text_of;

class RunKubernetes : public muster::testing::ForeignFixture {
 protected:
  RunKubernetes() : ForeignFixture({"--profile", "kubernetes", "--target", "kubernetes"}) {
    fs::create_directories(cluster());
    fs::create_directories(directory_.path() / "bin");
    const fs::path here = muster::testing::source_dir() / "tests/launch";
    for (const char* program : {"kubectl", "getent"})
      fs::create_symlink(here / "fake" / program, directory_.path() / "bin" / program);
    muster_.environment["PATH"] = (directory_.path() / "bin").string() + ":/usr/bin:/bin";
    muster_.environment["FAKE_KUBE"] = cluster().string();
    muster_.environment["REGISTRY"] = "registry.example";
  }

  fs::path cluster() const { return directory_.path() / "cluster"; }
  void fault(const std::string& name) const { std::ofstream(cluster() / "fault") << name << '\n'; }

  Finished run(const std::vector<std::string>& more = {}) const {
    return muster_.run(arguments(more));
  }
  /// No object, and no process of a pod.
  void expect_nothing_left() const {
    for (const auto& entry : fs::directory_iterator(cluster())) {
      const std::string name = entry.path().filename();
      EXPECT_FALSE(name.starts_with("object-") || name.starts_with("pod-")) << name;
      const std::string pid = text_of(entry.path() / "pid");
      if (name.starts_with("gone-") && !pid.empty()) {
        EXPECT_TRUE(eventually([&] { return ::kill(std::stoi(pid), 0) != 0; })) << name;
      }
    }
  }
  bool started() const {
    return eventually([&] {
      const fs::path run = muster_.only_run();
      return !run.empty() && steps_of(run, 0) > 0;
    });
  }
};

TEST_F(RunKubernetes, AGoodRunPassesByThePodsLogs) {
  const Finished ended = run();
  ASSERT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  for (const char* name : {"completed", "ranks-joined", "loss-fell", "transport"})
    EXPECT_EQ(check(ended.json(), name)["outcome"], "pass") << name << evidence(ended, name);
  EXPECT_NE(evidence(ended, "ranks-joined").find("gloo says a world of 4 on ranks 0-3"),
            std::string::npos)
      << evidence(ended, "ranks-joined");
  const fs::path run = muster_.only_run();
  EXPECT_EQ(steps_of(run, 0), 10);
  for (const char* file : {"logs/rank-0.log", "logs/rank-3.log", "metrics/rank-00003.jsonl"})
    EXPECT_TRUE(fs::exists(run / file)) << file;
  // Each pod's own words, and none of a rank's.
  int pods = 0;
  for (const auto& entry : fs::directory_iterator(run / "logs")) {
    if (!entry.path().filename().string().starts_with("fsdp-fake-")) continue;
    ++pods;
    EXPECT_NE(text_of(entry.path()).find("muster: node "), std::string::npos) << entry.path();
    EXPECT_EQ(text_of(entry.path()).find("Loss"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(pods, 2);
  expect_nothing_left();
}

TEST_F(RunKubernetes, TheServerChecksBeforeAnythingIsMade) {
  ASSERT_EQ(run().exit_code, 0);
  const std::string asked = text_of(cluster() / "asked");
  const auto dry =
      asked.find("--context=fake-cluster create --validate=true -f - --dry-run=server");
  const auto real = asked.find("--context=fake-cluster create --validate=true -f -\n");
  EXPECT_LT(dry, real) << asked;
  EXPECT_NE(asked.find("create --validate=true -f - --dry-run=server", real), std::string::npos)
      << "each of the two objects is checked";
}

TEST_F(RunKubernetes, WhatTheServerRefusesIsToldAndLeavesNothing) {
  fault("refuse");
  const Finished ended = run();
  EXPECT_EQ(ended.exit_code, 4) << ended.out;
  EXPECT_NE(evidence(ended, "completed").find("unknown field \"spec.surprise\""), std::string::npos)
      << evidence(ended, "completed");
  expect_nothing_left();
}

TEST_F(RunKubernetes, AnotherRunsObjectIsNotTouched) {
  // The same name again: as if two runs of a case had the same four letters.
  ASSERT_EQ(run().exit_code, 0);
  const fs::path first = muster_.only_run();
  const std::string name =
      "fsdp-fake-" + first.filename().string().substr(first.filename().string().size() - 4);
  std::ofstream(cluster() / ("object-job-" + name + ".json")) << "{}";
  const Finished again = muster_.run(
      {"run", "--resume", first.filename().string(), "--target", "kubernetes", "-o", "json"});
  EXPECT_EQ(again.exit_code, 4) << again.out << again.err;
  EXPECT_NE(again.out.find("already exists"), std::string::npos) << again.out;
  EXPECT_TRUE(fs::exists(cluster() / ("object-job-" + name + ".json")));
}

TEST_F(RunKubernetes, APodThatNoNodeTakesFailsTheRunByName) {
  fault("pending");
  const Finished ended = run({"--start-timeout", "2"});
  EXPECT_EQ(ended.exit_code, 3) << ended.out << ended.err;
  const std::string why = evidence(ended, "completed");
  EXPECT_NE(why.find("pod fsdp-fake-"), std::string::npos) << why;
  EXPECT_NE(why.find("0/4 nodes are available: 4 Insufficient nvidia.com/gpu"), std::string::npos)
      << why;
  expect_nothing_left();
}

TEST_F(RunKubernetes, AnImageThatCantBePulledIsNamed) {
  fault("pull");
  Finished ended = run({"--start-timeout", "2"});
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_NE(evidence(ended, "completed").find("ImagePullBackOff"), std::string::npos);
  // What no waiting mends is not waited for.
  fs::remove_all(muster_.runs());
  fault("name");
  ended = run({"--start-timeout", "600"});
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_NE(evidence(ended, "completed").find("InvalidImageName"), std::string::npos);
}

TEST_F(RunKubernetes, AnObjectThatNobodyLooksAfterFailsTheRun) {
  fault("none");
  const Finished ended = run({"--start-timeout", "2"});
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_NE(evidence(ended, "completed").find("2 pods were not made"), std::string::npos)
      << evidence(ended, "completed");
}

TEST_F(RunKubernetes, AnExitCodeIsToldWithItsRankItsPodAndItsLastWords) {
  muster_.environment["FAKE_FAULT"] = "3:exit-7";
  const Finished ended = run();
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  const std::string why = evidence(ended, "completed");
  EXPECT_NE(why.find("rank 3 on "), std::string::npos) << why;
  EXPECT_NE(why.find("exit code 7"), std::string::npos) << why;
  EXPECT_NE(ended.err.find("giving up on purpose"), std::string::npos) << ended.err;
  expect_nothing_left();
}

TEST_F(RunKubernetes, AServerThatIsAwayIsToldInALine) {
  fault("away");
  const Finished ended = run();
  EXPECT_EQ(ended.exit_code, 4) << ended.out;
  EXPECT_NE(evidence(ended, "completed")
                .find("The connection to the server 127.0.0.1:6443 was "
                      "refused"),
            std::string::npos)
      << evidence(ended, "completed");
}

TEST_F(RunKubernetes, StatusLogsAndCancelWorkFromElsewhere) {
  muster_.environment["FAKE_STEPS_APART"] = "3";
  Background background(muster_, arguments());
  ASSERT_TRUE(started());
  const std::string id = muster_.only_run().filename().string();
  const Finished status = muster_.run({"status", id, "-o", "json"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  const auto job = status.json()["run"]["kubernetes"];
  EXPECT_EQ(job["namespace"], "ml") << status.out;
  EXPECT_EQ(job["context"], "fake-cluster");
  EXPECT_EQ(job["pods"].size(), 2u);
  EXPECT_NE(muster_.run({"logs", id, "--rank", "0"}).out.find("Loss"), std::string::npos);
  EXPECT_EQ(muster_.run({"cancel", id}).exit_code, 0);
  const Finished ended = background.finish(std::chrono::seconds(30));
  EXPECT_EQ(ended.exit_code, 4) << ended.err;
  EXPECT_EQ(ended.json()["run"]["state"], "cancelled") << ended.out;
  expect_nothing_left();
}

// As reported: half of the steps honoured the context that was named, the others the current one.
TEST_F(RunKubernetes, EveryCallGoesToTheContextThatWasNamed) {
  muster_.environment["FAKE_STEPS_APART"] = "3";
  Background background(muster_, arguments({"--context", "named"}));
  ASSERT_TRUE(started());
  const std::string id = muster_.only_run().filename().string();
  EXPECT_EQ(muster_.run({"status", id}).exit_code, 0);
  EXPECT_EQ(muster_.run({"cancel", id}).exit_code, 0);
  background.finish(std::chrono::seconds(30));
  std::istringstream asked(text_of(cluster() / "asked"));
  std::set<std::string> verbs;
  for (std::string line; std::getline(asked, line);) {
    ASSERT_TRUE(line.starts_with("--context=named ")) << line;
    std::istringstream words(line);
    std::string context, verb;
    words >> context >> verb;
    verbs.insert(verb);
  }
  for (const char* verb : {"create", "get", "logs", "delete"})
    EXPECT_TRUE(verbs.contains(verb)) << verb;
}

TEST_F(RunKubernetes, StatusShowsWhyAPodWaits) {
  fault("pending");
  Background background(muster_, arguments());
  ASSERT_TRUE(eventually([&] {
    const fs::path run = muster_.only_run();
    return !run.empty() && text_of(run / "run.json").find("\"object\"") != std::string::npos &&
           text_of(cluster() / "asked").find("get pods") != std::string::npos;
  }));
  const std::string id = muster_.only_run().filename().string();
  const Finished status = muster_.run({"status", id});
  EXPECT_NE(status.out.find("Unschedulable (0/4 nodes are available"), std::string::npos)
      << status.out;
  background.signal(SIGINT);
  EXPECT_EQ(background.finish(std::chrono::seconds(30)).exit_code, 130);
  expect_nothing_left();
}

TEST_F(RunKubernetes, ARunThatNobodyFollowsIsCancelledInTheCluster) {
  muster_.environment["FAKE_STEPS_APART"] = "3";
  {
    Background background(muster_, arguments());
    ASSERT_TRUE(started());
    background.signal(SIGKILL);
    background.finish(std::chrono::seconds(30));
  }
  const std::string id = muster_.only_run().filename().string();
  EXPECT_EQ(muster_.run({"status", id}).exit_code, 4);
  const Finished cancelled = muster_.run({"cancel", id});
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  EXPECT_NE(cancelled.out.find("Job fsdp-fake-"), std::string::npos) << cancelled.out;
  expect_nothing_left();
}

}  // namespace
}  // namespace muster::launch
