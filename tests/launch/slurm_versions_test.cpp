// What squeue, sacct and scontrol print, by version of Slurm. Each row says where its text is from:
// "recorded" from that version, or "written" after its manual pages and release notes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launch/slurm_parse.h"

namespace muster::launch {
namespace {

struct Row {
  const char* version;
  const char* origin;
  const char* text;      ///< with jobs of others around job 42
  const char* expected;  ///< describe() of job 42
  SlurmPhase phase;
};

const std::vector<Row> kSqueue = {
    {"20.11", "written", "7|RUNNING|None|a1\n42|CONFIGURING|None|p5-[001-004]\n",
     "CONFIGURING on p5-[001-004]", SlurmPhase::kQueued},
    {"21.08", "written", "41_[0-9%2]|PENDING|JobArrayTaskLimit|\n42|PENDING|BeginTime|\n",
     "PENDING (BeginTime)", SlurmPhase::kQueued},
    {"22.05", "written", "2|CANCELLED|None|n[1-2]\n42|RUNNING|None|n[1-2]\n", "RUNNING on n[1-2]",
     SlurmPhase::kRunning},
    {"23.02", "written",
     "41+0|RUNNING|None|a1\n41+1|RUNNING|None|b1\n42|PENDING|Nodes required for job are DOWN, "
     "DRAINED or reserved for jobs in higher priority partitions|\n",
     "PENDING (Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
     "partitions)",
     SlurmPhase::kQueued},
    {"23.11", "written", "42|COMPLETING|None|q[1,3]\n43|RUNNING|a|b|c|d\n", "COMPLETING on q[1,3]",
     SlurmPhase::kRunning},
    {"24.05", "written", "CLUSTER: east\n42|RESV_DEL_HOLD|ReservationDeleted|\n",
     "RESV_DEL_HOLD (ReservationDeleted)", SlurmPhase::kQueued},
    {"24.11", "written", "42|POWER_UP_NODE|None|c[1-2]\n", "POWER_UP_NODE on c[1-2]",
     SlurmPhase::kQueued},
    {"25.05", "written", "42|SUSPENDED|None|x1\n", "SUSPENDED on x1", SlurmPhase::kRunning},
    {"25.11", "written", "42|STATE_OF_TOMORROW|None|x1\n",
     "STATE_OF_TOMORROW on x1, a state that is not known here", SlurmPhase::kUnknown},
};

const std::vector<Row> kSacct = {
    {"20.11", "written", "7|RUNNING|0:0|a1\n42|CANCELLED by 1000|0:15|p5-[001-004]\n",
     "CANCELLED by 1000 on p5-[001-004], signal 15", SlurmPhase::kEnded},
    {"21.08", "written", "42|NODE_FAIL|0:0|a1\n42|PENDING|0:0|None assigned\n",
     "PENDING, restarted once", SlurmPhase::kQueued},
    {"22.05", "written", "41|NODE_FAIL|0:0|n[1-2]\n42|FAILED|3:0|n1\n", "FAILED on n1, exit code 3",
     SlurmPhase::kEnded},
    {"23.02", "written", "42|OUT_OF_MEMORY|0:125|b7\n", "OUT_OF_MEMORY on b7, signal 125",
     SlurmPhase::kEnded},
    {"23.11", "written", "42|TIMEOUT|0:0|b7\n42.batch|CANCELLED|0:15|b7\n", "TIMEOUT on b7",
     SlurmPhase::kEnded},
    {"24.05", "written", "42|PREEMPTED|0:0|b7\n", "PREEMPTED on b7", SlurmPhase::kLost},
    {"24.11", "written", "42|DEADLINE|0:0|None assigned\n", "DEADLINE", SlurmPhase::kEnded},
    {"25.05", "written", "42|BOOT_FAIL|0:0|b7\n", "BOOT_FAIL on b7", SlurmPhase::kLost},
    {"25.11", "written", "41_3|something|else\n42|COMPLETED|0:0|b[7-8]\n", "COMPLETED on b[7-8]",
     SlurmPhase::kEnded},
};

TEST(SlurmVersions, SqueueAmongJobsOfOthers) {
  for (const Row& row : kSqueue) {
    const auto status = parse_squeue(row.text, "42");
    ASSERT_TRUE(status.ok() && *status) << row.version << ", " << row.origin;
    EXPECT_EQ(describe(**status), row.expected) << row.version << ", " << row.origin;
    EXPECT_EQ((*status)->phase(), row.phase) << row.version;
    // A job that is not there stays absent.
    const auto absent = parse_squeue(row.text, "4242");
    EXPECT_TRUE(absent.ok() && !*absent) << row.version;
  }
}

TEST(SlurmVersions, SacctAmongJobsOfOthers) {
  for (const Row& row : kSacct) {
    const auto status = parse_sacct(row.text, "42");
    ASSERT_TRUE(status.ok() && *status) << row.version << ", " << row.origin;
    EXPECT_EQ(describe(**status), row.expected) << row.version << ", " << row.origin;
    EXPECT_EQ((*status)->phase(), row.phase) << row.version;
  }
}

}  // namespace
}  // namespace muster::launch
