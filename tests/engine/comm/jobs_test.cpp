// Communicators in jobs of several processes: what each rank checks is in comm_check.cpp.
#include <gtest/gtest.h>

#include <tuple>

#include "engine/support/jobs.h"

namespace muster {
namespace {

ProcessResult check(Launcher launcher, int ranks, std::vector<std::string> args) {
  args.insert(args.begin(), COMM_CHECK);
  return run_job(launcher, ranks, std::move(args));
}

int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

const char* transport_of(Launcher launcher) {
  return launcher == Launcher::kMpirun        ? "mpi"
         : launcher == Launcher::kEnvironment ? "gloo"
                                              : "single";
}

using Place = std::tuple<Launcher, int>;

std::string name_of(const testing::TestParamInfo<Place>& info) {
  return std::string(transport_of(std::get<0>(info.param))) +
         std::to_string(std::get<1>(info.param));
}

class Collectives : public testing::TestWithParam<Place> {};

TEST_P(Collectives, EqualThePlainReference) {
  const auto [launcher, ranks] = GetParam();
  const ProcessResult result =
      check(launcher, ranks, {"collectives", transport_of(launcher), std::to_string(ranks)});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

INSTANTIATE_TEST_SUITE_P(Jobs, Collectives,
                         testing::Values(Place{Launcher::kNone, 1}, Place{Launcher::kMpirun, 1},
                                         Place{Launcher::kMpirun, 2}, Place{Launcher::kMpirun, 4},
                                         Place{Launcher::kEnvironment, 1},
                                         Place{Launcher::kEnvironment, 2},
                                         Place{Launcher::kEnvironment, 4}),
                         name_of);

class Jobs : public testing::TestWithParam<Launcher> {};

TEST_P(Jobs, TheTransportsOwnAllReduceSumsToo) {
  const ProcessResult result =
      check(GetParam(), 2, {"collectives", transport_of(GetParam()), "2", "native"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_P(Jobs, GroupsOfASplitWorkAtTheSameTime) {
  const ProcessResult result = check(GetParam(), 4, {"split"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_P(Jobs, AStoppedRankIsNamedWithinTheLimit) {
  for (const char* who : {"0", "1"}) {
    const ProcessResult result = check(GetParam(), 3, {"silent", who, "stop"});
    EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
    EXPECT_GE(count_of(result.out, "NAMED after"), 1) << result.out;
    EXPECT_EQ(count_of(result.out, "NOT NAMED"), 0) << result.out;
    EXPECT_NE(result.out.find(std::string("missing: rank ") + who + " (host "), std::string::npos)
        << result.out;
  }
}

TEST_P(Jobs, ASleepingRankIsNamedToo) {
  const ProcessResult result = check(GetParam(), 2, {"silent", "1", "sleep"});
  EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
  EXPECT_NE(result.out.find("missing: rank 1 (host "), std::string::npos) << result.out;
}

TEST_P(Jobs, RanksThatWaitForEachOtherBlameNobody) {
  const ProcessResult result = check(GetParam(), 3, {"mismatch"});
  EXPECT_EQ(result.exit_code, 124) << result.out << result.err;
  EXPECT_NE(result.out.find("no rank is missing"), std::string::npos) << result.out;
}

TEST_P(Jobs, ADeadRankEndsTheJob) {
  const ProcessResult result = check(GetParam(), 3, {"dead", "1"});
  EXPECT_NE(result.exit_code, 0) << result.out << result.err;
  EXPECT_FALSE(result.timed_out);
}

INSTANTIATE_TEST_SUITE_P(Launchers, Jobs,
                         testing::Values(Launcher::kMpirun, Launcher::kEnvironment),
                         [](const auto& info) { return std::string(transport_of(info.param)); });

TEST(Connect, SaysWhichVariableIsWrong) {
  Command command;
  command.argv = {COMM_CHECK, "split"};
  command.time_limit = std::chrono::seconds(30);
  command.unset = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
  command.env = {{"RANK", "2"}, {"WORLD_SIZE", "2"}};
  auto result = real_process_runner().run(command);
  ASSERT_TRUE(result);
  EXPECT_NE(result->exit_code, 0);
  EXPECT_NE(result->err.find("RANK=2 is not a number from 0 to 1"), std::string::npos)
      << result->err;
}

}  // namespace
}  // namespace muster
