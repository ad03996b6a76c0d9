// The rounds of a hunt, run through a scripted runner.
#include "bench/hunt_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fixture.h"

namespace muster::bench {
namespace {

/// A table of one size at this rate.
std::string table_at(double rate) {
  return fmt::format(
      "# nThread 1 nGpus 1 minBytes 268435456 maxBytes 268435456 step: 2(factor) warmup iters: 5\n"
      "  268435456  67108864  float  sum  -1  11184.8 {0} {0} 0  11184.8 {0} {0} 0\n"
      "# Out of bounds values : 0 OK\n",
      rate);
}

class HuntRun : public ::testing::Test {
 protected:
  HuntRun() {
    for (int i = 0; i < 8; ++i) names_.push_back(fmt::format("n{}", i));
    command_.command = "measure ,{nodes},";
    command_.parallel = false;  // the scripted runner is for one thread
    processes_.answer("/bin/sh -c measure", [this](const Command& command) {
      ProcessResult result;
      result.exit_code = 0;
      const std::string& text = command.argv[2];
      const bool slow = text.find("," + slow_ + ",") != std::string::npos ||
                        text.find("," + also_slow_ + ",") != std::string::npos;
      result.out = table_at(slow ? 19.2 : 24.0);
      if ((slow && hangs_) || (hangs_first_ && text == "measure ,n0,n1,")) {
        result.timed_out = true;
        result.exit_code = 143;
      }
      return Result<ProcessResult>(result);
    });
  }

  HuntOutcome run(Strategy strategy, bool all_pairs = false) {
    return run_hunt(names_, command_, strategy, all_pairs, {}, processes_);
  }

  std::vector<std::string> names_;
  HuntCommand command_;
  FakeProcessRunner processes_;
  std::string slow_ = "n5", also_slow_ = "none";
  bool hangs_ = false, hangs_first_ = false;
};

TEST_F(HuntRun, PairsStopWhenTheSameNodeIsNamedTwice) {
  const HuntOutcome outcome = run(Strategy::kPairs);
  ASSERT_EQ(outcome.result.slow.size(), 1U);
  EXPECT_EQ(outcome.result.slow[0].nodes, std::vector<int>{5});
  EXPECT_NEAR(outcome.result.slow[0].drop, 0.2, 1e-6);
  EXPECT_EQ(outcome.rounds, 3);
  EXPECT_EQ(outcome.measurements.size(), 12U);
  EXPECT_EQ(outcome.outputs.size(), 12U);
  EXPECT_EQ(run(Strategy::kPairs, true).rounds, 7);
  slow_ = "none";
  EXPECT_TRUE(run(Strategy::kPairs).result.slow.empty());
}

TEST_F(HuntRun, BisectionNamesTheNodeInLogRounds) {
  const HuntOutcome outcome = run(Strategy::kBisect);
  ASSERT_EQ(outcome.result.slow.size(), 1U);
  EXPECT_EQ(outcome.result.slow[0].nodes, std::vector<int>{5});
  EXPECT_LE(outcome.rounds, 4);
  EXPECT_EQ(hunt_verdict(outcome.result, names_).outcome(), Outcome::kFail);
  slow_ = "none";
  const HuntOutcome clean = run(Strategy::kBisect);
  EXPECT_TRUE(clean.result.slow.empty());
  EXPECT_EQ(clean.rounds, 1);
}

TEST_F(HuntRun, BisectionThatEndsWithoutANameIsNoPass) {
  // n0 and n2 are slow: the first half is, and then its two halves are alike.
  slow_ = "n0";
  also_slow_ = "n2";
  const HuntOutcome alike = run(Strategy::kBisect);
  EXPECT_TRUE(alike.result.slow.empty());
  EXPECT_EQ(alike.result.single, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(hunt_verdict(alike.result, names_).outcome(), Outcome::kUnknown);
  // Neither half of the slow one comes to an end.
  hangs_ = true;
  also_slow_ = "n5";
  const HuntOutcome hung = run(Strategy::kBisect);
  EXPECT_TRUE(hung.result.slow.empty());
  EXPECT_EQ(hung.result.measurements, 0U);
  EXPECT_EQ(hunt_verdict(hung.result, names_).outcome(), Outcome::kUnknown);
}

TEST_F(HuntRun, PairThatNeverEndsIsNoPass) {
  hangs_ = true;
  slow_ = "n2,n5";
  const HuntOutcome outcome = run(Strategy::kPairs, true);
  EXPECT_TRUE(outcome.result.slow.empty());
  EXPECT_EQ(outcome.result.unended, (std::vector<std::vector<int>>{{2, 5}}));
  const Verdict verdict = hunt_verdict(outcome.result, names_);
  EXPECT_EQ(verdict.outcome(), Outcome::kUnknown);
  EXPECT_NE(verdict.worst_first().front().evidence.find("n2 with n5"), std::string::npos);
}

/// What `muster-bench pairs` prints.
std::string pairs_at(const std::vector<std::string>& nodes, const std::string& slow) {
  std::string text = "a warning of mpirun\n{\n \"records\": [";
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    for (std::size_t b = a + 1; b < nodes.size(); ++b) {
      const std::string pair = nodes[a] + " <-> " + nodes[b];
      text += fmt::format(
          "{}{{\"tool\": \"muster-bench\", \"operation\": \"sendrecv\", \"variant\": \"{}\", "
          "\"size\": 4194304, \"busbw\": {}, \"wrong\": 0}}",
          a + b == 1 ? "" : ", ", pair, pair == slow ? 19.2 : 24.0 + 0.01 * static_cast<double>(b));
    }
  }
  return text + "]\n}\nanother\n";
}

TEST_F(HuntRun, OneAllToAllAndOneRoundNameASlowPair) {
  std::vector<std::string> asked;
  std::string slow = "n1 <-> n6";
  FakeProcessRunner processes;
  processes.answer("/bin/sh -c measure", [&](const Command& command) {
    asked.push_back(command.argv[2]);
    std::vector<std::string> nodes;
    for (const std::string& name : names_) {
      if ((command.argv[2] + ",").find("," + name + ",") != std::string::npos)
        nodes.push_back(name + ".cluster.test");
    }
    ProcessResult result;
    result.exit_code = 0;
    std::string mine = slow;
    if (!mine.empty())
      mine = mine.substr(0, 2) + ".cluster.test <-> " + mine.substr(7) + ".cluster.test";
    result.out = pairs_at(nodes, mine);
    return Result<ProcessResult>(result);
  });
  const auto hunt = [&] {
    return run_hunt(names_, command_, Strategy::kAllToAll, false, {}, processes);
  };
  const HuntOutcome outcome = hunt();
  ASSERT_EQ(outcome.result.slow.size(), 1U);
  EXPECT_EQ(outcome.result.slow[0].nodes, (std::vector<int>{1, 6}));
  EXPECT_EQ(outcome.result.slow[0].measured, 2);
  EXPECT_EQ(outcome.rounds, 2);
  EXPECT_EQ(asked.size(), 1U + 4U);
  EXPECT_EQ(outcome.measurements.size(), 28U + 4U);
  // Nothing to confirm where nothing is suspect.
  slow.clear();
  asked.clear();
  EXPECT_TRUE(hunt().result.slow.empty());
  EXPECT_EQ(asked.size(), 1U);
  EXPECT_EQ(hunt_verdict(hunt().result, names_).outcome(), Outcome::kPass);
  // An all-to-all that tells no pairs is no pass, and the reason is kept.
  const HuntOutcome untold = run(Strategy::kAllToAll);
  EXPECT_EQ(hunt_verdict(untold.result, names_).outcome(), Outcome::kUnknown);
  ASSERT_EQ(untold.measurements.size(), 1U);
  EXPECT_NE(untold.measurements[0].what.find("tells no pair"), std::string::npos);
}

TEST(MeasureOutput, ARateThatIsPrintedAsNoughtIsThatOfItsTime) {
  const Measurement measured = measure_output(
      {{0, 1}}, 0,
      "# nThread 1 nGpus 1 minBytes 262144 maxBytes 262144 step: 2(factor) warmup iters: 5\n"
      "  262144  65536  float  none  -1  65536.0 0.00 0.00 0  65536.0 0.00 0.00 0\n",
      0);
  ASSERT_TRUE(measured.rate.has_value()) << measured.what;
  EXPECT_NEAR(*measured.rate, 0.004, 1e-9);
}

TEST(AllPairs, RanksAreNodesInTheirOrderAndStrangersAreLeftOut) {
  const std::string text =
      R"({"records": [{"tool": "muster-bench", "variant": "rank 0 <-> rank 2", "size": 8, "busbw": 1},
          {"tool": "muster-bench", "variant": "rank 0 <-> rank 2", "size": 64, "busbw": 2},
          {"tool": "muster-bench", "variant": "rank 0 <-> rank 9", "size": 64, "busbw": 2},
          {"tool": "muster-bench", "variant": "n1 <-> n1.x", "size": 64, "busbw": 2},
          {"tool": "muster-bench", "variant": "n1 <-> n2", "size": 64, "busbw": 0}]})";
  const auto measured = measure_all_pairs(text, {"n0", "n1", "n2"}, 0);
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_EQ(measured[0].nodes, (std::vector<int>{0, 2}));
  EXPECT_EQ(measured[0].rate, 2);
  EXPECT_TRUE(measure_all_pairs("no table", {"n0", "n1"}, 0).empty());
}

TEST_F(HuntRun, GrowingAfterAGroupWithoutARate) {
  names_.resize(5);  // groups of 2, 4, 5
  slow_ = "n4";
  hangs_first_ = true;
  const HuntOutcome outcome = run(Strategy::kGrow);
  ASSERT_EQ(outcome.result.slow.size(), 1U);
  EXPECT_EQ(outcome.result.slow[0].nodes, std::vector<int>{4});
  EXPECT_NEAR(outcome.result.slow[0].drop, 0.2, 1e-6);
  EXPECT_EQ(outcome.result.measurements, 2U);
  // One group with a rate alone is held against nothing.
  names_.resize(4);
  EXPECT_EQ(hunt_verdict(run(Strategy::kGrow).result, names_).outcome(), Outcome::kUnknown);
}

TEST_F(HuntRun, GrowingStopsAtTheGroupThatIsSlower) {
  const HuntOutcome outcome = run(Strategy::kGrow);
  // 2, 4, 8: n5 joined with three others, and one of them it is.
  EXPECT_EQ(outcome.rounds, 3);
  EXPECT_EQ(outcome.result.single, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(hunt_verdict(outcome.result, names_).outcome(), Outcome::kUnknown);
}

TEST_F(HuntRun, NodeThatHangsIsNamedWithItsLimit) {
  hangs_ = true;
  const HuntOutcome outcome = run(Strategy::kPairs, true);
  ASSERT_EQ(outcome.result.slow.size(), 1U);
  EXPECT_EQ(outcome.result.slow[0].nodes, std::vector<int>{5});
  EXPECT_TRUE(outcome.result.slow[0].failed);
  const auto hung = std::find_if(outcome.measurements.begin(), outcome.measurements.end(),
                                 [](const Measurement& one) { return !one.rate; });
  ASSERT_NE(hung, outcome.measurements.end());
  EXPECT_EQ(hung->what, "did not end within 120 s");
  for (const Command& command : processes_.asked()) EXPECT_TRUE(command.time_limit.has_value());
}

TEST(MeasureOutput, OnlyGoodResultsGiveARate) {
  const Trial trial{{0, 1}};
  EXPECT_EQ(measure_output(trial, 0, table_at(24), 0).rate, 24);
  EXPECT_EQ(measure_output(trial, 0, table_at(24) + "it broke\n", 3).what, "exit code 3: it broke");
  EXPECT_FALSE(measure_output(trial, 0, table_at(24), 3).rate);
  EXPECT_FALSE(measure_output(trial, 0, log_text("nccl-wrong.log"), 0).rate);
  const auto apart = measure_output(trial, 0, log_text("nccl-separate.log"), 0);
  EXPECT_FALSE(apart.rate);
  EXPECT_NE(apart.what.find("separate runs"), std::string::npos);
  EXPECT_FALSE(measure_output(trial, 0, "hello\n", 0).rate);
  EXPECT_FALSE(measure_output(trial, 0, "{\"a\": ", 0).rate);
  // Times alone are a rate as well: the shorter the better.
  EXPECT_NEAR(*measure_output(trial, 0, log_text("osu-7.4-allreduce.log"), 0).rate, 1 / 30.41,
              1e-9);
}

TEST(NodeList, ExpandsWhatSlurmWrites) {
  EXPECT_EQ(expand_node_list("n[1-3,7],login").value(),
            (std::vector<std::string>{"n1", "n2", "n3", "n7", "login"}));
  EXPECT_EQ(expand_node_list("gpu-[08-10]-x").value(),
            (std::vector<std::string>{"gpu-08-x", "gpu-09-x", "gpu-10-x"}));
  for (const char* bad :
       {"n[1-", "n]1[", "n[3-1]", "n[1,a]", "n1,,n2", "n1,n1", "n[1-999999]", "n[1][2]"}) {
    EXPECT_FALSE(expand_node_list(bad)) << bad;
  }
}

TEST(TrialCommand, PlaceholdersAreReplacedEverywhere) {
  HuntCommand command;
  command.command = "run -w {nodes} -n {count} {first}>{second}>{first} r{round}-{trial}";
  EXPECT_EQ(trial_command(command, {{1, 0}}, {"a", "b"}, 2, 3), "run -w b,a -n 2 b>a>b r2-3");
}

}  // namespace
}  // namespace muster::bench
