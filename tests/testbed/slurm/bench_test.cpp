// The benchmarks on a real cluster of four nodes: judged end to end, started without MPI, and with
// a peer that does not join. One cluster serves all of it.
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "cluster.h"
#include "launch/muster_process.h"
#include "testing.h"

namespace muster::testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class SlurmBench : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const ProcessResult up = cluster({"up"}, std::chrono::seconds(120));
    ASSERT_EQ(up.exit_code, 0) << up.err;
    fs::create_directories(state() / "logs");
  }
  static void TearDownTestSuite() { remove_cluster(); }

  static std::string program(const char* name) {
    return (muster::testing::binary_dir() / "bin" / name).string();
  }

  /// `before` in a shell, then muster-bench with `arguments`, once on each of the four nodes.
  static ProcessResult on_nodes(const std::string& mpi, const std::string& before,
                                const std::string& arguments) {
    return cluster({"exec", "ctl", "timeout", "-s", "KILL", "60", "srun", "-N4",
                    "--ntasks-per-node=1", "--kill-on-bad-exit=1", "--mpi=" + mpi, "bash", "-c",
                    before + "exec " + program("muster-bench") + " " + arguments},
                   std::chrono::seconds(90));
  }

  /// What `muster bench judge` says of what a job printed.
  static json judged(const std::string& name, const ProcessResult& job, int wanted,
                     const std::vector<std::string>& more = {}) {
    const fs::path log = state() / "logs" / name;
    std::ofstream(log) << job.out;
    std::vector<std::string> words = {
        "exec",    "ctl", program("muster"), "bench", "judge", log.string(), "--expect-ranks", "4",
        "--nodes", "4",   "--no-speed",      "-o",    "json"};
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult judge = cluster(words);
    EXPECT_EQ(judge.exit_code, wanted) << judge.out << judge.err << job.out << job.err;
    return json::parse(judge.out, nullptr, false);
  }
};

std::string evidence(const json& judged, const std::string& name) {
  for (const json& check : judged["verdict"]["checks"])
    if (check["name"] == name) return check["evidence"];
  return "no check " + name;
}

TEST_F(SlurmBench, AllReduceOfFourNodesIsJudged) {
  const ProcessResult job = on_nodes("pmix", "", "all_reduce -b 8 -e 64K -f 16 -T 30");
  ASSERT_EQ(job.exit_code, 0) << job.err;
  EXPECT_EQ(evidence(judged("all-reduce.log", job, 0), "world-size"), "4 ranks on 4 nodes");
}

TEST_F(SlurmBench, DispatchAndCombineOfFourNodesAreJudged) {
  const ProcessResult job =
      on_nodes("pmix", "", "ep --num-tokens 64 --hidden 512 --num-experts 16 -T 30");
  ASSERT_EQ(job.exit_code, 0) << job.err;
  EXPECT_EQ(evidence(judged("ep.log", job, 0), "world-size"), "4 ranks on 4 nodes");
}

TEST_F(SlurmBench, GlooNeedsNoMpiToStartAndItsSocketsMustBeMeant) {
  const ProcessResult job =
      on_nodes("none",
               "export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS MASTER_PORT=29671 "
               "MASTER_ADDR=$(scontrol show hostnames | head -n 1); unset ${!PMI*} ${!OMPI_*}; ",
               "all_reduce -b 8 -e 64K -f 16 -T 30");
  ASSERT_EQ(job.exit_code, 0) << job.out << job.err;
  EXPECT_NE(evidence(judged("gloo.log", job, 3), "transport").find("gloo: Gloo "),
            std::string::npos);
  const json meant = judged("gloo.log", job, 0, {"--transport", "tcp"});
  EXPECT_EQ(evidence(meant, "world-size"), "4 ranks on 4 nodes");
}

TEST_F(SlurmBench, ARunThatWasStartedWithoutMpiFails) {
  const ProcessResult job = on_nodes("none", "unset ${!SLURM_*} ${!PMI*} ${!OMPI_*}; ",
                                     "all_reduce -b 8 -e 64K -f 16 -T 30");
  ASSERT_EQ(job.exit_code, 0) << job.err;  // each of the four worlds is content
  const std::string said = evidence(judged("separate.log", job, 3), "world-size");
  EXPECT_NE(said.find("4 separate runs of 1 rank each"), std::string::npos) << said;
}

TEST_F(SlurmBench, APeerThatNeverJoinsEndsTheJobAndIsNamed) {
  const ProcessResult job = on_nodes("pmix", "[ \"$SLURM_PROCID\" != 2 ] || exec sleep 300; ",
                                     "all_reduce -b 8 -e 64K -T 5");
  // By itself: the limit around it would leave no code of a task. srun's own is the largest, that
  // of a task which it ended after the first.
  EXPECT_NE(job.exit_code, 0);
  EXPECT_NE(job.err.find("task 0: Exited with exit code 124"), std::string::npos) << job.err;
  EXPECT_NE(job.err.find("these ranks have not joined: 2"), std::string::npos) << job.err;
}

TEST_F(SlurmBench, TheCaseRunsAndIsJudged) {
  const std::string script = "cd " + muster::testing::source_dir().string() +
                             " && PATH=" + (muster::testing::binary_dir() / "bin").string() +
                             ":$PATH muster " + "--runs-dir " + (state() / "runs").string() +
                             " run micro-benchmarks/nccl-tests --profile smoke --target slurm"
                             " --set topology.nodes=4 --set topology.accelerators_per_node=1"
                             " -o json";
  const ProcessResult run =
      cluster({"exec", "ctl", "bash", "-c", script}, std::chrono::seconds(120));
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const json result = json::parse(run.out, nullptr, false);
  EXPECT_EQ(result["verdict"]["outcome"], "pass");
  EXPECT_EQ(evidence(result, "world-size"), "4 ranks on 4 nodes");
}

}  // namespace
}  // namespace muster::testbed

int main(int argc, char** argv) {
  return muster::testbed::run_tests(argc, argv);
}
