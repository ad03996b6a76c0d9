// What squeue, sacct and scontrol print, by version of Slurm, among jobs of others. Each row says
// where its text is from: "recorded" by the testbed; a public source, with its columns put in our
// order and nothing added but an empty one; or "written" after the manual pages and release notes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launch/slurm_parse.h"

namespace muster::launch {
namespace {

struct Row {
  const char* version;
  const char* origin;
  const char* id;
  const char* text;
  const char* expected;  ///< describe() of the job
  SlurmPhase phase;
};

std::string place(const Row& row) {
  return std::string(row.version) + ", " + row.origin;
}

// %i|%T|%r|%N
const std::vector<Row> kSqueue = {
    {"20.11", "written", "42", "7|RUNNING|None|a1\n42|CONFIGURING|None|p5-[001-004]\n",
     "CONFIGURING on p5-[001-004]", SlurmPhase::kQueued},
    {"21.08", "written", "42",
     "41_[0-9%2]|PENDING|JobArrayTaskLimit|\n42|PENDING|BeginTime|\n42_1|RUNNING|None|a1\n",
     "PENDING (BeginTime)", SlurmPhase::kQueued},
    {"22.05.8", "recorded", "3",
     "2|CANCELLED|None|n[1-2]\n1|COMPLETED|None|n[1-2]\n3|FAILED|NonZeroExitCode|n1\n6|FAILED|"
     "JobLaunchFailure|n1\n4|PENDING|PartitionNodeLimit|\n5|PENDING|PartitionTimeLimit|\n",
     "FAILED on n1 (NonZeroExitCode)", SlurmPhase::kEnded},
    {"23.02 (ParallelCluster 3.6.0)", "github.com/aws/aws-parallelcluster/issues/5670", "12",
     "10|PENDING|BeginTime|\n12|PENDING|PartitionInactive|\n", "PENDING (PartitionInactive)",
     SlurmPhase::kQueued},
    {"23.02", "written", "42",
     "41+0|RUNNING|None|a1\n41+1|RUNNING|None|b1\n42|PENDING|Nodes required for job are DOWN, "
     "DRAINED or reserved for jobs in higher priority partitions|\n",
     "PENDING (Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
     "partitions)",
     SlurmPhase::kQueued},
    {"23.11 (ParallelCluster 3.11.1)", "github.com/aws/aws-parallelcluster/issues/6641", "2",
     "3|PENDING|BadConstraints|\n2|PENDING|BadConstraints|\n1|PENDING|BadConstraints|\n",
     "PENDING (BadConstraints)", SlurmPhase::kQueued},
    {"23.11", "written", "42", "42|COMPLETING|None|q[1,3]\n43|RUNNING|a|b|c|d\n",
     "COMPLETING on q[1,3]", SlurmPhase::kRunning},
    {"24.05", "written", "42", "CLUSTER: east\n42|RESV_DEL_HOLD|ReservationDeleted|\n",
     "RESV_DEL_HOLD (ReservationDeleted)", SlurmPhase::kQueued},
    {"24.11", "written", "42", "42|POWER_UP_NODE|None|c[1-2]\n", "POWER_UP_NODE on c[1-2]",
     SlurmPhase::kQueued},
    {"25.05", "written", "42", "42|SUSPENDED|None|x1\n", "SUSPENDED on x1", SlurmPhase::kRunning},
    {"25.11.6", "github.com/ROCm/spur, design notes of 2026-06-12 on preemption", "123",
     "122|R|None|\n123|PD|ReqNodeNotAvail, May be reserved for other job|\n",
     "PD (ReqNodeNotAvail, May be reserved for other job)", SlurmPhase::kQueued},
    {"25.11", "written", "42", "42|STATE_OF_TOMORROW|None|x1\n",
     "STATE_OF_TOMORROW on x1, a state that is not known here", SlurmPhase::kUnknown},
};

// JobIDRaw|State|ExitCode|NodeList
const std::vector<Row> kSacct = {
    {"20.11.8", "github.com/PursuitOfDataScience/slurmpast, tests/conftest.py", "43742638",
     "43742638|OUT_OF_MEMORY|0:125|midway3-0432\n43742638.batch|OUT_OF_MEMORY|0:125|\n",
     "OUT_OF_MEMORY on midway3-0432", SlurmPhase::kEnded},
    {"20.11.8", "github.com/PursuitOfDataScience/slurmpast, tests/conftest.py", "47865145",
     "47865145|TIMEOUT|0:0|midway3-0385\n47865145.batch|CANCELLED|0:15|\n"
     "47865145.extern|COMPLETED|0:0|\n",
     "TIMEOUT on midway3-0385", SlurmPhase::kEnded},
    {"21.08", "written", "42", "42|NODE_FAIL|0:0|a1\n42|PENDING|0:0|None assigned\n",
     "PENDING, restarted once", SlurmPhase::kQueued},
    {"22.05.2", "github.com/neilmunday/slurm-mail/issues/63", "31178",
     "31178|CANCELLED by 1060117793|0:0|None assigned\n", "CANCELLED by 1060117793",
     SlurmPhase::kEnded},
    {"22.05.8", "recorded", "2",
     "1|COMPLETED|0:0|n[1-2]\n2|NODE_FAIL|0:0|n[1-2]\n2|CANCELLED by 0|0:0|n[1-2]\n"
     "3|FAILED|3:0|n1\n4|PENDING|0:0|None assigned\n6|FAILED|0:9|n1\n",
     "CANCELLED by 0 on n[1-2], restarted once", SlurmPhase::kEnded},
    {"22.05.8", "recorded", "6",
     "1|COMPLETED|0:0|n[1-2]\n3|FAILED|3:0|n1\n4|PENDING|0:0|None assigned\n6|FAILED|0:9|n1\n",
     "FAILED on n1, signal 9", SlurmPhase::kEnded},
    {"23.02", "written", "42", "42|OUT_OF_MEMORY|0:125|b7\n", "OUT_OF_MEMORY on b7",
     SlurmPhase::kEnded},
    {"not stated, 2024-04", "github.com/martius-lab/cluster_utils/issues/87", "239023",
     "239023|COMPLETED|0:0|galvani-cn001\n239023.batch|COMPLETED|0:0|galvani-cn001\n"
     "239023.extern|COMPLETED|0:0|galvani-cn001\n239023.0|CANCELLED|0:10|galvani-cn001\n"
     "239024|COMPLETED|0:0|galvani-cn001\n",
     "COMPLETED on galvani-cn001", SlurmPhase::kEnded},
    {"23.11", "written", "42", "42|TIMEOUT|0:0|b7\n42.batch|CANCELLED|0:15|b7\n", "TIMEOUT on b7",
     SlurmPhase::kEnded},
    {"24.05", "written", "42", "42|PREEMPTED|0:0|b7\n", "PREEMPTED on b7", SlurmPhase::kLost},
    {"24.11", "written", "42", "42|DEADLINE|0:0|None assigned\n", "DEADLINE", SlurmPhase::kEnded},
    {"25.05", "written", "42", "42|BOOT_FAIL|0:0|b7\n", "BOOT_FAIL on b7", SlurmPhase::kLost},
    {"25.11", "written", "42", "41_3|something|else\n42|COMPLETED|0:0|b[7-8]\n",
     "COMPLETED on b[7-8]", SlurmPhase::kEnded},
};

// The fields around those that are read; names of people and paths are left out.
const std::vector<Row> kScontrol = {
    {"not stated, 2020-10", "github.com/burrmill/burrmill/issues/15", "80634",
     "JobId=80634 ArrayJobId=80520 ArrayTaskId=114 MCS_label=N/A Priority=0 Nice=0 "
     "Account=(null) QOS=(null) JobState=PENDING Reason=launch_failed_requeued_held "
     "Dependency=(null) Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0 "
     "RunTime=00:00:00 TimeLimit=UNLIMITED TimeMin=N/A StartTime=Unknown EndTime=Unknown "
     "Deadline=N/A Partition=n2 ReqNodeList=(null) ExcNodeList=(null) NodeList=(null) "
     "BatchHost=yea-node-n2-23 NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1\n",
     "PENDING (launch_failed_requeued_held), restarted once", SlurmPhase::kQueued},
    {"not stated, 2021-08", "github.com/tdegeus/GooseSLURM/issues/32", "10804568",
     "JobId=10804568 MCS_label=N/A Priority=5487 Nice=0 QOS=normal JobState=RUNNING Reason=None "
     "Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 "
     "RunTime=20:27:30 TimeLimit=2-00:00:00 Partition=serial ReqNodeList=(null) "
     "ExcNodeList=(null) NodeList=f006 BatchHost=f006 NumNodes=1 TRES=cpu=1,mem=4G,node=1\n",
     "RUNNING on f006", SlurmPhase::kRunning},
    {"22.05.8", "recorded", "2",
     "JobId=2 JobName=j.sh MCS_label=N/A Priority=4294901758 Nice=0 QOS=normal "
     "JobState=PENDING Reason=BeginTime Dependency=(null) Requeue=1 Restarts=1 BatchFlag=1 "
     "Reboot=0 ExitCode=0:0 RunTime=00:00:00 TimeLimit=01:00:00 ReqNodeList=(null) "
     "ExcNodeList=(null) NodeList= NumNodes=2 \n",
     "PENDING (BeginTime), restarted once", SlurmPhase::kQueued},
    {"not stated, 2023-01", "github.com/neilmunday/slurm-mail, its tests", "3",
     "JobId=3 JobName=test.jcf MCS_label=N/A Priority=4294901757 Nice=0 QOS=normal "
     "JobState=TIMEOUT Reason=TimeLimit Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 "
     "Reboot=0 ExitCode=0:15 RunTime=00:01:12 TimeLimit=00:01:00 Scheduler=Main Partition=all "
     "ReqNodeList=(null) ExcNodeList=(null) NodeList=node01 BatchHost=node01 NumNodes=1\n",
     "TIMEOUT on node01 (TimeLimit), signal 15", SlurmPhase::kEnded},
    {"23.11 (ParallelCluster 3.11.1)", "github.com/aws/aws-parallelcluster/issues/6641", "11",
     "JobId=11 JobName=spotrestart4 MCS_label=N/A Priority=0 Nice=0 Account=(null) QOS=normal "
     "JobState=PENDING Reason=BadConstraints FailedNode=sp-r7a-m-dy-sp-8-gb-1-cores-1 "
     "Dependency=(null) Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0 "
     "LastSchedEval=2024-12-30T10:47:44 Scheduler=Main Partition=sp-8-gb-1-cores "
     "ReqNodeList=(null) ExcNodeList=(null) NodeList=sp-r7a-m-dy-sp-8-gb-1-cores-1 "
     "BatchHost=sp-r7a-m-dy-sp-8-gb-1-cores-1 NumNodes=1 ReqTRES=cpu=1,mem=7782M,node=1 "
     "AllocTRES=(null)\n",
     "PENDING on sp-r7a-m-dy-sp-8-gb-1-cores-1 (BadConstraints), restarted once",
     SlurmPhase::kQueued},
    {"24.05", "written", "42",
     "JobId=42 JobState=RUNNING Reason=None Restarts=0 ExitCode=0:0 ReqNodeList=(null) "
     "ExcNodeList=(null) NodeList=p5-[1-2] BatchHost=p5-1 StepMgrEnabled=Yes NumNodes=2\n",
     "RUNNING on p5-[1-2]", SlurmPhase::kRunning},
    {"24.11", "written", "42",
     "JobId=42 JobState=NODE_FAIL Reason=NodeDown FailedNode=p5-2 Restarts=0 ExitCode=0:0 "
     "NodeList=p5-[1-2] BatchHost=p5-1 OOMKillStep=0\n",
     "NODE_FAIL on p5-[1-2] (NodeDown)", SlurmPhase::kLost},
    {"25.05, by its fields", "github.com/SlinkyProject/slurm-bridge, docs/workload.md", "1",
     "JobId=1 JobName=job-sleep-single MCS_label=kubernetes Priority=1 Nice=0 Account=(null) "
     "QOS=normal JobState=CANCELLED Reason=None Dependency=(null) Requeue=1 Restarts=0 "
     "BatchFlag=0 Reboot=0 ExitCode=0:0 RunTime=00:00:08 Scheduler=Main "
     "Partition=slurm-bridge ReqNodeList=(null) ExcNodeList=(null) NodeList=slurm-bridge-1 "
     "BatchHost=slurm-bridge-1 StepMgrEnabled=Yes NumNodes=1 Licenses=(null) "
     "LicensesAlloc=(null) Network=(null) AdminComment={\"pods\":[\"slurm-bridge/job\"]} "
     "OOMKillStep=0\n",
     "CANCELLED on slurm-bridge-1", SlurmPhase::kEnded},
    {"25.11.6", "github.com/ROCm/spur, design notes of 2026-06-12 on preemption", "121",
     "JobId=121 JobState=PREEMPTED Reason=None Requeue=1 Restarts=0 BatchFlag=1 ExitCode=0:15\n",
     "PREEMPTED, signal 15", SlurmPhase::kLost},
    {"25.11.6", "github.com/ROCm/spur, design notes of 2026-06-12 on preemption", "123",
     "JobId=123 JobState=PENDING Reason=ReqNodeNotAvail,_May_be_reserved_for_other_job "
     "Requeue=1 Restarts=0 ExitCode=0:0\n",
     "PENDING (ReqNodeNotAvail,_May_be_reserved_for_other_job)", SlurmPhase::kQueued},
};

TEST(SlurmVersions, SqueueAmongJobsOfOthers) {
  for (const Row& row : kSqueue) {
    const auto status = parse_squeue(row.text, row.id);
    ASSERT_TRUE(status.ok() && *status) << place(row);
    EXPECT_EQ(describe(**status), row.expected) << place(row);
    EXPECT_EQ((*status)->phase(), row.phase) << place(row);
    // A job that is not there stays absent.
    const auto absent = parse_squeue(row.text, "4242");
    EXPECT_TRUE(absent.ok() && !*absent) << place(row);
  }
}

TEST(SlurmVersions, SacctAmongJobsOfOthers) {
  for (const Row& row : kSacct) {
    const auto status = parse_sacct(row.text, row.id);
    ASSERT_TRUE(status.ok() && *status) << place(row);
    EXPECT_EQ(describe(**status), row.expected) << place(row);
    EXPECT_EQ((*status)->phase(), row.phase) << place(row);
  }
}

TEST(SlurmVersions, Scontrol) {
  for (const Row& row : kScontrol) {
    const auto status = parse_scontrol(row.text);
    ASSERT_TRUE(status.ok()) << place(row);
    EXPECT_EQ(describe(*status), row.expected) << place(row);
    EXPECT_EQ(status->phase(), row.phase) << place(row);
  }
}

// Each version that is supported has a row for every command.
TEST(SlurmVersions, AreAllThere) {
  for (const char* version :
       {"20.11", "21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11"}) {
    for (const auto* table : {&kSqueue, &kSacct}) {
      bool there = false;
      for (const Row& row : *table) there |= std::string(row.version).starts_with(version);
      EXPECT_TRUE(there) << version;
    }
  }
}

// A mark of Slurm's own stands where a signal's number would be; there is no signal 125.
TEST(SlurmVersions, MemoryThatRanOutIsAFailureAndNoSignal) {
  const auto status = parse_sacct("42|OUT_OF_MEMORY|0:125|b7\n", "42");
  ASSERT_TRUE(status.ok() && *status);
  const auto result = conclude(**status);
  EXPECT_EQ(result.end, runs::LauncherResult::End::kExited);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.detail, "Slurm: OUT_OF_MEMORY on b7");
}

}  // namespace
}  // namespace muster::launch
