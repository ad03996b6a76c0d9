// Slurm's nodes, jobs and scheduler: sums are exact whatever the states are.
#include "metrics/slurm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/words.h"
#include "metrics/slurm_text.h"

namespace muster::metrics {
namespace {

/// The value of a series; nothing when there is none.
std::optional<double> value_of(const std::string& text, const std::string& series) {
  const auto at = ("\n" + text).find("\n" + series + " ");
  if (at == std::string::npos) return std::nullopt;
  const auto start = at + series.size() + 1;
  return finite(text.substr(start, text.find('\n', start) - start));
}

/// The sum over all series that start so.
double sum_of(const std::string& text, const std::string& start) {
  double sum = 0;
  for (const std::string_view line : slurm_lines(text)) {
    if (line.starts_with(start)) sum += finite(words_of(line).back()).value_or(0);
  }
  return sum;
}

std::string nodes_of(const std::string& text, int not_understood = 0) {
  Exposition metrics;
  EXPECT_EQ(collect_slurm_nodes(text, metrics), not_understood);
  EXPECT_TRUE(check_exposition(metrics.text(), "m").empty()) << metrics.text();
  return metrics.text();
}

std::string node_line(const std::string& name, const std::string& state) {
  return fmt::format(
      "NodeName={} Arch=x86_64 CoresPerSocket=48 CPUAlloc=24 CPUEfctv=192 CPUTot=192 CPULoad=3.1 "
      "AvailableFeatures=p5,efa ActiveFeatures=p5 Gres=gpu:h100:8(S:0-1) NodeAddr={} "
      "OS=Linux 6.8.0 #1 SMP RealMemory=2000000 AllocMem=250000 State={} Partitions=gpu,all "
      "CfgTRES=cpu=192,mem=2000000M,billing=192,gres/gpu=8 "
      "AllocTRES=cpu=24,mem=250000M,gres/gpu=1,gres/gpu:h100=1 Reason=State=IDLE it says\n",
      name, name, state);
}

TEST(SlurmNodes, CountByStateWithEveryNodeOnce) {
  const std::string text =
      nodes_of(node_line("a", "MIXED") + node_line("b", "IDLE+DRAIN") + node_line("c", "IDLE*") +
               node_line("d", "IDLE") + node_line("e", "MIXED+DRAIN"));
  EXPECT_EQ(value_of(text, "slurm_nodes_total"), 5);
  EXPECT_EQ(value_of(text, "slurm_nodes_drain"), 2);
  EXPECT_EQ(value_of(text, "slurm_nodes_down"), 1) << "a node that does not answer is not idle";
  EXPECT_EQ(value_of(text, "slurm_nodes_idle"), 1);
  EXPECT_EQ(value_of(text, "slurm_nodes_mix"), 1);
  EXPECT_EQ(value_of(text, "slurm_nodes_base_state{state=\"idle\"}"), 3);
  EXPECT_EQ(value_of(text, "slurm_nodes_modifier{modifier=\"drain\"}"), 2);
  EXPECT_EQ(value_of(text, "slurm_partition_nodes_total{partition=\"gpu\"}"), 5);
  EXPECT_EQ(value_of(text, "slurm_gpus_total"), 40);
  EXPECT_EQ(value_of(text, "slurm_gpus_alloc"), 5);
  EXPECT_EQ(value_of(text, "slurm_gpus_idle"), 14) << "7 each of a and d";
  EXPECT_EQ(value_of(text, "slurm_gpus_other"), 21);
  EXPECT_EQ(value_of(text, "slurm_node_cpu_idle{node=\"a\"}"), 168);
  EXPECT_EQ(value_of(text, "slurm_node_cpu_other{node=\"b\"}"), 168);
  EXPECT_EQ(value_of(text, "slurm_node_mem_alloc{node=\"a\"}"), 250000);
  EXPECT_EQ(value_of(text, "slurm_node_status{node=\"b\",status=\"IDLE+DRAIN\"}"), 1);
}

TEST(SlurmNodes, SignsOfSinfoCountUnderBaseAndModifier) {
  for (const auto& [state, category] : {std::pair("idle", "idle"),
                                        {"idle*", "down"},
                                        {"mixed-", "planned"},
                                        {"idle~", "other"},
                                        {"allocated+", "comp"},
                                        {"DOWN+DRAIN", "down"},
                                        {"IDLE+MAINT", "maint"},
                                        {"IDLE+RESERVED", "resv"},
                                        {"ALLOCATED", "alloc"},
                                        {"FAIL", "fail"},
                                        {"MIXED+COMPLETING", "comp"},
                                        {"INVAL", "inval"},
                                        {"FUTURE", "other"},
                                        {"", "other"}})
    EXPECT_STREQ(node_category(health::parse_node_state(state)), category) << state;
}

RC_GTEST_PROP(SlurmNodes, SumsAreTheNumberOfNodesWhateverTheStates, ()) {
  const std::vector<std::string> kWords = {"IDLE",  "MIXED",   "ALLOCATED",      "DOWN",   "DRAIN",
                                           "MAINT", "PLANNED", "NOT_RESPONDING", "REBOOT", "odd*"};
  const auto states = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kWords))));
  std::string text;
  for (std::size_t i = 0; i < states.size(); ++i) {
    std::string state;
    for (const std::string& word : states[i]) state += (state.empty() ? "" : "+") + word;
    text += node_line(fmt::format("n{}", i), state);
  }
  Exposition metrics;
  RC_ASSERT(collect_slurm_nodes(text, metrics) == 0);
  const std::string told = metrics.text();
  const auto count = static_cast<double>(states.size());
  const double base = sum_of(told, "slurm_nodes_base_state{");
  const double categories = sum_of(told, "slurm_nodes_") - sum_of(told, "slurm_nodes_total") -
                            base - sum_of(told, "slurm_nodes_modifier{");
  RC_ASSERT(categories == count);
  RC_ASSERT(base == count);
  RC_ASSERT(value_of(told, "slurm_nodes_total") == count);
  RC_ASSERT(sum_of(told, "slurm_partition_nodes{partition=\"gpu\"") == count);
  RC_ASSERT(sum_of(told, "slurm_cpus_alloc") + sum_of(told, "slurm_cpus_idle") +
                sum_of(told, "slurm_cpus_other") ==
            count * 192);
}

TEST(SlurmNodes, WhatIsNoNodeIsCounted) {
  EXPECT_EQ(
      value_of(nodes_of("slurm_load_node error: Unable to contact\n", 1), "slurm_nodes_total"), 0);
  nodes_of("No nodes in the system\n");
}

std::string job_line(const std::string& partition, const std::string& state, int cpus,
                     const std::string& account, const std::string& user, const std::string& reason,
                     const std::string& tres) {
  return fmt::format("{:<64}{:<20}{:<12}{:<64}{:<64}{:<64}{:<160}\n", partition, state, cpus,
                     account, user, reason, tres);
}

TEST(SlurmJobs, CountByStatePartitionAccountAndUser) {
  Exposition metrics;
  EXPECT_EQ(collect_slurm_jobs(
                job_line("gpu", "RUNNING", 96, "ml", "ann", "None", "cpu=96,node=1,gres/gpu=8") +
                    job_line("gpu", "RUNNING", 96, "ml", "bob", "None", "cpu=96,gres/gpu:h100=4") +
                    job_line("gpu", "PENDING", 192, "ml", "ann", "Resources", "") +
                    job_line("gpu", "OUT_OF_MEMORY", 1, "ops", "ann", "OutOfMemory", "") +
                    job_line("cpu", "STAGE_OUT", 1, "ops", "eve", "None", ""),
                metrics),
            0);
  const std::string text = metrics.text();
  EXPECT_TRUE(check_exposition(text, "m").empty());
  EXPECT_EQ(value_of(text, "slurm_jobs_total"), 5);
  EXPECT_EQ(value_of(text, "slurm_jobs_running"), 2);
  EXPECT_EQ(value_of(text, "slurm_jobs_failed"), 1);
  EXPECT_EQ(value_of(text, "slurm_jobs_other"), 1);
  EXPECT_EQ(value_of(text, "slurm_jobs_cores_running"), 192);
  EXPECT_EQ(value_of(text, "slurm_jobs_cores_pending"), 192);
  EXPECT_EQ(value_of(text, "slurm_jobs_pending_reason{reason=\"Resources\"}"), 1);
  EXPECT_EQ(value_of(text, "slurm_partition_jobs_running{partition=\"gpu\"}"), 2);
  EXPECT_EQ(value_of(text, "slurm_account_gpus_running{account=\"ml\"}"), 12);
  EXPECT_EQ(value_of(text, "slurm_user_cpus_running{user=\"ann\"}"), 96);
  double states = 0;
  for (const char* state :
       {"pending", "running", "suspended", "completing", "configuring", "completed", "cancelled",
        "failed", "timeout", "preempted", "node_fail", "other"})
    states += value_of(text, std::string("slurm_jobs_") + state).value_or(-1);
  EXPECT_EQ(states, 5);
}

TEST(SlurmJobs, AnEmptyQueueIsZeroAndGarbageIsCounted) {
  Exposition none, garbage;
  EXPECT_EQ(collect_slurm_jobs("", none), 0);
  EXPECT_EQ(value_of(none.text(), "slurm_jobs_total"), 0);
  EXPECT_EQ(collect_slurm_jobs("slurm_load_jobs error\n", garbage), 1);
}

// As sdiag of Slurm 22.05 prints it; figures made up.
constexpr const char* kDiagnosis =
    "*******************************************************\n"
    "sdiag output at Tue Dec 01 00:00:00 2026 (1796083200)\n"
    "Data since      Tue Dec 01 00:00:00 2026 (1796083200)\n"
    "*******************************************************\n"
    "Server thread count:  3\nAgent queue size:     1\nAgent count:          0\n"
    "Agent thread count:   0\nDBD Agent queue size: 2\n\n"
    "Jobs submitted: 10\nJobs started:   9\nJobs completed: 8\nJobs canceled:  1\nJobs failed:    "
    "0\n\n"
    "Main schedule statistics (microseconds):\n\tLast cycle:   70\n\tMax cycle:    100\n"
    "\tTotal cycles: 7\n\tMean cycle:   66\n\tMean depth cycle:  0\n\tCycles per minute: 1\n"
    "\tLast queue length: 0\n\n"
    "Backfilling stats\n\tTotal backfilled jobs (since last slurm start): 4\n"
    "\tTotal backfilled jobs (since last stats cycle start): 3\n"
    "\tTotal backfilled heterogeneous job components: 5\n\tTotal cycles: 1\n"
    "\tLast cycle when: Tue Dec 01 00:00:00 2026 (1796083200)\n\tLast cycle: 48\n"
    "\tMax cycle:  50\n\tMean cycle: 47\n\tLast depth cycle: 0\n\tDepth Mean: 6\n\n"
    "Latency for 1000 calls to gettimeofday(): 34 microseconds\n\n"
    "Remote Procedure Call statistics by message type\n"
    "\tREQUEST_PING ( 1008) count:3 ave_time:94 total_time:283\n";

TEST(SlurmScheduler, TheTwoCyclesAreToldApart) {
  Exposition metrics;
  EXPECT_EQ(collect_slurm_scheduler(kDiagnosis, metrics), 0);
  const std::string text = metrics.text();
  EXPECT_TRUE(check_exposition(text, "m").empty());
  EXPECT_EQ(value_of(text, "slurm_scheduler_last_cycle"), 70);
  EXPECT_EQ(value_of(text, "slurm_scheduler_mean_cycle"), 66);
  EXPECT_EQ(value_of(text, "slurm_scheduler_backfill_last_cycle"), 48);
  EXPECT_EQ(value_of(text, "slurm_scheduler_backfill_mean_cycle"), 47);
  EXPECT_EQ(value_of(text, "slurm_scheduler_backfill_depth_mean"), 6);
  EXPECT_EQ(value_of(text, "slurm_scheduler_dbd_queue_size"), 2);
  EXPECT_EQ(value_of(text, "slurm_scheduler_jobs_submitted_total"), 10);
  Exposition none;
  EXPECT_EQ(collect_slurm_scheduler("error\n", none), 1);
}

}  // namespace
}  // namespace muster::metrics
