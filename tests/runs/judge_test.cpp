#include "runs/judge.h"

#include <gtest/gtest.h>

#include "runs/fixture.h"

namespace muster::runs {
namespace {

using namespace testing;  // NOLINT: the fixture of these tests
using ::testing::Test;

Verdict judge_all(const std::vector<RankEvents>& ranks, const LauncherResult& launcher = exited()) {
  return judge(ask_all(static_cast<int>(ranks.size())), ranks, launcher);
}

#define EXPECT_CHECK(verdict, name, expected_outcome, words)                                  \
  do {                                                                                        \
    const Verdict judged = (verdict);                                                         \
    const Check seen = check(judged, name);                                                   \
    EXPECT_STREQ(to_string(seen.outcome), to_string(expected_outcome))                        \
        << name << ": " << seen.evidence;                                                     \
    EXPECT_NE(seen.evidence.find(words), std::string::npos) << name << ": " << seen.evidence; \
  } while (false)

TEST(Judge, AGoodRunPassesEveryCheck) {
  const Verdict verdict = judge_all(good_run());
  std::vector<std::string> names;
  for (const Check& one : verdict.checks()) {
    names.push_back(one.name);
    EXPECT_EQ(one.outcome, Outcome::kPass) << one.name << ": " << one.evidence;
    EXPECT_FALSE(one.evidence.empty()) << one.name;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"completed", "ranks-joined", "parameters-agree", "finite",
                                      "loss-fell", "eval-loss", "checkpoint-reloads", "transport",
                                      "throughput", "stragglers"}));
  EXPECT_EQ(verdict.outcome(), Outcome::kPass);
  EXPECT_CHECK(verdict, "completed", Outcome::kPass, "all 2 ranks ended at step 40");
  EXPECT_CHECK(verdict, "ranks-joined", Outcome::kPass, "node-a: 0; node-b: 1");
  EXPECT_CHECK(verdict, "transport", Outcome::kPass, "Open MPI 4.1.4");
  EXPECT_CHECK(verdict, "throughput", Outcome::kPass,
               "32.5 % of the measured bf16 peak of 400 GFLOP/s");
}

TEST(Judge, WhatIsNotAskedIsLeftOut) {
  Expectations asked;
  asked.parameters_agree = asked.finite = asked.loss_fell = asked.throughput = asked.stragglers =
      false;
  asked.world = 2;
  const Verdict verdict = judge(asked, good_run(), exited());
  ASSERT_EQ(verdict.checks().size(), 2U);
  EXPECT_EQ(verdict.checks()[0].name, "completed");
  EXPECT_EQ(verdict.checks()[1].name, "ranks-joined");
}

TEST(Judge, OneRankHasNobodyToAgreeWith) {
  const Verdict verdict = judge(ask_all(1), good_run({.world = 1}), exited());
  EXPECT_EQ(check(verdict, "parameters-agree").name, "(none)");
  EXPECT_EQ(check(verdict, "stragglers").name, "(none)");
  EXPECT_EQ(verdict.outcome(), Outcome::kPass);
}

TEST(Judge, NothingAtAllIsUnknown) {
  const Verdict verdict = judge(ask_all(2), {}, exited());
  EXPECT_EQ(verdict.outcome(), Outcome::kUnknown);
  for (const Check& one : verdict.checks()) {
    EXPECT_EQ(one.outcome, Outcome::kUnknown) << one.name << ": " << one.evidence;
  }
}

TEST(Completed, TheLaunchersEndDecides) {
  const auto run = good_run();
  EXPECT_CHECK(judge_all(run, exited(137)), "completed", Outcome::kFail, "137 (ended by signal 9)");
  EXPECT_CHECK(judge_all(run, exited(124)), "completed", Outcome::kFail,
               "a collective passed its time limit");
  EXPECT_CHECK(judge_all(run, {LauncherResult::End::kExited, std::nullopt, ""}), "completed",
               Outcome::kUnknown, "exit code");
  EXPECT_CHECK(judge_all(run, {LauncherResult::End::kTimedOut, 124, "600 s"}), "completed",
               Outcome::kFail, "time limit: 600 s");
  EXPECT_CHECK(judge_all(run, {LauncherResult::End::kHang, {}, "rank 1 silent"}), "completed",
               Outcome::kFail, "rank 1 silent");
  EXPECT_CHECK(judge_all(run, {LauncherResult::End::kCancelled, {}, "by scancel"}), "completed",
               Outcome::kUnknown, "by scancel");
  EXPECT_CHECK(judge_all(run, {LauncherResult::End::kNotStarted, {}, "no mpirun"}), "completed",
               Outcome::kUnknown, "no mpirun");
  EXPECT_CHECK(judge_all(run, LauncherResult{}), "completed", Outcome::kUnknown, "not known");
}

TEST(Completed, ARankWithoutAnEndIsUnknownAndFailsWithTheLauncher) {
  auto run = good_run();
  run[1].events.resize(20);
  EXPECT_CHECK(judge_all(run), "completed", Outcome::kUnknown,
               "rank 1 on node-b left no end event; its last step is 17");
  EXPECT_EQ(judge_all(run, exited(1)).outcome(), Outcome::kFail);
}

TEST(Completed, ALauncherThatNamesNobodyIsHelpedOut) {
  auto run = good_run();
  run[1].events.resize(20);
  EXPECT_CHECK(judge_all(run, exited(137)), "completed", Outcome::kFail,
               "exited with 137 (ended by signal 9): rank 1 left no end event");
  auto named = exited(137);
  named.detail = "rank 0 on n1 was ended by signal 9 (Killed)";
  EXPECT_CHECK(judge_all(run, named), "completed", Outcome::kFail,
               "exited with 137 (ended by signal 9): rank 0 on n1 was ended");
  EXPECT_CHECK(judge_all(good_run(), exited(137)), "completed", Outcome::kFail,
               "exited with 137 (ended by signal 9)");
}

TEST(Completed, TooFewStepsFail) {
  EXPECT_CHECK(judge(ask_all(2, 50), good_run(), exited()), "completed", Outcome::kFail,
               "step 40 of 50");
}

TEST(Completed, AGapInTheStepsIsUnknown) {
  auto run = good_run();
  std::erase_if(run[0].events,
                [](const json& e) { return e["event"] == "step" && e["step"] == 7; });
  EXPECT_CHECK(judge_all(run), "completed", Outcome::kUnknown,
               "no record of the steps between 6 and 8");
}

TEST(Completed, ATimeoutNamesOperationRankAndHostFirst) {
  auto run = good_run({.world = 3});
  for (int rank = 0; rank < 2; ++rank) {
    auto& events = run[static_cast<std::size_t>(rank)].events;
    events.resize(10);
    events.push_back({{"event", "error"},
                      {"kind", "timeout"},
                      {"message", "no answer within 30 s"},
                      {"operation", "all_reduce"},
                      {"missing", {{{"rank", 2}, {"host", "node-c"}}}},
                      {"waiting", {0, 1}}});
    events.push_back({{"event", "end"}, {"step", 7}, {"reason", "error"}, {"parameter_hash", "x"}});
  }
  run[2].events.resize(10);
  const Verdict verdict = judge_all(run, exited(124));
  EXPECT_CHECK(
      verdict, "completed", Outcome::kFail,
      "ranks 0, 1: timeout in all_reduce: missing rank 2 on node-c: no answer within 30 s");
  EXPECT_EQ(check(verdict, "completed").evidence.find("ranks 0, 1: timeout"), 0U);
  EXPECT_EQ(verdict.worst_first().front().name, "completed");
}

TEST(Completed, ACauseIsToldBeforeWhatFollowsFromIt) {
  auto run = good_run();
  run[0].events.push_back({{"event", "error"}, {"kind", "comm"}, {"message", "connection reset"}});
  run[1].events.push_back(
      {{"event", "error"}, {"kind", "io"}, {"message", "no space left on device"}});
  EXPECT_EQ(check(judge_all(run, exited(75)), "completed")
                .evidence.find("rank 1 on node-b: io: no space left"),
            0U);
}

TEST(RanksJoined, TwoRunsOfOneRankAreAFailure) {
  auto run = good_run();
  for (auto& rank : run) {
    event(rank, "start")["world"] = 1;
    event(rank, "start")["rank"] = 0;
  }
  EXPECT_CHECK(judge_all(run), "ranks-joined", Outcome::kFail,
               "world of 1, 2 ranks were asked for");
  // Both wrote rank 0's file: one file is all there is.
  EXPECT_CHECK(judge(ask_all(2), {run[0]}, exited()), "ranks-joined", Outcome::kFail,
               "rank 1 of 2 never joined");
}

TEST(RanksJoined, MissingAndSurplusRanksAreNamed) {
  auto run = good_run({.world = 8});
  run.erase(run.begin() + 5);
  run.erase(run.begin() + 1, run.begin() + 4);
  EXPECT_CHECK(judge(ask_all(8), run, exited()), "ranks-joined", Outcome::kFail,
               "ranks 1-3, 5 of 8 never joined");
  EXPECT_CHECK(judge(ask_all(2), good_run({.world = 3}), exited()), "ranks-joined", Outcome::kFail,
               "rank 2 on node-c is not of a world of 2");
  auto twice = good_run();
  twice.push_back(twice[0]);
  EXPECT_CHECK(judge(ask_all(2), twice, exited()), "ranks-joined", Outcome::kFail,
               "rank 0 is there twice");
}

TEST(ParametersAgree, TheRankThatDiffersIsNamed) {
  auto run = good_run({.world = 4});
  event(run[2], "end")["parameter_hash"] = "other";
  EXPECT_CHECK(judge_all(run), "parameters-agree", Outcome::kFail,
               "rank 2 on node-c: other, unlike ranks 0, 1, 3");
  event(run[2], "end").erase("parameter_hash");
  EXPECT_CHECK(judge_all(run), "parameters-agree", Outcome::kUnknown, "rank 2 on node-c");
}

TEST(Finite, TheFirstBadStepIsNamed) {
  for (const char* key : {"loss", "grad_norm"}) {
    auto run = good_run();
    for (const int step : {30, 12, 25}) {
      event(run[1], "step", step - 1)[key] = nullptr;
    }
    EXPECT_CHECK(judge_all(run), "finite", Outcome::kFail, "rank 1 on node-b");
    EXPECT_CHECK(judge_all(run), "finite", Outcome::kFail, "step 12");
    event(run[1], "step", 11).erase(key);
    EXPECT_CHECK(judge_all(run), "finite", Outcome::kUnknown, "step 12 has no");
  }
}

TEST(LossFell, ARisingAndAFlatLossFail) {
  auto run = good_run();
  for (auto& rank : run) {
    for (int step = 0; step < 40; ++step) {
      event(rank, "step", step)["loss"] = 4.0 + 0.01 * step;
    }
  }
  EXPECT_CHECK(judge_all(run), "loss-fell", Outcome::kFail, "the loss rose: 4.0");
  for (auto& rank : run) {
    for (int step = 0; step < 40; ++step) {
      event(rank, "step", step)["loss"] = 4.0;
    }
  }
  EXPECT_CHECK(judge_all(run), "loss-fell", Outcome::kFail, "did not fall");
}

TEST(LossFell, TooFewStepsAreUnknown) {
  EXPECT_CHECK(judge(ask_all(2, 4), good_run({.steps = 4}), exited()), "loss-fell",
               Outcome::kUnknown, "4 steps");
}

TEST(EvalLoss, MustLieInItsBand) {
  auto run = good_run();
  auto asked = ask_all();
  asked.eval_loss_max = 4.0;
  EXPECT_CHECK(judge(asked, run, exited()), "eval-loss", Outcome::kFail,
               "4.1 at step 40, asked between 3 and 4");
  asked.eval_loss_max = {};
  asked.eval_loss_min = 4.2;
  EXPECT_CHECK(judge(asked, run, exited()), "eval-loss", Outcome::kFail, "asked at least 4.2");
  for (auto& rank : run) {
    event(rank, "eval")["loss"] = nullptr;
  }
  EXPECT_CHECK(judge_all(run), "eval-loss", Outcome::kFail, "not finite");
  for (auto& rank : run) {
    std::erase_if(rank.events, [](const json& e) { return e["event"] == "eval"; });
  }
  EXPECT_CHECK(judge_all(run), "eval-loss", Outcome::kUnknown, "no evaluation");
}

TEST(CheckpointReloads, HashesMustAgree) {
  auto run = good_run();
  event(run[0], "reload")["hash"] = "aaaa";
  EXPECT_CHECK(judge_all(run), "checkpoint-reloads", Outcome::kFail,
               "reads back as aaaa, saved was 5f1e");
  event(run[0], "reload")["saved_hash"] = "aaaa";
  EXPECT_CHECK(judge_all(run), "checkpoint-reloads", Outcome::kFail, "the run ended with 5f1e");
  for (auto& rank : run) {
    std::erase_if(rank.events, [](const json& e) { return e["event"] == "reload"; });
  }
  EXPECT_CHECK(judge_all(run), "checkpoint-reloads", Outcome::kUnknown,
               "no checkpoint was read back");
}

TEST(Transport, AnotherOneThanAskedFails) {
  auto asked = ask_all();
  asked.transport = "nccl";
  EXPECT_CHECK(judge(asked, good_run(), exited()), "transport", Outcome::kFail,
               "rank 0 on node-a used mpi, nccl was asked for");
  asked.transport = "auto";
  EXPECT_CHECK(judge(asked, good_run(), exited()), "transport", Outcome::kPass,
               "mpi (Open MPI 4.1.4)");
  auto mixed = good_run();
  event(mixed[1], "start")["transport"] = "gloo";
  EXPECT_CHECK(judge(asked, mixed, exited()), "transport", Outcome::kFail,
               "gloo on ranks 1, mpi on ranks 0");
}

TEST(Throughput, IsComparedWithWhatWasAsked) {
  auto asked = ask_all();
  asked.tokens_per_second_min = 1e6;
  EXPECT_CHECK(judge(asked, good_run(), exited()), "throughput", Outcome::kFail,
               "at least 1,000,000 tokens/s asked");
  asked = ask_all();
  asked.mfu_min = 0.5;
  EXPECT_CHECK(judge(asked, good_run(), exited()), "throughput", Outcome::kFail,
               "at least 50.0 % asked");
}

TEST(Throughput, AskedWithoutAPeakIsUnknownReportedIsNot) {
  auto run = good_run();
  for (auto& rank : run) {
    std::erase_if(rank.events, [](const json& e) { return e["event"] == "peak"; });
    for (json& e : rank.events) {
      if (e.contains("mfu")) {
        e["mfu"] = nullptr;
      }
    }
  }
  EXPECT_CHECK(judge_all(run), "throughput", Outcome::kUnknown, "no peak was measured");
  auto asked = ask_all();
  asked.mfu_min = {};
  asked.tokens_per_second_min = {};
  EXPECT_CHECK(judge(asked, run, exited()), "throughput", Outcome::kPass, "no minimum asked");
}

TEST(Throughput, FiguresThatContradictEachOtherAreNoEvidence) {
  auto run = good_run();
  for (json& e : run[0].events) {
    if (e.contains("tokens_per_second")) {
      e["tokens_per_second"] = 9e9;
    }
  }
  EXPECT_CHECK(judge_all(run), "throughput", Outcome::kUnknown, "tokens in steps of");
  run = good_run();
  for (json& e : run[0].events) {
    if (e.contains("mfu")) {
      e["mfu"] = 1.7;
    }
  }
  EXPECT_CHECK(judge_all(run), "throughput", Outcome::kUnknown, "more than the peak");
}

/// Rank `who` computes `factor` times as long as it would.
std::vector<RankEvents> slow(int world, std::size_t who, double factor) {
  auto run = good_run({.world = world});
  for (std::size_t rank = 0; rank < run.size(); ++rank) {
    for (json& e : run[rank].events) {
      if (e["event"] == "step") {
        const double seconds =
            e["seconds"].get<double>() * factor;  // a step takes as long as the slowest rank
        e["wait_seconds"] = rank == who ? 0.0 : seconds - (e["seconds"].get<double>() - 0.05);
        e["seconds"] = seconds;
      }
    }
  }
  return run;
}

TEST(Stragglers, TheSlowRankIsNamedThoughAllStepsTakeEquallyLong) {
  for (const int world : {2, 3, 8}) {
    for (int who = 0; who < world; ++who) {
      const auto verdict =
          judge(ask_all(world), slow(world, static_cast<std::size_t>(who), 2.0), exited());
      EXPECT_CHECK(verdict, "stragglers", Outcome::kFail,
                   "rank " + std::to_string(who) + " on node-");
      EXPECT_EQ(check(verdict, "stragglers").evidence.find(';'), std::string::npos)
          << "only that one";
    }
    EXPECT_CHECK(judge(ask_all(world), slow(world, 1, 1.2), exited()), "stragglers", Outcome::kPass,
                 "slowest is rank 1");
  }
}

TEST(Stragglers, OneSlowStepIsNoStraggler) {
  auto run = good_run({.world = 4});
  event(run[3], "step", 20)["seconds"] = 60.0;
  EXPECT_CHECK(judge_all(run), "stragglers", Outcome::kPass, "slowest");
}

TEST(Stragglers, NeedTheWaitsOfAllRanks) {
  auto run = good_run();
  for (json& e : run[1].events) {
    e.erase("wait_seconds");
  }
  EXPECT_CHECK(judge_all(run), "stragglers", Outcome::kUnknown, "0 steps");
}

/// A first attempt that was killed after `killed` steps, then one that resumes from `from`.
RankEvents requeued(int rank, int killed, int from) {
  RankEvents out = good_run()[static_cast<std::size_t>(rank)];
  auto second = good_events({}, rank);
  std::erase_if(second, [&](const json& e) { return e["event"] == "step" && e["step"] <= from; });
  second.insert(second.begin() + 1,
                json{{"event", "resume"}, {"step", from}, {"path", "x"}, {"hash", "h"}});
  std::erase_if(out.events, [&](const json& e) {
    return e["event"] == "eval" || e["event"] == "checkpoint" || e["event"] == "reload" ||
           e["event"] == "end" || (e["event"] == "step" && e["step"] > killed);
  });
  out.events.insert(out.events.end(), second.begin(), second.end());
  return out;
}

TEST(Attempts, ARequeuedRunPassesAndSaysSo) {
  const Verdict verdict = judge_all({requeued(0, 25, 20), requeued(1, 24, 20)});
  EXPECT_EQ(verdict.outcome(), Outcome::kPass) << verdict.worst_first().front().evidence;
  EXPECT_CHECK(verdict, "completed", Outcome::kPass, "in 2 attempts, the last from step 20");
  EXPECT_CHECK(verdict, "loss-fell", Outcome::kPass, "over 40 steps");
}

TEST(Attempts, AnErrorOfAnEarlierAttemptIsPast) {
  auto first = requeued(0, 25, 20);
  first.events.insert(first.events.begin() + 28,
                      json{{"event", "error"}, {"kind", "comm"}, {"message", "node lost"}});
  EXPECT_EQ(judge_all({first, requeued(1, 25, 20)}).outcome(), Outcome::kPass);
}

TEST(Attempts, RanksThatContinueFromDifferentPlacesFail) {
  EXPECT_CHECK(judge_all({requeued(0, 25, 20), requeued(1, 25, 10)}), "completed", Outcome::kFail,
               "ranks 1 from step 10, ranks 0 from step 20");
}

TEST(Attempts, StepsThatDoNotContinueAreUnknown) {
  auto second = requeued(0, 25, 20);
  std::erase_if(second.events,
                [](const json& e) { return e["event"] == "step" && e["step"] == 21; });
  EXPECT_CHECK(judge_all({second, requeued(1, 25, 20)}), "completed", Outcome::kUnknown,
               "between 20 and 22");
}

TEST(Attempts, AResumedRunWithoutMoreToDoPasses) {
  auto run = good_run();
  for (int rank = 0; rank < 2; ++rank) {
    auto again = good_events({}, rank);
    std::erase_if(again,
                  [](const json& e) { return e["event"] == "step" || e["event"] == "checkpoint"; });
    again.insert(again.begin() + 1, json{{"event", "resume"}, {"step", 40}});
    auto& events = run[static_cast<std::size_t>(rank)].events;
    events.insert(events.end(), again.begin(), again.end());
  }
  EXPECT_CHECK(judge_all(run), "completed", Outcome::kPass, "2 attempts");
  EXPECT_CHECK(judge_all(run), "throughput", Outcome::kUnknown, "no step was timed");
}

TEST(Cancelled, IsUnknownWhateverIsMissing) {
  auto run = good_run();
  for (auto& rank : run) {
    rank.events.resize(12);
    rank.events.push_back({{"event", "error"}, {"kind", "comm"}, {"message", "connection reset"}});
  }
  for (const auto end : {LauncherResult::End::kCancelled, LauncherResult::End::kInterrupted}) {
    EXPECT_EQ(judge_all(run, {end, 143, "by scancel"}).outcome(), Outcome::kUnknown);
    EXPECT_EQ(judge(ask_all(2), {run[0]}, {end, 143, "by scancel"}).outcome(), Outcome::kUnknown);
    EXPECT_EQ(judge(ask_all(2), {}, {end, 143, "by scancel"}).outcome(), Outcome::kUnknown);
  }
  // What has gone wrong before that stays wrong.
  event(run[0], "step", 3)["loss"] = nullptr;
  EXPECT_EQ(judge_all(run, {LauncherResult::End::kCancelled, 143, ""}).outcome(), Outcome::kFail);
}

TEST(VerdictDocument, HoldsChecksWorstFirst) {
  auto run = good_run();
  event(run[1], "step", 5)["loss"] = nullptr;
  const auto document = verdict_document(judge_all(run));
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["outcome"], "fail");
  EXPECT_EQ(document["checks"][0]["name"], "finite");
  EXPECT_EQ(document["checks"][0]["outcome"], "fail");
}

}  // namespace
}  // namespace muster::runs
