// Training by each strategy in jobs of several processes: what each rank checks is in
// parallel_check.cpp.
#include <gtest/gtest.h>

#include "engine/support/jobs.h"

namespace muster {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string first;  ///< hash before training
  std::string hash;   ///< and after
  double loss = 0;
  std::string text;
};

Outcome train(int ranks, std::vector<std::string> args, Launcher launcher = Launcher::kMpirun) {
  args.insert(args.begin(), {PARALLEL_CHECK, "train"});
  const ProcessResult result =
      run_job(ranks == 1 ? Launcher::kNone : launcher, ranks, std::move(args));
  Outcome outcome;
  outcome.exit_code = result.exit_code;
  outcome.text = result.out + result.err;
  char first[64] = {};
  char hash[64] = {};
  if (std::sscanf(result.out.c_str(), "first %63s hash %63s loss %lf", first, hash,
                  &outcome.loss) == 3) {
    outcome.first = first;
    outcome.hash = hash;
  }
  return outcome;
}

/// Equal to the reference of one process, by itself; the hash of the start is the same whatever the
/// world and strategy.
Outcome expect_right(int ranks, std::vector<std::string> args,
                     Launcher launcher = Launcher::kMpirun) {
  static const std::string start = train(1, {"full_shard", "0", "fp32"}).first;
  const Outcome outcome = train(ranks, std::move(args), launcher);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(outcome.first, start);
  EXPECT_EQ(outcome.hash.size(), 32U);
  return outcome;
}

TEST(Strategies, EqualOneProcessInFloat32) {
  const Outcome single = expect_right(1, {"full_shard", "0", "fp32"});
  // Two and four processes give the loss curve of one, sharded or not.
  for (const int ranks : {2, 4}) {
    const std::string full = expect_right(ranks, {"full_shard", "0", "fp32"}).hash;
    EXPECT_EQ(expect_right(ranks, {"ddp", "0", "fp32"}).hash, full);
    EXPECT_EQ(expect_right(ranks, {"shard_grad_op", "0", "fp32", "prefetch0"}).hash, full);
    EXPECT_NEAR(expect_right(ranks, {"full_shard", "0", "fp32", "native"}).loss, single.loss, 1e-6);
  }
  expect_right(4, {"hybrid", "2", "fp32"});
}

TEST(Strategies, GiveTheSameBitsInBfloat16) {
  const std::string full = expect_right(2, {"full_shard", "0", "bf16"}).hash;
  EXPECT_EQ(expect_right(2, {"ddp", "0", "bf16"}).hash, full);
  EXPECT_EQ(expect_right(2, {"shard_grad_op", "0", "bf16"}).hash, full);
  EXPECT_EQ(expect_right(2, {"full_shard", "0", "bf16"}).hash, full) << "a second run";
  expect_right(4, {"hybrid", "2", "bf16", "accumulate"});
}

TEST(Strategies, GlooGivesTheBitsThatMpiGives) {
  EXPECT_EQ(expect_right(2, {"full_shard", "0", "fp32"}, Launcher::kEnvironment).hash,
            expect_right(2, {"full_shard", "0", "fp32"}).hash);
}

TEST(Steps, AccumulateAndClipAsABigBatchDoes) {
  for (const char* type : {"fp32", "bf16"}) {
    for (const char* strategy : {"ddp", "full_shard"})
      expect_right(2, {strategy, "0", type, "accumulate", "clip"});
    expect_right(1, {"ddp", "0", type, "accumulate", "clip"});
  }
}

TEST(Steps, RecomputedActivationsGiveTheSameBits) {
  for (const char* type : {"fp32", "bf16"}) {
    EXPECT_EQ(expect_right(2, {"full_shard", "0", type, "recompute"}).hash,
              expect_right(2, {"full_shard", "0", type}).hash);
    EXPECT_EQ(expect_right(1, {"ddp", "0", type, "recompute"}).hash,
              expect_right(1, {"ddp", "0", type}).hash);
  }
}

TEST(Steps, GradientsWrittenInPlaceAreTheSame) {
  for (const char* type : {"fp32", "bf16"}) {
    for (const char* strategy : {"ddp", "full_shard"}) {
      EXPECT_EQ(expect_right(2, {strategy, "0", type, "accumulate", "slots"}).hash,
                expect_right(2, {strategy, "0", type, "accumulate"}).hash);
    }
  }
}

TEST(Faults, ARankThatStopsInBackwardIsNamed) {
  for (const Launcher launcher : {Launcher::kMpirun, Launcher::kEnvironment}) {
    const ProcessResult result = run_job(launcher, 2, {PARALLEL_CHECK, "silent", "1"});
    EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
    EXPECT_NE(result.out.find("NAMED: "), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("NOT NAMED"), std::string::npos) << result.out;
  }
}

TEST(Faults, AShardGroupThatDoesNotDivideTheWorldIsRefused) {
  const ProcessResult result =
      run_job(Launcher::kNone, 1, {PARALLEL_CHECK, "train", "hybrid", "2", "fp32"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("a shard group of 2 ranks does not divide a world of 1"),
            std::string::npos)
      << result.err;
}

// The example, run in every way; one process runs without MPI or a rendezvous.
TEST(Example, ShardedMlpHasTheSameLossForAnyNumberOfRanks) {
  const auto loss = [](Launcher launcher, int ranks, const std::string& transport) {
    const ProcessResult result = run_job(launcher, ranks, {SHARDED_MLP});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    const auto end = result.out.find(transport + ", " + std::to_string(ranks) + " ranks: loss ");
    EXPECT_NE(end, std::string::npos) << result.out;
    return end == std::string::npos
               ? -1.0
               : std::stod(result.out.substr(result.out.find("loss ", end) + 5));
  };
  const double single = loss(Launcher::kNone, 1, "single");
  EXPECT_LT(single, 0.1);
  EXPECT_GT(single, 0);
  EXPECT_NEAR(loss(Launcher::kMpirun, 1, "mpi"), single, 1e-5);
  EXPECT_NEAR(loss(Launcher::kMpirun, 2, "mpi"), single, 1e-5);
  EXPECT_NEAR(loss(Launcher::kMpirun, 4, "mpi"), single, 1e-5);
  EXPECT_NEAR(loss(Launcher::kEnvironment, 2, "gloo"), single, 1e-5);
}

}  // namespace
}  // namespace muster
