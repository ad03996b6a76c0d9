#include "launch/slurm_parse.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace muster::launch {
namespace {

using End = runs::LauncherResult::End;

TEST(ParseSbatch, TakesEveryForm) {
  struct Row {
    const char* text;
    const char* id;
    const char* cluster;
  };
  for (const Row& row : {
           Row{"12\n", "12", ""},                    // recorded, 22.05.8
           Row{"12;east\n", "12", "east"},           // written after sbatch(1)
           Row{"Submitted batch job 7\n", "7", ""},  // written: a wrapper that drops --parsable
           Row{"Submitted batch job 7 on cluster east\n", "7", ""},
           Row{"sbatch: warning: no --time\n12\n", "12",
               ""},  // written: a submit plugin that talks
       }) {
    const auto job = parse_sbatch(row.text);
    ASSERT_TRUE(job.ok()) << row.text;
    EXPECT_EQ(job->id, row.id);
    EXPECT_EQ(job->cluster, row.cluster);
  }
}

TEST(ParseSbatch, RefusesWhatHasNoJob) {
  for (const char* text : {"", "\n", "queue is full", "12 13 14 and more;x;y"}) {
    EXPECT_FALSE(parse_sbatch(text).ok()) << text;
  }
}

TEST(Phase, KnowsEveryStateInBothForms) {
  EXPECT_EQ(phase_of("PENDING"), SlurmPhase::kQueued);
  EXPECT_EQ(phase_of("PD"), SlurmPhase::kQueued);
  EXPECT_EQ(phase_of("REQUEUED"), SlurmPhase::kQueued);
  EXPECT_EQ(phase_of("RUNNING"), SlurmPhase::kRunning);
  EXPECT_EQ(phase_of("COMPLETING"), SlurmPhase::kRunning);
  EXPECT_EQ(phase_of("COMPLETED"), SlurmPhase::kEnded);
  EXPECT_EQ(phase_of("CANCELLED by 1000"), SlurmPhase::kEnded);
  EXPECT_EQ(phase_of("CANCELLED+"), SlurmPhase::kEnded);
  EXPECT_EQ(phase_of("OUT_OF_MEMORY"), SlurmPhase::kEnded);
  EXPECT_EQ(phase_of("NODE_FAIL"), SlurmPhase::kLost);
  EXPECT_EQ(phase_of("PREEMPTED"), SlurmPhase::kLost);
}

TEST(Phase, AStateOfTheFutureIsUnknownAndShown) {
  EXPECT_EQ(phase_of("TELEPORTING"), SlurmPhase::kUnknown);
  EXPECT_EQ(phase_of(""), SlurmPhase::kUnknown);
  const SlurmStatus status{"TELEPORTING", "", "n1", {}, {}, 0};
  EXPECT_EQ(describe(status), "TELEPORTING on n1, a state that is not known here");
  EXPECT_EQ(conclude(status).end, End::kUnknown);
}

// Recorded from slurm-wlm 22.05.8 on the testbed.
TEST(ParseSqueue, Recorded2205) {
  const std::string text =
      "2|CANCELLED|None|n[1-2]\n1|COMPLETED|None|n[1-2]\n3|FAILED|NonZeroExitCode|n1\n6|FAILED|"
      "JobLaunchFailure|n1\n"
      "4|PENDING|PartitionNodeLimit|\n5|PENDING|PartitionTimeLimit|\n";
  const auto pending = parse_squeue(text, "4");
  ASSERT_TRUE(pending.ok() && *pending);
  EXPECT_EQ(describe(**pending), "PENDING (PartitionNodeLimit)");
  const auto failed = parse_squeue(text, "3");
  ASSERT_TRUE(failed.ok() && *failed);
  EXPECT_EQ((*failed)->nodes, "n1");
  EXPECT_EQ((*failed)->phase(), SlurmPhase::kEnded);
  const auto absent = parse_squeue(text, "7");
  ASSERT_TRUE(absent.ok());
  EXPECT_FALSE(absent->has_value());
}

// Written after the manual pages of 20.11 and 24.05.
TEST(ParseSqueue, OtherVersions) {
  const auto held = parse_squeue("31|REQUEUE_HOLD|launch failed requeued held|\n", "31");
  ASSERT_TRUE(held.ok() && *held);
  EXPECT_EQ(describe(**held), "REQUEUE_HOLD (launch failed requeued held)");
  const auto federated = parse_squeue("CLUSTER: east\n31|RUNNING|None|p5-[001-004]\n", "31");
  ASSERT_TRUE(federated.ok() && *federated);
  EXPECT_EQ((*federated)->nodes, "p5-[001-004]");
  EXPECT_FALSE(parse_squeue("JOBID PARTITION NAME\n", "31").ok());
}

TEST(ParseSqueue, KnowsAnUnknownJob) {
  EXPECT_TRUE(
      says_unknown_job("slurm_load_jobs error: Invalid job id specified\n"));  // recorded, 22.05.8
  EXPECT_FALSE(says_unknown_job(
      "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"));
}

// Recorded from slurm-wlm 22.05.8: job 2 lost a node, was requeued and then cancelled.
TEST(ParseSacct, TheLastStartCounts) {
  const std::string text =
      "1|COMPLETED|0:0|n[1-2]\n2|NODE_FAIL|0:0|n[1-2]\n2|CANCELLED by "
      "0|0:0|n[1-2]\n3|FAILED|3:0|n1\n"
      "4|PENDING|0:0|None assigned\n6|FAILED|0:9|n1\n";
  const auto requeued = parse_sacct(text, "2");
  ASSERT_TRUE(requeued.ok() && *requeued);
  EXPECT_EQ((*requeued)->restarts, 1);
  EXPECT_EQ(conclude(**requeued).end, End::kCancelled);
  const auto failed = parse_sacct(text, "3");
  ASSERT_TRUE(failed.ok() && *failed);
  EXPECT_EQ(conclude(**failed).exit_code, 3);
  EXPECT_EQ(conclude(**failed).end, End::kExited);
  const auto killed = parse_sacct(text, "6");
  ASSERT_TRUE(killed.ok() && *killed);
  EXPECT_EQ(conclude(**killed).exit_code, 137);
  EXPECT_EQ(conclude(**killed).detail, "Slurm: FAILED on n1, signal 9");
  const auto pending = parse_sacct(text, "4");
  ASSERT_TRUE(pending.ok() && *pending);
  EXPECT_EQ((*pending)->nodes, "");
}

TEST(ParseSacct, RefusesAnotherForm) {
  EXPECT_FALSE(parse_sacct("2|COMPLETED|0:0\n", "2").ok());
  EXPECT_FALSE(parse_sacct("2|COMPLETED|zero|n1\n", "2").ok());
}

// Recorded from slurm-wlm 22.05.8, shortened: after the crash of n2.
TEST(ParseScontrol, Requeued) {
  const auto status = parse_scontrol(
      "JobId=2 JobName=j.sh UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901758 "
      "Nice=0 Account=root "
      "QOS=normal JobState=PENDING Reason=BeginTime Dependency=(null) Requeue=1 Restarts=1 "
      "BatchFlag=1 Reboot=0 "
      "ExitCode=0:0 RunTime=00:00:00 TimeLimit=01:00:00 ReqNodeList=(null) ExcNodeList=(null) "
      "NodeList= NumNodes=2 \n");
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(describe(*status), "PENDING (BeginTime), restarted once");
  EXPECT_FALSE(parse_scontrol("slurm_load_jobs error: Invalid job id specified").ok());
}

TEST(Conclude, OnlyCompletedIsGood) {
  // A node failure leaves an exit code of 0 behind.
  for (const char* state :
       {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "FAILED", "REVOKED"}) {
    const auto result = conclude({state, "", "n1", 0, 0, 0});
    EXPECT_EQ(result.end, End::kExited) << state;
    EXPECT_NE(result.exit_code.value_or(0), 0) << state;
  }
  EXPECT_EQ(conclude({"COMPLETED", "", "n1", 0, 0, 0}).exit_code, 0);
  EXPECT_EQ(conclude({"TIMEOUT", "", "n1", 0, 0, 0}).end, End::kTimedOut);
  EXPECT_EQ(conclude({"RUNNING", "", "n1", 0, 0, 0}).end, End::kUnknown);
}

RC_GTEST_PROP(SlurmParsers, AnyTextIsAnswered, (std::string text)) {
  // No crash, and no success invented: what has no job has no status.
  const auto queue = parse_squeue(text, "12");
  const auto accounting = parse_sacct(text, "12");
  const auto control = parse_scontrol(text);
  const auto job = parse_sbatch(text);
  if (text.find("12") == std::string::npos) {
    const bool none_queued = !queue.ok() || !queue->has_value();
    const bool none_accounted = !accounting.ok() || !accounting->has_value();
    RC_ASSERT(none_queued);
    RC_ASSERT(none_accounted);
  }
  if (text.find("JobState=") == std::string::npos) RC_ASSERT(!control.ok());
  if (job.ok()) RC_ASSERT(!job->id.empty());
}

}  // namespace
}  // namespace muster::launch
