// muster-bench over Gloo: between ranks that RANK and WORLD_SIZE tell of each other, and under MPI.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench_rows.h"
#include "engine/bench/operation.h"
#include "engine/support/jobs.h"

namespace muster {
namespace {

ProcessResult over_gloo(int ranks, std::vector<std::string> args,
                        Launcher launcher = Launcher::kEnvironment) {
  args.insert(args.begin(), MUSTER_BENCH);
  return run_job(launcher, ranks, std::move(args));
}

class GlooOperations : public testing::TestWithParam<measure::Operation> {};

TEST_P(GlooOperations, AreRightInEveryTypeOnTwoAndFourRanks) {
  const measure::Operation operation = GetParam();
  for (const int ranks : {2, 4}) {
    std::vector<std::string> args = {to_string(operation),
                                     "-b",
                                     "256",
                                     "-e",
                                     "16K",
                                     "-f",
                                     "64",
                                     "-d",
                                     "all",
                                     "-n",
                                     "1",
                                     "-w",
                                     "0"};
    const std::size_t expected = 2U * measure::all_data_types().size();
    if (is_rooted(operation)) args.insert(args.end(), {"-r", "1"});
    const ProcessResult result = over_gloo(ranks, args);
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_NE(result.out.find(" gloo: Gloo "), std::string::npos) << result.out;
    const auto table = rows(result.out);
    ASSERT_EQ(table.size(), expected) << result.out;
    for (const auto& row : table) {
      ASSERT_EQ(row.size(), 13U) << result.out;
      EXPECT_EQ(row[8], "0") << result.out;
      EXPECT_EQ(row[12], "0") << result.out;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, GlooOperations, testing::ValuesIn(measure::all_operations()),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(GlooJobs, EveryReductionIsRight) {
  for (const char* operation : {"all_reduce", "reduce", "reduce_scatter"}) {
    const ProcessResult result = over_gloo(
        3, {operation, "-b", "1K", "-e", "1K", "-d", "all", "-o", "all", "-n", "1", "-w", "0"});
    ASSERT_EQ(result.exit_code, 0) << operation << result.out << result.err;
    EXPECT_EQ(rows(result.out).size(), 12U * 6U) << result.out;
  }
}

TEST(GlooJobs, EachRootInTurn) {
  for (const char* operation : {"broadcast", "reduce", "gather", "scatter"}) {
    const ProcessResult result =
        over_gloo(3, {operation, "-b", "1M", "-e", "1M", "-n", "1", "-w", "0", "-r", "-1"});
    ASSERT_EQ(result.exit_code, 0) << operation << result.out << result.err;
    EXPECT_EQ(rows(result.out).size(), 3U) << result.out;
  }
}

TEST(GlooJobs, RanksOfMpirunMeetByMpi) {
  const ProcessResult result =
      over_gloo(3, {"reduce_scatter", "-b", "8", "-e", "1M", "-f", "32", "--fabric", "gloo"},
                Launcher::kMpirun);
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("met by mpi: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("# Out of bounds values : 0 OK"), std::string::npos) << result.out;
}

TEST(GlooJobs, OneRankAloneExchangesWithItself) {
  for (const measure::Operation operation : measure::all_operations()) {
    if (operation == measure::Operation::kAllToAllV) continue;  // has nothing to send to itself
    const ProcessResult result =
        over_gloo(1, {to_string(operation), "-b", "64", "-e", "64", "--fabric", "gloo"});
    EXPECT_EQ(result.exit_code, 0) << to_string(operation) << result.out << result.err;
  }
}

TEST(GlooJobs, TheJsonNamesTheFabric) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("muster-bench-gloo-" + std::to_string(::getpid()) + ".json");
  const ProcessResult result = over_gloo(2, {"all_gather", "-b", "64", "-e", "64", "-n", "1",
                                             "--fabric", "gloo", "-J", file.string()});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  std::ifstream stream(file);
  const auto json = nlohmann::json::parse(stream);
  std::filesystem::remove(file);
  EXPECT_EQ(json["fabric"].get<std::string>().rfind("gloo: ", 0), 0U) << json["fabric"];
  EXPECT_EQ(json["devices"].size(), 2U);
}

TEST(GlooJobs, WhatNeedsMpiDoesNotRunAsManyWorldsOfOne) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"all_reduce", "-b", "64", "-e", "64", "--fabric", "mpi"},
           {"put", "-b", "64", "-e", "64"},
           {"pairs", "-b", "64", "-e", "64"},
           {"ep", "--num-tokens", "8", "--hidden", "128"}}) {
    const ProcessResult result = over_gloo(2, args);
    EXPECT_EQ(result.exit_code, 2) << args[0] << result.out << result.err;
    EXPECT_NE(result.err.find("MPI needs its own launcher"), std::string::npos) << result.err;
  }
}

/// A rank that does something else.
ProcessResult with_rank(int ranks, int rank, const std::string& instead,
                        const std::string& arguments) {
  return run_job(Launcher::kEnvironment, ranks,
                 {"/bin/sh", "-c",
                  "if [ \"$RANK\" = " + std::to_string(rank) + " ]; then " + instead +
                      "; else exec " MUSTER_BENCH " " + arguments + "; fi"});
}

TEST(GlooJobs, ARankThatNeverJoinsIsNamedWithinTheLimit) {
  const ProcessResult one = with_rank(3, 2, "sleep 60", "all_reduce -b 64 -e 64 -T 3");
  EXPECT_EQ(one.exit_code, 124) << one.out << one.err;
  EXPECT_NE(one.err.find("these ranks have not joined: 2"), std::string::npos) << one.err;
  const ProcessResult zero = with_rank(2, 0, "sleep 60", "all_reduce -b 64 -e 64 -T 3");
  EXPECT_EQ(zero.exit_code, 124) << zero.out << zero.err;
  EXPECT_NE(zero.err.find("rank 0 was not reached at 127.0.0.1:"), std::string::npos) << zero.err;
}

TEST(GlooJobs, ARankThatStopsIsNamedWithinTheLimit) {
  const std::string arguments = "all_reduce -b 64 -e 64 -T 4 -N 0 --duration 60";
  const ProcessResult result = with_rank(
      3, 1, MUSTER_BENCH " " + arguments + " & sleep 2; kill -STOP $!; sleep 20; kill -KILL $!",
      arguments);
  EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
  EXPECT_NE(result.err.find("rank 1 (host "), std::string::npos) << result.err;
}

TEST(GlooJobs, ARankThatDiesIsNamed) {
  const std::string arguments = "all_reduce -b 64 -e 64 -T 60 -N 0 --duration 60";
  const ProcessResult result = with_rank(
      3, 1, MUSTER_BENCH " " + arguments + " & sleep 2; kill -KILL $!; sleep 30", arguments);
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_NE(result.err.find("rank 1 (host "), std::string::npos) << result.err;
}

}  // namespace
}  // namespace muster
