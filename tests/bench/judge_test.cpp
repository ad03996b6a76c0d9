// The judge: correctness, then identity, then speed.
#include "bench/judge.h"

#include <gtest/gtest.h>

#include "base/output.h"
#include "bench/baseline.h"
#include "bench/export.h"
#include "facts/facts.h"
#include "fixture.h"

namespace muster::bench {
namespace {

class JudgeTest : public ::testing::Test {
 protected:
  Verdict judge(const std::vector<Log>& logs, const JudgeOptions& options = {},
                const std::string& instance = {}, const Baseline* baseline = nullptr) {
    JudgeReferences references;
    if (!instance.empty()) {
      instance_ = facts::find_instance(instances_, instance).value();
      references.instance = &instance_;
      references.floors = &floors_;
    }
    references.baseline = baseline;
    return judge_logs(logs, options, references);
  }

  static Check check(const Verdict& verdict, const std::string& name) {
    for (const Check& one : verdict.checks()) {
      if (one.name == name) return one;
    }
    return {name, Outcome::kUnknown, "left out"};
  }

  static JudgeOptions without_speed() {
    JudgeOptions options;
    options.speed = false;
    return options;
  }

  static bool says(const Check& check, const std::string& text) {
    return check.evidence.find(text) != std::string::npos;
  }

  std::vector<facts::Instance> instances_ =
      facts::load_instances(real_file_system(), testing::source_dir()).value();
  std::vector<facts::PerformanceFloor> floors_ =
      facts::load_performance(real_file_system(), testing::source_dir()).value();
  facts::Instance instance_;
};

/// A table of one size that ends well.
Log table(const std::string& row, const std::string& before = {}) {
  return read_log(before +
                      "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 "
                      "iters: 20 agg iters: 1 validation: 1 graph: 0\n" +
                      row + "\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1 \n",
                  "t.log")
      .value();
}

TEST_F(JudgeTest, GoodLogPassesAgainstPublishedFloors) {
  JudgeOptions options;
  options.expect_ranks = 16;
  options.nodes = 2;
  const Verdict verdict = judge({log_of("nccl-2.18-p5-mpirun-tag.log")}, options, "p5.48xlarge");
  EXPECT_EQ(verdict.outcome(), Outcome::kPass) << verdict.worst_first().front().evidence;
  EXPECT_TRUE(says(check(verdict, "transport"), "efa"));
  EXPECT_TRUE(says(check(verdict, "speed"), "2.18"));
}

TEST_F(JudgeTest, CorrectWithoutReferenceIsUnknownAndPassesWithoutSpeed) {
  const Verdict verdict = judge({log_of("nccl-2.18-p5-mpirun-tag.log")});
  EXPECT_EQ(verdict.outcome(), Outcome::kUnknown);
  EXPECT_TRUE(says(check(verdict, "speed"), "correct, speed not judged"));
  EXPECT_EQ(judge({log_of("nccl-2.18-p5-mpirun-tag.log")}, without_speed()).outcome(),
            Outcome::kPass);
}

TEST_F(JudgeTest, WrongDataOutrankEverything) {
  const Verdict verdict = judge({log_of("nccl-wrong.log")}, {}, "p5.48xlarge");
  EXPECT_EQ(verdict.outcome(), Outcome::kFail);
  EXPECT_EQ(verdict.worst_first().front().name, "correctness");
  EXPECT_TRUE(says(verdict.worst_first().front(), "248"));
  EXPECT_TRUE(says(verdict.worst_first().front(), "nccl-wrong.log:7"));
  EXPECT_EQ(check(verdict, "speed").outcome, Outcome::kUnknown);
}

TEST_F(JudgeTest, NotCheckedIsUnknown) {
  const Log log = table(
      "  1073741824     268435456     float     sum      -1   4253.0  252.47  441.81    N/A   "
      "4253.0  252.47  441.81    N/A");
  EXPECT_EQ(judge({log}, without_speed()).outcome(), Outcome::kUnknown);
  JudgeOptions options = without_speed();
  options.allow_unchecked = true;
  EXPECT_EQ(judge({log}, options).outcome(), Outcome::kPass);
  // alltoall can't check in place; the other half was checked.
  EXPECT_EQ(check(judge({log_of("nccl-alltoall.log")}), "correctness").outcome, Outcome::kPass);
}

TEST_F(JudgeTest, ManySingleRankRunsAreNotOneRun) {
  for (const bool asked : {true, false}) {
    JudgeOptions options = without_speed();
    if (asked) options.expect_ranks = 2;
    const Verdict verdict = judge({log_of("nccl-separate.log")}, options);
    EXPECT_EQ(verdict.outcome(), Outcome::kFail);
    EXPECT_TRUE(says(check(verdict, "world-size"), "world size 1"));
    EXPECT_EQ(says(check(verdict, "world-size"), "expected 2"), asked);
  }
}

TEST_F(JudgeTest, WorldSizeMustBeAsAsked) {
  JudgeOptions options = without_speed();
  options.expect_ranks = 32;
  EXPECT_EQ(judge({log_of("nccl-2.18-p5-mpirun-tag.log")}, options).outcome(), Outcome::kFail);
  options = without_speed();
  options.nodes = 4;
  EXPECT_EQ(judge({log_of("nccl-2.18-p5-mpirun-tag.log")}, options).outcome(), Outcome::kFail);
  // A tool that does not say how many took part: not verified.
  options = without_speed();
  options.allow_unchecked = true;
  options.expect_ranks = 4;
  EXPECT_EQ(check(judge({log_of("osu-7.4-allreduce.log")}, options), "world-size").outcome,
            Outcome::kUnknown);
  // One PE alone.
  EXPECT_EQ(check(judge({log_of("nvshmem-single-pe.log")}, options), "world-size").outcome,
            Outcome::kFail);
}

TEST_F(JudgeTest, SilentFallBackFailsWithItsLine) {
  const Verdict verdict = judge({log_of("nccl-socket-fallback.log")}, {}, "p4d.24xlarge");
  const Check transport = check(verdict, "transport");
  EXPECT_EQ(transport.outcome, Outcome::kFail);
  EXPECT_TRUE(says(transport, "transport-fallback"));
  EXPECT_TRUE(says(transport, "nccl-socket-fallback.log:11"));
  EXPECT_TRUE(says(transport, "Using network Socket"));
  EXPECT_TRUE(says(transport, "aws-ofi-nccl initialization failed"));
  JudgeOptions options = without_speed();
  options.transport = "socket";
  EXPECT_EQ(check(judge({log_of("nccl-socket-fallback.log")}, options), "transport").outcome,
            Outcome::kPass);
}

TEST_F(JudgeTest, AskedTransportWithoutEvidenceIsUnknown) {
  JudgeOptions options = without_speed();
  options.transport = "efa";
  EXPECT_EQ(check(judge({log_of("nccl-2.17-gh200-srun.log")}, options), "transport").outcome,
            Outcome::kUnknown);
  options.transport = "ib";
  EXPECT_EQ(check(judge({log_of("nccl-2.18-p5-mpirun-tag.log")}, options), "transport").outcome,
            Outcome::kFail);
}

TEST_F(JudgeTest, AsManyNetworkDevicesAsTheProfileHas) {
  const Verdict verdict = judge({log_of("nccl-2.18-p5-mpirun-tag.log")}, {}, "p5en.48xlarge");
  EXPECT_EQ(check(verdict, "transport").outcome, Outcome::kFail);
  EXPECT_TRUE(says(check(verdict, "transport"), "16"));
}

TEST_F(JudgeTest, FirstSizeThatFallsShortIsNamed) {
  // Half of what two nodes of p5 reach, from 256 MiB on.
  const Log log = table(
      "   134217728      33554432     float     sum      -1    870.2  154.24  289.20      0    "
      "870.2  154.24  289.20      0\n"
      "   268435456      67108864     float     sum      -1   2936.4   91.42  171.41      0   "
      "2936.4   91.42  171.41      0\n"
      "  1073741824     268435456     float     sum      -1   9213.9  116.53  218.50      0   "
      "9213.9  116.53  218.50      0");
  JudgeOptions options;
  options.nodes = 2;
  Log known = log;
  known.nccl = "2.27.7";
  const Verdict verdict = judge({known}, options, "p5.48xlarge");
  const Check speed = check(verdict, "speed");
  EXPECT_EQ(speed.outcome, Outcome::kFail);
  EXPECT_TRUE(says(speed, "256 MiB")) << speed.evidence;
  EXPECT_TRUE(says(speed, "308.5"));  // 342.8 less 10 %
  EXPECT_FALSE(says(speed, "1 GiB"));
}

TEST_F(JudgeTest, UnlikeConfigurationsAreNotCompared) {
  // Published for 2 nodes: says nothing of 4, nor of another operation or type.
  const Log log = log_of("nccl-2.18-p5-mpirun-tag.log");
  Log other = log;
  other.runs[0].operation = "broadcast";
  for (Record& record : other.runs[0].records) {
    record.operation = "broadcast";
    record.size = 1 << 20;
  }
  const Check speed = check(judge({other}, {}, "p5.48xlarge"), "speed");
  EXPECT_EQ(speed.outcome, Outcome::kUnknown) << speed.evidence;
}

TEST_F(JudgeTest, CeilingWhereNoFloorIsKnown) {
  const auto large = [](const std::string& rates) {
    return table("  4294967296    1073741824  bfloat16     sum      -1   20000.0 " + rates +
                 "      0   20000.0 " + rates + "      0");
  };
  JudgeOptions options;
  options.nodes = 2;
  // 16 ranks: busbw = 1.875 algbw. p5: 400 GB/s a node, 70 % of that are asked.
  EXPECT_EQ(check(judge({large("214.75 402.66")}, options, "p5.48xlarge"), "speed").outcome,
            Outcome::kPass);
  const Check slow = check(judge({large("107.37 201.32")}, options, "p5.48xlarge"), "speed");
  EXPECT_EQ(slow.outcome, Outcome::kFail);
  EXPECT_TRUE(says(slow, "3200 Gb/s a node / 8"));
  const Check absurd = check(judge({large("4294.9 8053.0")}, options, "p5.48xlarge"), "speed");
  EXPECT_EQ(absurd.outcome, Outcome::kUnknown);
  EXPECT_TRUE(says(absurd, "too fast to be true"));
}

TEST_F(JudgeTest, SmallMessagesAreNotJudgedByBandwidth) {
  const Log log = table(
      "           8             2     float     sum      -1    12.90    0.00    0.00      0    "
      "12.87    0.00    0.00      0");
  const Check speed = check(judge({log}, {}, "p5.48xlarge"), "speed");
  EXPECT_EQ(speed.outcome, Outcome::kUnknown);
  EXPECT_TRUE(says(speed, "small ones say nothing"));
}

TEST_F(JudgeTest, BaselineOfEarlierRuns) {
  const Log good = log_of("nccl-2.17-gh200-srun.log");
  Baseline baseline;
  for (int i = 0; i < 5; ++i) {
    Log day = good;
    for (Record& record : day.runs[0].records) *record.busbw *= 1 + 0.002 * (i - 2);
    add_to_baseline(day, baseline);
  }
  // Through its file, as the command does it.
  const Baseline stored = parse_baseline(baseline_text(baseline), "base.yaml").value();
  EXPECT_EQ(judge({good}, {}, {}, &stored).outcome(), Outcome::kPass);
  Log slow = good;
  for (Record& record : slow.runs[0].records) {
    if (*record.size >= 64 << 20) *record.busbw *= 0.9;
  }
  const Check speed = check(judge({slow}, {}, {}, &stored), "speed");
  EXPECT_EQ(speed.outcome, Outcome::kFail);
  EXPECT_TRUE(says(speed, "64 MiB")) << speed.evidence;
  Baseline thin;
  add_to_baseline(good, thin);
  EXPECT_EQ(judge({good}, {}, {}, &thin).outcome(), Outcome::kUnknown);
  // Another setting is another series.
  Log tuned = good;
  tuned.runs[0].settings["NCCL_ALGO"] = "Tree";
  EXPECT_EQ(check(judge({tuned}, {}, {}, &stored), "speed").outcome, Outcome::kUnknown);
}

TEST_F(JudgeTest, BaselineThatSaysNothingIsNoPass) {
  const Log good = log_of("nccl-2.17-gh200-srun.log");
  Baseline noisy, nought, other;
  for (const double factor : {0.3, 0.5, 1.0, 1.6, 2.0}) {
    Log day = good;
    for (Record& record : day.runs[0].records) *record.busbw *= factor;
    add_to_baseline(day, noisy);
    for (Record& record : day.runs[0].records) record.busbw = 0;
    add_to_baseline(day, nought);
    day.runs[0].settings["NCCL_ALGO"] = "Tree";
    add_to_baseline(day, other);
  }
  const Check wide = check(judge({good}, {}, {}, &noisy), "speed");
  EXPECT_EQ(wide.outcome, Outcome::kUnknown) << wide.evidence;
  EXPECT_TRUE(says(wide, "which no rate can be held to")) << wide.evidence;
  EXPECT_EQ(check(judge({good}, {}, {}, &nought), "speed").outcome, Outcome::kUnknown);
  // A floor that is met does not stand in for the baseline that was asked for.
  const Log p5 = log_of("nccl-2.18-p5-mpirun-tag.log");
  EXPECT_EQ(check(judge({p5}, {}, "p5.48xlarge"), "speed").outcome, Outcome::kPass);
  other.file = "other.yaml";
  const Check both = check(judge({p5}, {}, "p5.48xlarge", &other), "speed");
  EXPECT_EQ(both.outcome, Outcome::kUnknown);
  EXPECT_TRUE(says(both, "baseline other.yaml says nothing of it")) << both.evidence;
  // Nor does one log's for another's.
  const Check two = check(judge({p5, log_of("osu-7.4-allreduce.log")}, {}, "p5.48xlarge"), "speed");
  EXPECT_EQ(two.outcome, Outcome::kUnknown);
  EXPECT_TRUE(says(two, "osu-7.4-allreduce.log")) << two.evidence;
}

TEST_F(JudgeTest, TransportIsWhatWasChosen) {
  const std::string row =
      "  1073741824  268435456  float  sum  -1  4253.0  252.47  441.81  0  4253.0  252.47  441.81  "
      "0";
  const auto transport = [&](const std::string& before, const std::string& asked) {
    Log log = table(row, before);
    log.runs[0].nodes = 2;
    JudgeOptions options = without_speed();
    options.transport = asked;
    return check(judge({log}, options), "transport");
  };
  const std::string looked = "n1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n";
  const std::string efa = "n1:1:1 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)\n";
  EXPECT_EQ(transport(looked + efa, "efa").outcome, Outcome::kPass);
  EXPECT_EQ(transport(looked + efa, "ib").outcome, Outcome::kFail);
  EXPECT_EQ(transport(looked, "ib").outcome, Outcome::kPass);
  EXPECT_EQ(transport(efa, "socket").outcome, Outcome::kFail);
  EXPECT_EQ(transport("", "socket").outcome, Outcome::kUnknown);
  // Something did not load, and nothing says what took its place.
  EXPECT_EQ(
      transport("n1:1:1 [0] NCCL INFO NET/OFI aws-ofi-nccl initialization failed\n", "").outcome,
      Outcome::kUnknown);
}

TEST_F(JudgeTest, RunWithoutARowIsNoPass) {
  const std::string osu = log_text("osu-7.4-allreduce.log");
  JudgeOptions options = without_speed();
  options.allow_unchecked = true;
  ASSERT_EQ(check(judge({read_log(osu, "x").value()}, options), "results").outcome, Outcome::kPass);
  const Check bare = check(
      judge({read_log(osu + "\n# OSU MPI Allgather Latency Test v7.4\n", "x").value()}, options),
      "results");
  EXPECT_EQ(bare.outcome, Outcome::kUnknown);
  EXPECT_TRUE(says(bare, "none of what began at x:")) << bare.evidence;
}

TEST_F(JudgeTest, SlowPairOfAMatrixIsNamed) {
  const Verdict verdict = judge({log_of("nvbandwidth-0.10.log")}, without_speed());
  const Check pairs = check(verdict, "pairs");
  EXPECT_EQ(pairs.outcome, Outcome::kFail);
  EXPECT_TRUE(says(pairs, "GPU 1 and GPU 3")) << pairs.evidence;
  EXPECT_EQ(check(judge({log_of("nvbandwidth.json")}), "pairs").evidence, "left out");
}

TEST_F(JudgeTest, SlowRankOfAnExpertParallelRunIsNamed) {
  const auto log = [](const char* third) {
    std::string text;
    for (int rank = 0; rank < 4; ++rank) {
      text += "[rank " + std::to_string(rank) +
              "] Dispatch bandwidth: " + (rank == 2 ? third : "24.02") +
              " GB/s, avg_t=312.71 us | Combine bandwidth: 24.83 GB/s, avg_t=585.38 us\n";
    }
    return read_log(text, "ll.log").value();
  };
  const Check slow = check(judge({log("12.00")}), "pairs");
  EXPECT_EQ(slow.outcome, Outcome::kFail);
  EXPECT_TRUE(says(slow, "dispatch of rank 2: 12 GB/s")) << slow.evidence;
  EXPECT_EQ(check(judge({log("24.00")}), "pairs").outcome, Outcome::kPass);
}

TEST_F(JudgeTest, CorruptBufferFailsAndIsNamed) {
  const Verdict verdict = judge({log_of("nvbandwidth-corrupt.log")}, without_speed());
  EXPECT_EQ(verdict.worst_first().front().outcome, Outcome::kFail);
  EXPECT_TRUE(says(check(verdict, "correctness"), "0x70a640000000"));
}

TEST_F(JudgeTest, LowRateIsExpectedOfSomeTopologies) {
  const Verdict verdict = judge({log_of("nccl-4090.log")});
  const Check speed = check(verdict, "speed");
  EXPECT_EQ(speed.outcome, Outcome::kPass) << speed.evidence;
  EXPECT_TRUE(says(speed, "expected for this topology"));
  EXPECT_TRUE(says(speed, "at most 5 GB/s"));
}

TEST_F(JudgeTest, CutAndBrokenRunsDoNotPass) {
  JudgeOptions options = without_speed();
  const Verdict cut = judge({log_of("nccl-interleaved.log")}, options);
  EXPECT_EQ(check(cut, "completed").outcome, Outcome::kUnknown);
  EXPECT_EQ(check(cut, "results").outcome, Outcome::kUnknown);
  Log broken = table(
      "  1073741824     268435456     float     sum      -1   4253.0  252.47  441.81      0   "
      "4253.0  252.47  441.81      0");
  broken.runs[0].broken.push_back({9, "srun: error: n2: task 1: Segmentation fault"});
  EXPECT_EQ(check(judge({broken}, options), "completed").outcome, Outcome::kFail);
}

TEST_F(JudgeTest, RecordsReadBackAreJudgedAsTheirLog) {
  JudgeOptions options = without_speed();
  options.allow_unchecked = true;
  for (const char* name :
       {"nccl-interleaved.log", "nccl-separate.log", "nccl-wrong.log", "nccl-socket-fallback.log",
        "nvbandwidth-corrupt.log", "nvbandwidth-0.10.log", "nccl-2.18-p5-mpirun-tag.log",
        "nvshmem-single-pe.log", "osu-7.4-allreduce.log"}) {
    const Log log = log_of(name);
    const Log again = read_log(json_text(to_json(log)), "x.json").value();
    const Verdict first = judge({log}, options), second = judge({again}, options);
    ASSERT_EQ(first.checks().size(), second.checks().size()) << name;
    for (std::size_t i = 0; i < first.checks().size(); ++i) {
      EXPECT_EQ(first.checks()[i].name, second.checks()[i].name) << name;
      EXPECT_EQ(first.checks()[i].outcome, second.checks()[i].outcome)
          << name << ": " << second.checks()[i].evidence;
    }
  }
}

TEST_F(JudgeTest, NothingIsNeverAPass) {
  EXPECT_EQ(judge({read_log("hello\n", "x").value()}).outcome(), Outcome::kUnknown);
  EXPECT_EQ(judge({read_log("hello\n", "x").value()}, without_speed()).outcome(),
            Outcome::kUnknown);
}

}  // namespace
}  // namespace muster::bench
