#include "launch/launcher_errors.h"

#include <gtest/gtest.h>

namespace muster::launch {
namespace {

// Recorded from Open MPI 4.1.4.
TEST(ExplainLauncher, MpirunRankKilled) {
  EXPECT_EQ(
      explain_launcher(
          "--------------------------------------------------------------------------\n"
          "Primary job  terminated normally, but 1 process returned\n"
          "a non-zero exit code. Per user-direction, the job has been aborted.\n"
          "--------------------------------------------------------------------------\n"
          "--------------------------------------------------------------------------\n"
          "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n"
          "--------------------------------------------------------------------------\n"),
      "rank 1 on vm was ended by signal 9 (Killed)");
}

// Recorded from Open MPI 4.1.4.
TEST(ExplainLauncher, MpirunRankFailed) {
  EXPECT_EQ(
      explain_launcher(
          "--------------------------------------------------------------------------\n"
          "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
          "the job to be terminated. The first process to do so was:\n\n"
          "  Process name: [[58243,1],1]\n"
          "  Exit code:    7\n"
          "--------------------------------------------------------------------------\n"),
      "rank 1 exited with code 7");
}

TEST(ExplainLauncher, OurOwnScriptNamesTheNodesThatDidNotCome) {
  EXPECT_EQ(explain_launcher("muster: within 4 s these nodes did not come: n2 n3\n"
                             "slurmstepd: error: something after it\n"),
            "within 4 s these nodes did not come: n2 n3");
  EXPECT_EQ(explain_launcher("a program says muster: within 4 s\n"),
            "a program says muster: within 4 s");
}

// Recorded from srun 22.05.8.
TEST(ExplainLauncher, Srun) {
  EXPECT_EQ(explain_launcher("srun: error: n1: task 0: Exited with exit code 3\n"),
            "rank 0 on n1 exited with code 3");
  EXPECT_EQ(
      explain_launcher("srun: error: Node failure on n2\n"
                       "slurmstepd-n1: error: *** JOB 2 ON n1 CANCELLED AT 2026-11-30T10:13:56 DUE "
                       "TO NODE FAILURE, "
                       "SEE SLURMCTLD LOG FOR DETAILS ***\nsrun: error: n1: task 0: Terminated\n"),
      "rank 0 on n1 was ended: Terminated; a node failed; node n2 failed");
}

TEST(ExplainLauncher, WhatIsSaidAroundRay) {
  EXPECT_EQ(explain_launcher("no Ray head on n1 within 60 s\nsrun: error: n2: task 1: Exited with "
                             "exit code 124\n"),
            "rank 1 on n2 exited with code 124; no Ray head on n1 within 60 s");
  EXPECT_EQ(explain_launcher("1 of 2 Ray nodes within 60 s\nand more\n"),
            "1 of 2 Ray nodes within 60 s");
  EXPECT_EQ(explain_launcher("Ray has ended on node 1\nand more\n"), "Ray has ended on node 1");
}

TEST(ExplainLauncher, WhatIsNotKnownIsQuoted) {
  EXPECT_EQ(explain_launcher(""), "");
  EXPECT_EQ(explain_launcher("\n \n"), "");
  EXPECT_EQ(explain_launcher("one\nsomething new went wrong\n\n"), "something new went wrong");
  EXPECT_EQ(explain_launcher("----------\n"), "");
}

TEST(ExplainLauncher, AFloodIsBounded) {
  std::string flood;
  for (int i = 0; i < 20000; ++i)
    flood += "srun: error: n" + std::to_string(i) + ": task 0: Killed\n";
  EXPECT_LT(explain_launcher(flood).size(), 400U);
}

}  // namespace
}  // namespace muster::launch
