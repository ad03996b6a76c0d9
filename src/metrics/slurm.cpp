#include "metrics/slurm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/words.h"
#include "metrics/catalogue.h"
#include "metrics/slurm_text.h"

namespace muster::metrics {
namespace {

constexpr std::array<const char*, 13> kNodeCategories = {"alloc", "comp",  "down",   "drain", "err",
                                                         "fail",  "idle",  "inval",  "maint", "mix",
                                                         "resv",  "other", "planned"};

void put(Exposition& to, const std::string& name, Labels labels, double value) {
  const MetricRow& row = metric_row(name);
  to.add(name, row.type, row.help, std::move(labels), value);
}

struct Share {
  double alloc = 0, idle = 0, other = 0, total = 0;

  Share& operator+=(const Share& more) {
    alloc += more.alloc;
    idle += more.idle;
    other += more.other;
    total += more.total;
    return *this;
  }
};

/// What of a node's CPUs or GPUs is in use, free, and out of reach.
Share share_of(double alloc, double total, bool usable) {
  const double rest = std::max(total - alloc, 0.0);
  return {alloc, usable ? rest : 0, usable ? 0 : rest, total};
}

/// A partition, or the cluster.
struct NodeSums {
  std::map<std::string, int> categories;
  int nodes = 0;
  Share cpus, gpus;
};

}  // namespace

const char* node_category(const health::NodeState& state) {
  const std::string& base = state.base;
  const auto has = [&](const char* modifier) { return state.modifiers.count(modifier) > 0; };
  if (base == "inval" || has("invalid_reg")) return "inval";
  if (base == "fail" || base == "failing" || has("fail")) return "fail";
  if (base == "error") return "err";
  if (base == "down" || base == "not_responding" || has("down") || has("not_responding"))
    return "down";
  if (base == "drained" || base == "draining" || has("drain") || has("drained") || has("draining"))
    return "drain";
  if (base == "maint" || has("maint") || has("maintenance")) return "maint";
  if (has("powered_down") || has("powering_down") || has("powering_up") || has("power_down") ||
      has("power_up") || has("power_down_pending") || has("reboot_issued"))
    return "other";
  if (base == "reserved" || has("reserved")) return "resv";
  if (base == "completing" || has("completing")) return "comp";
  if (base == "planned" || has("planned")) return "planned";
  if (base == "allocated") return "alloc";
  if (base == "mixed") return "mix";
  if (base == "idle") return "idle";
  return "other";
}

int collect_slurm_nodes(std::string_view text, Exposition& to) {
  int not_understood = 0;
  NodeSums all;
  std::map<std::string, NodeSums> partitions;
  std::map<std::string, int> bases, modifiers;
  for (const SlurmNode& node : parse_slurm_nodes(text, not_understood)) {
    const std::string category = node_category(node.state);
    const bool usable = category == "alloc" || category == "mix" || category == "idle" ||
                        category == "comp" || category == "planned" || category == "resv";
    const Share cpus = share_of(node.cpus_alloc, node.cpus, usable);
    const Share gpus = share_of(node.gpus_alloc, node.gpus, usable);
    ++bases[node.state.base.empty() ? "unknown" : node.state.base];
    for (const std::string& modifier : node.state.modifiers) ++modifiers[modifier];
    std::vector<NodeSums*> sums = {&all};
    for (const std::string& partition : node.partitions) sums.push_back(&partitions[partition]);
    for (NodeSums* sum : sums) {
      ++sum->categories[category];
      ++sum->nodes;
      sum->cpus += cpus;
      sum->gpus += gpus;
    }
    const Labels labels = {{"node", node.name}};
    put(to, "slurm_node_status", {{"node", node.name}, {"status", node.state.text}}, 1);
    put(to, "slurm_node_cpu_alloc", labels, cpus.alloc);
    put(to, "slurm_node_cpu_idle", labels, cpus.idle);
    put(to, "slurm_node_cpu_other", labels, cpus.other);
    put(to, "slurm_node_cpu_total", labels, cpus.total);
    put(to, "slurm_node_mem_alloc", labels, node.memory_alloc);
    put(to, "slurm_node_mem_total", labels, node.memory);
    if (node.gpus > 0) {
      put(to, "slurm_node_gpus_alloc", labels, gpus.alloc);
      put(to, "slurm_node_gpus_total", labels, gpus.total);
    }
  }
  for (const char* category : kNodeCategories)
    put(to, std::string("slurm_nodes_") + category, {}, all.categories[category]);
  put(to, "slurm_nodes_total", {}, all.nodes);
  for (const auto& [base, count] : bases)
    put(to, "slurm_nodes_base_state", {{"state", base}}, count);
  for (const auto& [modifier, count] : modifiers)
    put(to, "slurm_nodes_modifier", {{"modifier", modifier}}, count);
  for (const auto& [what, share] : {std::pair("cpus", all.cpus), std::pair("gpus", all.gpus)}) {
    put(to, fmt::format("slurm_{}_alloc", what), {}, share.alloc);
    put(to, fmt::format("slurm_{}_idle", what), {}, share.idle);
    put(to, fmt::format("slurm_{}_other", what), {}, share.other);
    put(to, fmt::format("slurm_{}_total", what), {}, share.total);
  }
  if (all.gpus.total > 0) put(to, "slurm_gpus_utilization", {}, all.gpus.alloc / all.gpus.total);
  for (auto& [name, sums] : partitions) {
    const Labels labels = {{"partition", name}};
    for (const char* category : kNodeCategories) {
      put(to, "slurm_partition_nodes", {{"partition", name}, {"state", category}},
          sums.categories[category]);
    }
    put(to, "slurm_partition_nodes_total", labels, sums.nodes);
    put(to, "slurm_partition_cpus_allocated", labels, sums.cpus.alloc);
    put(to, "slurm_partition_cpus_idle", labels, sums.cpus.idle);
    put(to, "slurm_partition_cpus_other", labels, sums.cpus.other);
    put(to, "slurm_partition_cpus_total", labels, sums.cpus.total);
    put(to, "slurm_partition_gpus_allocated", labels, sums.gpus.alloc);
    put(to, "slurm_partition_gpus_idle", labels, sums.gpus.idle);
    put(to, "slurm_partition_gpus_total", labels, sums.gpus.total);
  }
  return not_understood;
}

namespace {

constexpr std::array<const char*, 12> kJobCategories = {
    "pending",   "running", "suspended", "completing", "configuring", "completed",
    "cancelled", "failed",  "timeout",   "preempted",  "node_fail",   "other"};

struct JobSums {
  int pending = 0, running = 0, suspended = 0;
  double cpus = 0, gpus = 0;  ///< of running jobs
};

void put_jobs(Exposition& to, const char* kind, const std::map<std::string, JobSums>& all) {
  for (const auto& [name, sums] : all) {
    const Labels labels = {{kind, name}};
    const std::string prefix = fmt::format("slurm_{}_", kind);
    put(to, prefix + "jobs_pending", labels, sums.pending);
    put(to, prefix + "jobs_running", labels, sums.running);
    put(to, prefix + "jobs_suspended", labels, sums.suspended);
    put(to, prefix + "cpus_running", labels, sums.cpus);
    put(to, prefix + "gpus_running", labels, sums.gpus);
  }
}

}  // namespace

const char* job_category(std::string_view state) {
  const std::string name = lower_case(state);
  for (const char* category : kJobCategories) {
    if (name == category) return category;
  }
  if (name == "out_of_memory" || name == "boot_fail" || name == "launch_failed") return "failed";
  if (name == "deadline") return "timeout";
  return "other";
}

int collect_slurm_jobs(std::string_view text, Exposition& to) {
  int not_understood = 0, count = 0;
  std::map<std::string, int> states, reasons;
  std::map<std::string, JobSums> partitions, accounts, users;
  double pending_cpus = 0, running_cpus = 0;
  for (const SlurmJob& job : parse_slurm_jobs(text, not_understood)) {
    ++count;
    const std::string category = job_category(job.state);
    ++states[category];
    for (JobSums* sums : {&partitions[job.partition], &accounts[job.account], &users[job.user]}) {
      if (category == "pending") ++sums->pending;
      if (category == "suspended") ++sums->suspended;
      if (category != "running") continue;
      ++sums->running;
      sums->cpus += job.cpus;
      sums->gpus += job.gpus;
    }
    if (category == "pending") {
      ++reasons[job.reason];
      pending_cpus += job.cpus;
    } else if (category == "running") {
      running_cpus += job.cpus;
    }
  }
  for (const char* category : kJobCategories)
    put(to, std::string("slurm_jobs_") + category, {}, states[category]);
  put(to, "slurm_jobs_total", {}, count);
  put(to, "slurm_jobs_cores_pending", {}, pending_cpus);
  put(to, "slurm_jobs_cores_running", {}, running_cpus);
  for (const auto& [reason, jobs] : reasons)
    put(to, "slurm_jobs_pending_reason", {{"reason", reason}}, jobs);
  for (const auto& [name, sums] : partitions) {
    put(to, "slurm_partition_jobs_pending", {{"partition", name}}, sums.pending);
    put(to, "slurm_partition_jobs_running", {{"partition", name}}, sums.running);
  }
  put_jobs(to, "account", accounts);
  put_jobs(to, "user", users);
  return not_understood;
}

int collect_slurm_scheduler(std::string_view text, Exposition& to) {
  // sdiag has some figures twice: of the main scheduler, then of backfill.
  struct Figure {
    const char *section, *name, *metric;
  };
  constexpr Figure kFigures[] = {
      {"", "Server thread count", "slurm_scheduler_threads"},
      {"", "Agent queue size", "slurm_scheduler_queue_size"},
      {"", "DBD Agent queue size", "slurm_scheduler_dbd_queue_size"},
      {"", "Jobs submitted", "slurm_scheduler_jobs_submitted_total"},
      {"", "Jobs started", "slurm_scheduler_jobs_started_total"},
      {"", "Jobs completed", "slurm_scheduler_jobs_completed_total"},
      {"", "Jobs canceled", "slurm_scheduler_jobs_canceled_total"},
      {"", "Jobs failed", "slurm_scheduler_jobs_failed_total"},
      {"main", "Last cycle", "slurm_scheduler_last_cycle"},
      {"main", "Mean cycle", "slurm_scheduler_mean_cycle"},
      {"main", "Cycles per minute", "slurm_scheduler_cycle_per_minute"},
      {"backfill", "Last cycle", "slurm_scheduler_backfill_last_cycle"},
      {"backfill", "Mean cycle", "slurm_scheduler_backfill_mean_cycle"},
      {"backfill", "Depth Mean", "slurm_scheduler_backfill_depth_mean"},
      {"backfill", "Total backfilled jobs (since last slurm start)",
       "slurm_scheduler_backfilled_jobs_since_start_total"},
      {"backfill", "Total backfilled jobs (since last stats cycle start)",
       "slurm_scheduler_backfilled_jobs_since_cycle_total"},
      {"backfill", "Total backfilled heterogeneous job components",
       "slurm_scheduler_backfilled_heterogeneous_total"},
  };
  std::string section;
  int found = 0, not_understood = 0;
  for (const std::string_view line : slurm_lines(text)) {
    if (line.starts_with("Main schedule statistics")) section = "main";
    if (line.starts_with("Backfilling stats")) section = "backfill";
    if (line.starts_with("Latency for") || line.starts_with("Remote Procedure Call"))
      section = "rest";
    const auto colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, colon));
    for (const Figure& figure : kFigures) {
      if (figure.section != section || figure.name != name) continue;
      const auto value = finite(trimmed(line.substr(colon + 1)));
      if (!value) {
        ++not_understood;
        continue;
      }
      put(to, figure.metric, {}, *value);
      ++found;
    }
  }
  return found == 0 ? not_understood + 1 : not_understood;
}

void collect_slurm_version(std::string_view text, Exposition& to) {
  const auto words = words_of(text);
  if (words.size() >= 2 && words[0].starts_with("slurm"))
    put(to, "slurm_info", {{"version", std::string(words[1])}}, 1);
}

}  // namespace muster::metrics
