#include "runs/log_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runs/judge.h"
#include "testing.h"

namespace muster::runs {
namespace {

using nlohmann::json;

const LogPatterns& patterns(const std::string& library = "fsdp") {
  static const auto rows =
      *facts::load_log_patterns(real_file_system(), muster::testing::source_dir());
  static std::map<std::string, LogPatterns> made;
  auto found = made.find(library);
  if (found == made.end()) {
    auto one = LogPatterns::make(rows, "pytorch", library);
    found = made.emplace(library, std::move(*one)).first;
  }
  return found->second;
}

Regex regex(const char* pattern) {
  auto compiled = Regex::compile(pattern);
  return std::move(*compiled);
}

std::vector<RankedEvent> read(const std::string& log, LogContext context = {0, 2, {}, nullptr},
                              const std::string& library = "fsdp", std::size_t piece = 7) {
  LogReader reader(patterns(library), context);
  std::vector<RankedEvent> events;
  for (std::size_t at = 0; at < log.size(); at += piece)
    reader.feed(std::string_view(log).substr(at, piece), events);
  reader.finish(events);
  return events;
}

std::vector<json> of_kind(const std::vector<RankedEvent>& events, const std::string& kind) {
  std::vector<json> out;
  for (const RankedEvent& one : events) {
    if (one.event["event"] == kind) out.push_back(one.event);
  }
  return out;
}

std::string step_line(int step, double loss) {
  return fmt::format(
      "Batch {} Loss: {:.5f}, Speed: 2.80 samples/sec, Tokens/s: 200, TFLOPS/GPU: 3.0, MFU: 0.300, "
      "lr: 0.000006\n",
      step, loss);
}

std::string start_line(int rank, int world, int pid = 10) {
  return fmt::format(
      "muster: process start rank={} world={} local_rank={} host=n{} pid={} restart=0\n", rank,
      world, rank, rank + 1, pid);
}

/// Of a world of two; rank 1 prints nothing of its own.
struct Logs {
  std::string first, second;
  std::map<std::string, Check> judge(LauncherResult launcher = {LauncherResult::End::kExited,
                                                                0,
                                                                {}},
                                     Expectations asked = {}) const {
    asked.world = 2;
    asked.from_log = true;
    asked.parameters_agree = asked.stragglers = false;
    std::vector<RankEvents> ranks;
    int rank = 0;
    for (const std::string* log : {&first, &second}) {
      RankEvents one{rank, fmt::format("rank-{}", rank), {}, {}};
      if (!log->empty()) {
        for (auto& event : read(*log, {rank, 2, {}, nullptr})) one.events.push_back(event.event);
      }
      ranks.push_back(std::move(one));
      ++rank;
    }
    std::map<std::string, Check> checks;
    const Verdict verdict = runs::judge(asked, ranks, launcher);
    for (const Check& check : verdict.checks()) checks[check.name] = check;
    return checks;
  }
};

Logs good(int steps = 20) {
  Logs logs{start_line(0, 2), start_line(1, 2)};
  for (int i = 0; i < steps; ++i) logs.first += step_line(i, 10.0 - 0.1 * i);
  logs.first += "muster: process end code=0\n";
  logs.second += "muster: process end code=0\n";
  return logs;
}

TEST(LogReader, AStepHasItsFigures) {
  const auto steps = of_kind(read(step_line(0, 11.5) + step_line(1, 11.25)), "step");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["step"], 1) << "its batches count from 0, events from 1";
  EXPECT_EQ(steps[1]["step"], 2);
  EXPECT_EQ(steps[1]["loss"], 11.25);
  EXPECT_EQ(steps[1]["tokens_per_second"], 200);
  EXPECT_EQ(steps[1]["flops_per_second"], 3e12);
  EXPECT_EQ(steps[1]["mfu"], 0.3);
}

RC_GTEST_PROP(LogReader, WhereThePiecesAreCutMakesNoDifference, ()) {
  const std::string log =
      good(8).first + "\x1b[32m3: \x1b[0m" + step_line(8, 1) + "noise loss: 3\r\n";
  const auto whole = read(log, {0, 2, {}, nullptr}, "fsdp", log.size());
  const auto pieces = read(log, {0, 2, {}, nullptr}, "fsdp", *rc::gen::inRange<std::size_t>(1, 90));
  RC_ASSERT(whole.size() == pieces.size());
  for (std::size_t i = 0; i < whole.size(); ++i) RC_ASSERT(whole[i].event == pieces[i].event);
}

RC_GTEST_PROP(LogReader, SurvivesAnyBytes, (std::string noise)) {
  const auto events = read(noise + "\n" + step_line(3, 2) + noise);
  RC_ASSERT(of_kind(events, "step").size() >= 1);
  RC_ASSERT(events.back().event["event"] == "log");
  RC_ASSERT(!events.back().event.dump().empty());
}

TEST(LogReader, ATornLastLineIsCountedAndNotRead) {
  const std::string line = step_line(1, 11.25);
  const auto events = read(step_line(0, 11.5) + line.substr(0, line.size() - 1));
  EXPECT_EQ(of_kind(events, "step").size(), 1u);
  EXPECT_EQ(events.back().event["torn"], true);
}

TEST(LogReader, LinesWrittenIntoEachOtherAreReadAsFarAsTheyAreWhole) {
  std::string both = step_line(0, 11.5);
  both.pop_back();
  both += step_line(1, 11.25);
  EXPECT_EQ(of_kind(read(both), "step").size(), 2u);
  const auto cut = read("Batch 3 Loss: 1." + step_line(4, 2));
  ASSERT_EQ(of_kind(cut, "step").size(), 1u);
  EXPECT_EQ(of_kind(cut, "step")[0]["step"], 5);
}

TEST(LogReader, WhatSpeaksOfALossInAnotherFormIsCountedAndQuoted) {
  const auto events = read("epoch 1 train loss = 3.2\nno figures of a loss\nloss: nan\n");
  EXPECT_EQ(events.back().event["unread"], 2);
  EXPECT_EQ(events.back().event["first_unread"], "epoch 1 train loss = 3.2");
}

TEST(LogReader, AProgressBarsCarriageReturnsEndLines) {
  const auto steps =
      of_kind(read("  1%|# | 1/100\r{'loss': 2.5, 'learning_rate': 1e-5, 'epoch': 0.1}\r  2%|\n"
                   "{'loss': 2.4, 'learning_rate': 1e-5, 'epoch': 0.2}\r\n"),
              "step");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1]["step"], 2);
  EXPECT_EQ(steps[1]["counted"], true);
}

TEST(LogReader, NumbersThatStartAgainGoOn) {
  const auto steps = of_kind(read(step_line(0, 5) + step_line(1, 4) + step_line(0, 3)), "step");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[2]["step"], 3) << "the second epoch";
  EXPECT_EQ(of_kind(read(step_line(0, 5) + step_line(0, 5)), "step").size(), 1u)
      << "the same line, twice";
}

TEST(LogReader, EpochsBecomeSteps) {
  const auto events = read("[RANK 0] Epoch 2 | Batchsize: 32 | Steps: 10 | Loss: 0.5\n",
                           {0, 2, {}, nullptr}, "ddp");
  ASSERT_EQ(of_kind(events, "step").size(), 1u);
  EXPECT_EQ(of_kind(events, "step")[0]["step"], 30);
}

TEST(LogReader, ACommonLogIsSharedOutByWhatItsLinesSay) {
  const auto events = read(
      "[1,1]<stdout>:[RANK 1] Epoch 0 | Batchsize: 32 | Steps: 10 | Loss: 0.5\n"
      "[1,0]<stdout>:[RANK 0] Epoch 0 | Batchsize: 32 | Steps: 10 | Loss: 0.6\n",
      {{}, 2, {}, nullptr}, "ddp");
  ASSERT_EQ(of_kind(events, "step").size(), 2u);
  EXPECT_EQ(events[0].rank, 1);
  EXPECT_EQ(events[1].rank, 0);
}

TEST(LogReader, ThePatternOfTheCaseFillsWhatNoOtherReads) {
  const Regex asked = regex(R"(cost is ([\d.]+))");
  const LogContext context{0, 2, {}, &asked};
  auto events = read("cost is 3.5\ncost is 3.25\n", context);
  ASSERT_EQ(of_kind(events, "step").size(), 2u);
  EXPECT_EQ(of_kind(events, "step")[1]["loss"], 3.25);
  EXPECT_EQ(events.back().event["asked_pattern"], true);
  // With a number of its own it goes before the others; without one it does not count twice.
  const Regex numbered = regex(R"(Batch (?<step>\d+) Loss: (?<loss>[\d.]+))");
  EXPECT_EQ(of_kind(read(step_line(1, 2), {0, 2, {}, &numbered}), "step").size(), 1u);
  const Regex bare = regex(R"(Loss: ([\d.]+))");
  events = read(step_line(0, 2) + step_line(1, 1), {0, 2, {}, &bare});
  ASSERT_EQ(of_kind(events, "step").size(), 2u);
  EXPECT_EQ(of_kind(events, "step")[1]["step"], 2);
  EXPECT_FALSE(read("nothing\n", context).back().event["asked_pattern"]);
}

TEST(LogReader, MegatronsRateFollowsFromBatchAndTime) {
  const auto steps = of_kind(
      read(
          " iteration       10/     100 | consumed samples: 640 | elapsed time per iteration (ms): "
          "500.0 | learning rate: 1.5E-05 | global batch size:    64 | lm loss: 1.083E+01 |\n",
          {0, 2, 2048, nullptr}),
      "step");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0]["tokens_per_second"], 64 * 2048 / 0.5);
}

TEST(LogJudge, AGoodRunPassesWithItsEvidence) {
  Expectations asked;
  asked.steps = 20;
  auto checks = good().judge({LauncherResult::End::kExited, 0, {}}, asked);
  for (const char* name : {"completed", "ranks-joined", "finite", "loss-fell", "throughput"})
    EXPECT_EQ(checks.at(name).outcome, Outcome::kPass) << name << ": " << checks[name].evidence;
  EXPECT_NE(checks["completed"].evidence.find("step 20 of 20"), std::string::npos)
      << checks["completed"].evidence;
  EXPECT_NE(checks["completed"].evidence.find("fsdp 20"), std::string::npos);
  EXPECT_EQ(checks.count("parameters-agree"), 0u);
}

TEST(LogJudge, NothingReadIsUnknown) {
  const Logs logs{start_line(0, 2) + "hello\nloss went to 3\nloss: 3\nmuster: process end code=0\n",
                  start_line(1, 2) + "muster: process end code=0\n"};
  auto checks = logs.judge();
  EXPECT_EQ(checks["completed"].outcome, Outcome::kUnknown);
  EXPECT_NE(checks["completed"].evidence.find("loss: 3"), std::string::npos)
      << checks["completed"].evidence;
  EXPECT_EQ(checks["finite"].outcome, Outcome::kUnknown);
  EXPECT_EQ(checks["loss-fell"].outcome, Outcome::kUnknown);
}

TEST(LogJudge, AnEmptyRunIsUnknown) {
  const auto checks = Logs{}.judge();
  for (const auto& [name, check] : checks) EXPECT_NE(check.outcome, Outcome::kPass) << name;
}

TEST(LogJudge, AnExitCodeNamesItsRankAndTheOthersOnlyFollow) {
  Logs logs = good(3);
  logs.first = start_line(0, 2) + step_line(0, 9) + "muster: process end code=143\n";
  logs.second = start_line(1, 2) + "muster: process end code=137\n";
  auto checks = logs.judge({LauncherResult::End::kExited, 1, {}});
  EXPECT_EQ(checks["completed"].outcome, Outcome::kFail);
  EXPECT_EQ(
      checks["completed"].evidence.find("rank 1 on n2: exit: its process was ended by signal 9"),
      0u)
      << checks["completed"].evidence;
}

TEST(LogJudge, AProcessWithoutAnEndWasKilled) {
  Logs logs = good();
  logs.second = start_line(1, 2, 77);
  auto checks = logs.judge({LauncherResult::End::kExited, 1, {}});
  EXPECT_EQ(checks["completed"].outcome, Outcome::kFail);
  EXPECT_NE(checks["completed"].evidence.find("rank 1 on n2: its process 77 left no end"),
            std::string::npos)
      << checks["completed"].evidence;
}

TEST(LogJudge, TwoWorldsOfOneAreNoWorldOfTwo) {
  Logs alone = good();
  alone.second.clear();
  alone.first = start_line(0, 1, 10) + start_line(0, 1, 11) + step_line(0, 9) +
                "muster: process end code=0\nmuster: process end code=0\n";
  auto checks = alone.judge();
  EXPECT_EQ(checks["ranks-joined"].outcome, Outcome::kFail) << checks["ranks-joined"].evidence;

  // Started together, but the program did not look at it: its library finds nobody.
  Logs deaf = good();
  for (std::string* log : {&deaf.first, &deaf.second})
    log->insert(log->find('\n') + 1, "[Gloo] Rank 0 is connected to 0 peer ranks.\n");
  checks = deaf.judge();
  EXPECT_EQ(checks["ranks-joined"].outcome, Outcome::kFail);
  EXPECT_NE(checks["ranks-joined"].evidence.find("world of 1 (gloo)"), std::string::npos)
      << checks["ranks-joined"].evidence;

  // Or it calls itself by another rank.
  Logs twin = good();
  twin.second.insert(twin.second.find('\n') + 1,
                     "[RANK 0] Epoch 0 | Batchsize: 32 | Steps: 10 | Loss: 0.5\n");
  checks = twin.judge();
  EXPECT_EQ(checks["ranks-joined"].outcome, Outcome::kFail);
}

TEST(LogJudge, TheLargestGroupOfAProcessIsItsWorld) {
  Logs logs = good();
  for (std::string* log : {&logs.first, &logs.second})
    log->insert(log->find('\n') + 1,
                "[Gloo] Rank 0 is connected to 1 peer ranks.\n"
                "[Gloo] Rank 0 is connected to 0 peer ranks.\n");
  auto checks = logs.judge();
  EXPECT_EQ(checks["ranks-joined"].outcome, Outcome::kPass) << checks["ranks-joined"].evidence;
  EXPECT_NE(checks["ranks-joined"].evidence.find("gloo says a world of 2 on ranks 0, 1"),
            std::string::npos)
      << checks["ranks-joined"].evidence;
}

TEST(LogJudge, TooFewStepsFailAndASparseLogDoesNot) {
  Expectations asked;
  asked.steps = 25;
  const LauncherResult ended{LauncherResult::End::kExited, 0, {}};
  EXPECT_EQ(good(20).judge(ended, asked)["completed"].outcome, Outcome::kFail);
  Logs sparse = good(0);
  sparse.first = start_line(0, 2);
  for (int step = 9; step < 25; step += 10) sparse.first += step_line(step, 9 - 0.1 * step);
  sparse.first += "muster: process end code=0\n";
  EXPECT_EQ(sparse.judge(ended, asked)["completed"].outcome, Outcome::kPass)
      << "every tenth step is told, the last is 20";
}

TEST(LogJudge, OneRecordDoesNotShowThatTheRestWasDone) {
  Expectations asked;
  asked.steps = 199;
  Logs logs = good(0);
  logs.first = start_line(0, 2) + step_line(99, 2.0) + "muster: process end code=0\n";
  const LauncherResult ended{LauncherResult::End::kExited, 0, {}};
  EXPECT_EQ(logs.judge(ended, asked)["completed"].outcome, Outcome::kUnknown);
  asked.steps = 100;
  EXPECT_EQ(logs.judge(ended, asked)["completed"].outcome, Outcome::kPass);
  // Two records ten steps apart excuse no more than ten.
  asked.steps = 199;
  logs.first =
      start_line(0, 2) + step_line(99, 2.0) + step_line(109, 1.9) + "muster: process end code=0\n";
  EXPECT_EQ(logs.judge(ended, asked)["completed"].outcome, Outcome::kFail);
}

TEST(LogJudge, ALossThatIsNoNumberFails) {
  Logs logs = good();
  logs.first.insert(logs.first.find("muster: process end"),
                    "Batch 20 Loss: nan, Speed: 1.0 samples/sec, lr: 0.1\n");
  auto checks = logs.judge();
  EXPECT_EQ(checks["finite"].outcome, Outcome::kFail);
  EXPECT_NE(checks["finite"].evidence.find("step 21"), std::string::npos);
}

TEST(LogJudge, ARestartIsTakenUpWhereItsFirstRecordSays) {
  Logs logs = good(10);
  logs.first = start_line(0, 2);
  for (int i = 0; i < 10; ++i) logs.first += step_line(i, 10.0 - 0.1 * i);
  logs.first += "muster: process end code=1\n" + start_line(0, 2, 20);
  for (int i = 8; i < 20; ++i) logs.first += step_line(i, 10.0 - 0.1 * i);
  logs.first += "muster: process end code=0\n";
  logs.second = start_line(1, 2) + start_line(1, 2, 21) + "muster: process end code=0\n";
  Expectations asked;
  asked.steps = 20;
  auto checks = logs.judge({LauncherResult::End::kExited, 0, {}}, asked);
  EXPECT_EQ(checks["completed"].outcome, Outcome::kPass) << checks["completed"].evidence;
  EXPECT_NE(checks["completed"].evidence.find("in 2 starts"), std::string::npos);
  EXPECT_NE(checks["loss-fell"].evidence.find("over 20 steps"), std::string::npos)
      << checks["loss-fell"].evidence;
}

TEST(LogJudge, ATransportThatIsAskedForMustBeTold) {
  Expectations asked;
  asked.transport = "gloo";
  const LauncherResult ended{LauncherResult::End::kExited, 0, {}};
  EXPECT_EQ(good().judge(ended, asked)["transport"].outcome, Outcome::kUnknown);
  Logs logs = good();
  for (std::string* log : {&logs.first, &logs.second})
    log->insert(log->find('\n') + 1, "[Gloo] Rank 0 is connected to 1 peer ranks.\n");
  EXPECT_EQ(logs.judge(ended, asked)["transport"].outcome, Outcome::kPass);
  asked.transport = "nccl";
  EXPECT_EQ(logs.judge(ended, asked)["transport"].outcome, Outcome::kFail);
}

}  // namespace
}  // namespace muster::runs
