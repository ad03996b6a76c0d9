// Slurm: names of the public exporters where they have one.
#include "metrics/catalogue.h"

namespace muster::metrics {
namespace {

MetricRow slurm_gauge(const char* name, const char* unit, const char* labels, const char* help) {
  return {name, Type::kGauge, unit, labels, "slurm", help};
}

MetricRow slurm_counter(const char* name, const char* help) {
  return {name, Type::kCounter, "", "", "slurm", help};
}

}  // namespace

std::vector<MetricRow> slurm_rows() {
  std::vector<MetricRow> rows = {
      slurm_gauge("slurm_info", "", "version", "1, with the version of Slurm"),
      slurm_gauge("slurm_nodes_total", "", "", "Nodes; slurm_nodes_<state> add up to it"),
      slurm_gauge("slurm_nodes_base_state", "", "state",
                  "Nodes by base state; they add up to slurm_nodes_total"),
      slurm_gauge("slurm_nodes_modifier", "", "modifier",
                  "Nodes with a modifier of the state; a node may have several"),
      slurm_gauge("slurm_partition_nodes", "", "partition,state",
                  "Nodes of a partition by the same states as slurm_nodes_<state>"),
      slurm_gauge("slurm_partition_nodes_total", "", "partition", "Nodes of a partition"),
      slurm_gauge("slurm_node_status", "", "node,status",
                  "1, with the state of the node as Slurm writes it"),
      slurm_gauge("slurm_node_cpu_alloc", "", "node", "CPUs in use"),
      slurm_gauge("slurm_node_cpu_idle", "", "node", "CPUs free for jobs"),
      slurm_gauge("slurm_node_cpu_other", "", "node", "CPUs that no job can get"),
      slurm_gauge("slurm_node_cpu_total", "", "node", "CPUs"),
      slurm_gauge("slurm_node_mem_alloc", "MiB", "node", "Memory given to jobs"),
      slurm_gauge("slurm_node_mem_total", "MiB", "node", "Memory"),
      slurm_gauge("slurm_node_gpus_alloc", "", "node", "GPUs given to jobs"),
      slurm_gauge("slurm_node_gpus_total", "", "node", "GPUs"),
      slurm_gauge("slurm_cpus_alloc", "", "", "CPUs in use"),
      slurm_gauge("slurm_cpus_idle", "", "", "CPUs free for jobs"),
      slurm_gauge("slurm_cpus_other", "", "", "CPUs that no job can get"),
      slurm_gauge("slurm_cpus_total", "", "", "CPUs"),
      slurm_gauge("slurm_gpus_alloc", "", "", "GPUs given to jobs"),
      slurm_gauge("slurm_gpus_idle", "", "", "GPUs free for jobs"),
      slurm_gauge("slurm_gpus_other", "", "", "GPUs that no job can get"),
      slurm_gauge("slurm_gpus_total", "", "", "GPUs"),
      slurm_gauge("slurm_gpus_utilization", "ratio", "", "Share of the GPUs given to jobs, 0 to 1"),
      slurm_gauge("slurm_partition_cpus_allocated", "", "partition", "CPUs in use"),
      slurm_gauge("slurm_partition_cpus_idle", "", "partition", "CPUs free for jobs"),
      slurm_gauge("slurm_partition_cpus_other", "", "partition", "CPUs that no job can get"),
      slurm_gauge("slurm_partition_cpus_total", "", "partition", "CPUs"),
      slurm_gauge("slurm_partition_gpus_allocated", "", "partition", "GPUs given to jobs"),
      slurm_gauge("slurm_partition_gpus_idle", "", "partition", "GPUs free for jobs"),
      slurm_gauge("slurm_partition_gpus_total", "", "partition", "GPUs"),
      slurm_gauge("slurm_partition_jobs_pending", "", "partition", "Jobs that wait"),
      slurm_gauge("slurm_partition_jobs_running", "", "partition", "Jobs that run"),
      slurm_gauge("slurm_jobs_total", "", "",
                  "Jobs that Slurm knows; slurm_jobs_<state> add up to it"),
      slurm_gauge("slurm_jobs_cores_pending", "", "", "CPUs that waiting jobs ask for"),
      slurm_gauge("slurm_jobs_cores_running", "", "", "CPUs of running jobs"),
      slurm_gauge("slurm_jobs_pending_reason", "", "reason", "Jobs that wait, by reason"),
      slurm_gauge("slurm_account_jobs_pending", "", "account", "Jobs that wait"),
      slurm_gauge("slurm_account_jobs_running", "", "account", "Jobs that run"),
      slurm_gauge("slurm_account_jobs_suspended", "", "account", "Jobs that are suspended"),
      slurm_gauge("slurm_account_cpus_running", "", "account", "CPUs of running jobs"),
      slurm_gauge("slurm_account_gpus_running", "", "account", "GPUs of running jobs"),
      slurm_gauge("slurm_user_jobs_pending", "", "user", "Jobs that wait"),
      slurm_gauge("slurm_user_jobs_running", "", "user", "Jobs that run"),
      slurm_gauge("slurm_user_jobs_suspended", "", "user", "Jobs that are suspended"),
      slurm_gauge("slurm_user_cpus_running", "", "user", "CPUs of running jobs"),
      slurm_gauge("slurm_user_gpus_running", "", "user", "GPUs of running jobs"),
      slurm_gauge("slurm_scheduler_threads", "", "", "Threads of slurmctld"),
      slurm_gauge("slurm_scheduler_queue_size", "", "", "Messages that the agent has to send"),
      slurm_gauge("slurm_scheduler_dbd_queue_size", "", "", "Messages that wait for slurmdbd"),
      slurm_gauge("slurm_scheduler_last_cycle", "us", "", "Last cycle of the main scheduler"),
      slurm_gauge("slurm_scheduler_mean_cycle", "us", "", "Mean cycle of the main scheduler"),
      slurm_gauge("slurm_scheduler_cycle_per_minute", "", "", "Cycles of the main scheduler"),
      slurm_gauge("slurm_scheduler_backfill_last_cycle", "us", "", "Last cycle of backfill"),
      slurm_gauge("slurm_scheduler_backfill_mean_cycle", "us", "", "Mean cycle of backfill"),
      slurm_gauge("slurm_scheduler_backfill_depth_mean", "", "", "Mean depth of backfill"),
      slurm_counter("slurm_scheduler_backfilled_jobs_since_start_total",
                    "Jobs started by backfill since slurmctld's start"),
      slurm_gauge("slurm_scheduler_backfilled_jobs_since_cycle_total", "", "",
                  "Jobs started by backfill since its statistics were reset"),
      slurm_counter("slurm_scheduler_backfilled_heterogeneous_total",
                    "Parts of heterogeneous jobs started by backfill"),
      slurm_counter("slurm_scheduler_jobs_submitted_total", "Jobs submitted since the last reset"),
      slurm_counter("slurm_scheduler_jobs_started_total", "Jobs started since the last reset"),
      slurm_counter("slurm_scheduler_jobs_completed_total", "Jobs completed since the last reset"),
      slurm_counter("slurm_scheduler_jobs_canceled_total", "Jobs canceled since the last reset"),
      slurm_counter("slurm_scheduler_jobs_failed_total", "Jobs failed since the last reset"),
  };
  constexpr struct {
    const char *name, *help;
  } kNodes[] = {
      {"slurm_nodes_alloc", "Nodes whose CPUs are all in use"},
      {"slurm_nodes_comp", "Nodes that end jobs"},
      {"slurm_nodes_down", "Nodes that are down or do not answer"},
      {"slurm_nodes_drain", "Nodes that take no new jobs, whether they still run some or not"},
      {"slurm_nodes_err", "Nodes in an error state"},
      {"slurm_nodes_fail", "Nodes that fail or are about to"},
      {"slurm_nodes_idle", "Nodes that are free and can take jobs"},
      {"slurm_nodes_inval", "Nodes whose registration does not fit their configuration"},
      {"slurm_nodes_maint", "Nodes in maintenance"},
      {"slurm_nodes_mix", "Nodes that are partly in use"},
      {"slurm_nodes_resv", "Nodes that are reserved"},
      {"slurm_nodes_other", "Nodes in any other state: powered off or on their way, rebooting"},
      {"slurm_nodes_planned", "Nodes that are kept free for a job"},
  };
  for (const auto& [name, help] : kNodes) rows.push_back(slurm_gauge(name, "", "", help));
  constexpr struct {
    const char *name, *help;
  } kJobs[] = {
      {"slurm_jobs_pending", "Jobs that wait"},
      {"slurm_jobs_running", "Jobs that run"},
      {"slurm_jobs_suspended", "Jobs that are suspended"},
      {"slurm_jobs_completing", "Jobs that end"},
      {"slurm_jobs_configuring", "Jobs whose nodes are made ready"},
      {"slurm_jobs_completed", "Jobs that completed, within MinJobAge"},
      {"slurm_jobs_cancelled", "Jobs that were cancelled, within MinJobAge"},
      {"slurm_jobs_failed", "Jobs that failed, within MinJobAge"},
      {"slurm_jobs_timeout", "Jobs that ran out of time, within MinJobAge"},
      {"slurm_jobs_preempted", "Jobs that were preempted, within MinJobAge"},
      {"slurm_jobs_node_fail", "Jobs that lost a node, within MinJobAge"},
      {"slurm_jobs_other", "Jobs in any other state"},
  };
  for (const auto& [name, help] : kJobs) rows.push_back(slurm_gauge(name, "", "", help));
  return rows;
}

}  // namespace muster::metrics
