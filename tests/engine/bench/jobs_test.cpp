// muster-bench as a job of several ranks.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench_rows.h"
#include "engine/bench/operation.h"
#include "engine/support/jobs.h"

namespace muster {
namespace {

ProcessResult bench(int ranks, std::vector<std::string> args) {
  args.insert(args.begin(), MUSTER_BENCH);
  return run_job(ranks > 1 ? Launcher::kMpirun : Launcher::kNone, ranks, std::move(args));
}

class Operations : public testing::TestWithParam<measure::Operation> {};

TEST_P(Operations, AreRightOnFourRanksInBothPlaces) {
  const ProcessResult result =
      bench(4, {to_string(GetParam()), "-b", "256", "-e", "16K", "-f", "8", "-n", "2", "-c", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto table = rows(result.out);
  ASSERT_EQ(table.size(), 3U) << result.out;
  for (const auto& row : table) {
    ASSERT_EQ(row.size(), 13U) << result.out;
    EXPECT_EQ(row[8], "0") << result.out;
    EXPECT_EQ(row[12], "0") << result.out;
  }
  EXPECT_NE(result.out.find("# Out of bounds values : 0 OK"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Each, Operations, testing::ValuesIn(measure::all_operations()),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(BenchJobs, OneSidedOperationsAreRight) {
  const std::vector<std::vector<std::string>> operations = {
      {"put"},
      {"put", "--bidir"},
      {"get"},
      {"pingpong"},
      {"alltoall", "--one-sided"},
      {"atomic", "--atomic", "inc"},
      {"atomic", "--atomic", "fetch_add", "--bidir"},
      {"atomic", "--atomic", "swap"},
      {"atomic", "--atomic", "compare_swap"}};
  for (std::vector<std::string> arguments : operations) {
    const std::string name =
        arguments.front() + (arguments.size() > 1 ? " " + arguments.back() : "");
    for (const char* word : {"-b", "8", "-e", "2K", "-f", "16", "-n", "5", "-c", "2"})
      arguments.emplace_back(word);
    const ProcessResult result = bench(4, arguments);
    EXPECT_EQ(result.exit_code, 0) << name << result.out << result.err;
    EXPECT_NE(result.out.find("# Wrong bytes or words : 0 OK"), std::string::npos)
        << name << result.out;
  }
}

TEST(BenchJobs, EveryPairOfRanksIsMeasuredAndChecked) {
  const ProcessResult result = bench(3, {"pairs", "-b", "4K", "-e", "8K", "-f", "2", "-n", "3"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto document = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << result.out;
  std::set<std::string> pairs;
  for (const auto& record : document["records"]) {
    pairs.insert(record["variant"]);
    EXPECT_EQ(record["wrong"], 0) << record;
    EXPECT_GT(record["time_us"], 0) << record;
  }
  EXPECT_EQ(document["records"].size(), 6U);
  EXPECT_EQ(pairs,
            (std::set<std::string>{"rank 0 <-> rank 1", "rank 0 <-> rank 2", "rank 1 <-> rank 2"}));
}

TEST(BenchJobs, PairsNeedAnEvenNumberOfRanks) {
  const ProcessResult result = bench(3, {"put", "-b", "8", "-e", "8"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("put works in pairs of ranks: an even number, not 3"),
            std::string::npos)
      << result.err;
}

TEST(BenchJobs, EveryTypeAndReductionIsRight) {
  const ProcessResult result =
      bench(3, {"all_reduce", "-b", "1K", "-e", "1K", "-d", "all", "-o", "all", "-n", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(rows(result.out).size(), 12U * 6U) << result.out;
}

TEST(BenchJobs, RootsInTurn) {
  const ProcessResult result =
      bench(3, {"broadcast", "-b", "64", "-e", "64", "-n", "1", "-r", "-1"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(rows(result.out).size(), 3U) << result.out;
}

TEST(BenchJobs, OneRankAloneNeedsNoLauncher) {
  const ProcessResult result = bench(1, {"all_gather", "-b", "64", "-e", "64"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("#  Rank  0"), std::string::npos);
}

TEST(BenchJobs, WhereNothingMovesNothingIsVerified) {
  const ProcessResult parts = bench(4, {"all_gather", "-b", "8", "-e", "8"});
  EXPECT_EQ(parts.exit_code, 4) << parts.out;
  EXPECT_EQ(rows(parts.out)[0][8], "N/A") << parts.out;
  EXPECT_NE(parts.out.find("# Out of bounds values : 0 unchecked"), std::string::npos) << parts.out;
  EXPECT_NE(parts.err.find("no element was there to be checked"), std::string::npos) << parts.err;
  EXPECT_EQ(bench(1, {"alltoallv", "-b", "64", "-e", "64"}).exit_code, 4);
  EXPECT_EQ(bench(2, {"all_gather", "-b", "8", "-e", "8", "-c", "0"}).exit_code, 0);
}

TEST(BenchJobs, SizesThatDoNotFitAreLeftOutAloud) {
  const ProcessResult none = bench(2, {"all_reduce", "-b", "900G", "-e", "900G"});
  EXPECT_EQ(none.exit_code, 4) << none.out;
  EXPECT_NE(none.err.find("do not fit into memory"), std::string::npos) << none.err;
  const ProcessResult some = bench(2, {"broadcast", "-b", "1K", "-e", "900G", "-f", "100000000"});
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_NE(some.out.find("# Reducing maxBytes to 1024"), std::string::npos) << some.out;
}

TEST(BenchJobs, AMessageThatMpiCantCountIsRefused) {
  const ProcessResult result = bench(2, {"all_reduce", "-b", "2200M", "-e", "2200M", "-d", "int8"});
  EXPECT_TRUE(result.exit_code == 2 || result.exit_code == 4) << result.err;
  EXPECT_NE(
      result.err.find(result.exit_code == 2 ? "more than an MPI call can count" : "do not fit"),
      std::string::npos)
      << result.err;
}

TEST(BenchJobs, HypercubeNeedsAPowerOfTwo) {
  const ProcessResult result = bench(3, {"hypercube", "-b", "64", "-e", "64"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("hypercube needs a power of two of ranks, not 3"), std::string::npos)
      << result.err;
}

TEST(BenchJobs, AFabricThatIsNotThereIsRefused) {
  const ProcessResult result = bench(1, {"all_reduce", "-b", "64", "-e", "64", "--fabric", "nccl"});
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_NE(result.err.find("--fabric nccl: "), std::string::npos) << result.err;
  EXPECT_EQ(bench(1, {"all_reduce", "-b", "64", "-e", "64", "--fabric", "tin"}).exit_code, 2);
}

TEST(BenchJobs, JsonIsWritten) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("muster-bench-" + std::to_string(::getpid()) + ".json");
  const ProcessResult result =
      bench(2, {"all_reduce", "-b", "64", "-e", "256", "-f", "2", "-n", "1", "-J", file.string()});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  std::ifstream stream(file);
  const auto json = nlohmann::json::parse(stream);
  std::filesystem::remove(file);
  EXPECT_EQ(json["devices"].size(), 2U);
  EXPECT_EQ(json["results"].size(), 3U);
}

TEST(BenchJobs, CyclesEndWithTheDuration) {
  const ProcessResult result =
      bench(2, {"all_reduce", "-b", "64", "-e", "64", "-N", "0", "--duration", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_GE(rows(result.out).size(), 1U);
}

/// A rank that does something else: the shell asks the launcher which one it is.
ProcessResult with_rank(int ranks, int rank, const std::string& instead,
                        const std::string& arguments) {
  return run_job(Launcher::kMpirun, ranks,
                 {"sh", "-c",
                  "if [ \"$OMPI_COMM_WORLD_RANK\" = " + std::to_string(rank) + " ]; then " +
                      instead + "; else exec " MUSTER_BENCH " " + arguments + "; fi"});
}

TEST(BenchJobs, ARankThatNeverJoinsIsNamedWithinTheLimit) {
  for (const int rank : {1, 2}) {
    const ProcessResult result = with_rank(3, rank, "sleep 60", "all_reduce -b 64 -e 64 -T 3");
    EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
    EXPECT_NE(result.err.find("these ranks have not joined: " + std::to_string(rank)),
              std::string::npos)
        << result.err;
  }
}

TEST(BenchJobs, ARankThatStopsIsNamedWithinTheLimit) {
  for (const int rank : {0, 1}) {
    const ProcessResult result =
        with_rank(2, rank,
                  MUSTER_BENCH
                  " all_reduce -b 64 -e 64 -T 4 -N 0 --duration 60 & sleep 2; kill -STOP $!; wait",
                  "all_reduce -b 64 -e 64 -T 4 -N 0 --duration 60");
    EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
    EXPECT_NE(result.err.find("rank " + std::to_string(rank) + " (host "), std::string::npos)
        << result.err;
  }
}

// Expert parallelism.

const std::vector<std::string> kSmall = {"--num-tokens", "37", "--hidden", "256", "--num-experts",
                                         "24",           "-n", "2",        "-c",  "2"};

ProcessResult experts(int ranks, std::vector<std::string> args) {
  args.insert(args.begin(), "ep");
  args.insert(args.end(), kSmall.begin(), kSmall.end());
  return bench(ranks, std::move(args));
}

TEST(BenchJobs, ExpertsGetAndReturnWhatASingleRankWouldCompute) {
  const std::vector<std::vector<std::string>> forms = {
      {"--per-rank"},
      {"--ranks-per-node", "2", "-d", "fp8"},
      {"--ranks-per-node", "1", "--num-topk-groups", "2"},
      {"--path", "alltoallv", "-d", "fp8"},
      {"--low-latency", "-d", "fp8", "--masked", "10"},
      {"--low-latency", "--ranks-per-node", "2", "--against-alltoallv"},
      {"--routing", "zipf:1.2", "--masked", "17", "--ranks-per-node", "2", "--against-alltoallv"},
      {"--routing", "hot:3:0.8", "--num-topk", "12"}};
  for (const auto& form : forms) {
    const ProcessResult result = experts(4, form);
    EXPECT_EQ(result.exit_code, 0) << form[0] << result.out << result.err;
    EXPECT_NE(result.out.find("# Out of bounds values : 0 OK"), std::string::npos) << result.out;
    for (const char* operation : {"dispatch", "combine"}) {
      const auto table = rows(result.out);
      EXPECT_TRUE(std::any_of(table.begin(), table.end(), [&](const auto& row) {
        return row[0] == operation && row.back() == "0";
      })) << result.out;
    }
  }
}

TEST(BenchJobs, AnExpertRunWithoutAnythingToMoveVerifiesNothing) {
  const ProcessResult result = experts(2, {"--masked", "296"});
  EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
  EXPECT_NE(result.err.find("no token went anywhere"), std::string::npos) << result.err;
}

TEST(BenchJobs, UnlikeNodesCantBeHierarchical) {
  const ProcessResult result = experts(3, {"--ranks-per-node", "2"});
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_NE(result.err.find("needs as many ranks on every node"), std::string::npos) << result.err;
  EXPECT_EQ(experts(3, {"--ranks-per-node", "2", "--path", "alltoallv"}).exit_code, 0);
}

TEST(BenchJobs, AByteDamagedOnAnyRankIsFound) {
  const std::pair<const char*, int> places[] = {{"--path alltoallv", 0},
                                                {"--path alltoallv", 1},
                                                {"--path alltoallv", 2},
                                                {"--path hierarchical", 1},
                                                {"--path hierarchical --ranks-per-node 1", 2}};
  for (const auto& [path, rank] : places) {
    std::string arguments = std::string("ep ") + path;
    for (const std::string& word : kSmall) arguments += " " + word;
    const ProcessResult result = with_rank(
        3, rank, "LD_PRELOAD=" MUSTER_BENCH_FAULT " exec " MUSTER_BENCH " " + arguments, arguments);
    EXPECT_EQ(result.exit_code, 3) << path << rank << result.out << result.err;
    const auto table = rows(result.out);
    ASSERT_GE(table.size(), 2U) << result.out;
    EXPECT_NE(table.front().back(), "0") << path << rank << result.out;  // dispatch
    EXPECT_NE(table.back().back(), "0") << path << rank << result.out;   // combine
  }
}

/// A rank of the low-latency form across nodes whose puts go wrong.
ProcessResult with_faulty_puts(int rank, const std::string& fault, const std::string& more) {
  std::string arguments = "ep --low-latency --ranks-per-node 1" + more;
  for (const std::string& word : kSmall) arguments += " " + word;
  return with_rank(3, rank,
                   "FAULT_OF_PUT=" + fault +
                       " LD_PRELOAD=" MUSTER_BENCH_FAULT " exec " MUSTER_BENCH " " + arguments,
                   arguments);
}

TEST(BenchJobs, ADamagedLowLatencyRowIsFoundOnWhicheverRankItArrives) {
  for (const int target : {0, 1, 2}) {
    const ProcessResult result =
        with_faulty_puts((target + 1) % 3, std::to_string(target), " dispatch");
    EXPECT_EQ(result.exit_code, 3) << target << result.out << result.err;
    const auto table = rows(result.out);
    ASSERT_GE(table.size(), 1U) << result.out;
    EXPECT_EQ(table.front()[0], "dispatch") << result.out;
    EXPECT_NE(table.front().back(), "0") << target << result.out;
  }
}

TEST(BenchJobs, ARankThatStopsInALowLatencyDispatchIsNamedWithinTheLimit) {
  for (const int rank : {0, 2}) {
    const ProcessResult result = with_faulty_puts(rank, "stop", " -T 4");
    EXPECT_EQ(result.exit_code, 124) << rank << result.out << result.err;
    EXPECT_NE(result.err.find("rank " + std::to_string(rank) + " (host "), std::string::npos)
        << rank << result.err;
  }
}

TEST(BenchJobs, ARankThatIsKilledInALowLatencyDispatchEndsTheJobAndIsNamed) {
  const ProcessResult result = with_faulty_puts(1, "kill", " -T 60");
  EXPECT_NE(result.exit_code, 0) << result.out;
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE((result.out + result.err).find("process rank 1 "), std::string::npos)
      << result.out << result.err;
}

TEST(BenchJobs, ARankOfTheSameNodeThatStopsInLowLatencyIsNamed) {
  const std::string arguments =
      "ep --low-latency --num-tokens 64 --hidden 1024 -n 1048576 -c 0 -T 4";
  const ProcessResult result =
      with_rank(2, 1, MUSTER_BENCH " " + arguments + " & sleep 2; kill -STOP $!; wait", arguments);
  EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
  EXPECT_NE(result.err.find("rank 1 (host "), std::string::npos) << result.err;
}

TEST(BenchJobs, AnExpertRankThatNeverJoinsIsNamed) {
  const ProcessResult result = with_rank(2, 1, "sleep 60", "ep --num-tokens 8 --hidden 128 -T 3");
  EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
  EXPECT_NE(result.err.find("these ranks have not joined: 1"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace muster
