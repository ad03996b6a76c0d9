#include "metrics/top.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::metrics {
namespace {

/// Outcomes of health checks, from good to bad.
constexpr std::array kHealthOrder = {"ok",    "skipped", "flag",        "unknown", "error",
                                     "reset", "reboot",  "investigate", "replace"};

std::size_t health_rank(const std::string& outcome) {
  for (std::size_t i = 0; i < kHealthOrder.size(); ++i) {
    if (outcome == kHealthOrder[i]) return i + 1;
  }
  return 0;
}

void add_to(Figure& sum, const Figure& value) {
  if (value) sum = sum.value_or(0) + *value;
}
void raise_to(Figure& most, const Figure& value) {
  if (value) most = std::max(most.value_or(*value), *value);
}

/// A sum and how many there were, for a mean.
struct Mean {
  double sum = 0;
  int count = 0;
  void add(const Figure& value) {
    if (!value) return;
    sum += *value;
    ++count;
  }
  Figure value() const { return count > 0 ? Figure(sum / count) : std::nullopt; }
};

class ViewMaker {
 public:
  ViewMaker(const std::vector<Scraped>& now, const std::vector<Scraped>& before) {
    for (const Scraped& source : before) {
      for (const Sample& sample : source.samples)
        before_[key(host_of(source), sample)] = {source.seconds, sample.value};
    }
    for (const Scraped& source : now) {
      ++view_.sources;
      if (!source.wrong.empty()) {
        view_.wrong.push_back(fmt::format("{}: {}", source.source, source.wrong));
        // Its host is known, and that nobody can tell of it.
        if (!source.host.empty()) nodes_[source.host].up = 0;
        continue;
      }
      ++view_.answered;
      if (source.refused > 0)
        view_.wrong.push_back(
            fmt::format("{}: {} lines not understood", source.source, source.refused));
      const std::string host = host_of(source);
      if (!host.empty()) nodes_.try_emplace(host);
      for (const Sample& sample : source.samples) {
        if (std::isfinite(sample.value)) take(sample, host, source.seconds);
      }
    }
  }

  TopView make() {
    for (auto& [where, gpu] : gpus_) {
      TopNode& node = nodes_[gpu.node];
      add_to(node.gpus, 1);
      add_to(node.power, gpu.power);
      raise_to(node.temperature, gpu.temperature);
      use_[gpu.node].add(gpu.utilisation);
      gpu.jobs = fmt::format("{}", fmt::join(gpu_jobs_[where], ","));
      for (const std::string& id : gpu_jobs_[where]) {
        TopJob& job = jobs_[id];
        add_to(job.gpus, 1);
        add_to(job.power, gpu.power);
        job_use_[id].add(gpu.utilisation);
      }
      view_.gpus.push_back(gpu);
    }
    for (const auto& [where, link] : links_) {
      add_to(nodes_[link.node].sent, link.sent);
      add_to(nodes_[link.node].received, link.received);
      view_.links.push_back(link);
    }
    for (auto& [id, job] : jobs_) {
      job.id = id;
      job.utilisation = job_use_[id].value();
      if (!job_nodes_[id].empty()) job.nodes = static_cast<double>(job_nodes_[id].size());
      for (const std::string& node : job_nodes_[id]) add_to(nodes_[node].jobs, 1);
      view_.jobs.push_back(job);
    }
    for (auto& [name, node] : nodes_) {
      node.name = name;
      node.utilisation = use_[name].value();
      const auto total = memory_total_.find(name), free = memory_free_.find(name);
      if (total != memory_total_.end() && free != memory_free_.end() && total->second > 0)
        node.memory = 1 - free->second / total->second;
      view_.nodes.push_back(node);
    }
    return std::move(view_);
  }

 private:
  static std::string host_of(const Scraped& source) {
    for (const Sample& sample : source.samples) {
      if (!sample.label("instance").empty()) continue;  // whoever was asked knows many hosts
      for (const char* label : {"Hostname", "hostname"}) {
        if (sample.name.starts_with("DCGM_") && !sample.label(label).empty())
          return sample.label(label);
      }
      if (sample.name == "node_uname_info" && !sample.label("nodename").empty())
        return sample.label("nodename");
    }
    return source.host;
  }

  /// Whose series it is: what the server that was asked says, else whom was asked.
  static std::string node_of(const Sample& sample, const std::string& host) {
    const std::string instance = sample.label("instance");
    return instance.empty() ? host : instance;
  }

  static std::string key(const std::string& host, const Sample& sample) {
    std::string key = host + "|" + sample.name;
    for (const auto& [name, value] : sample.labels) key += fmt::format("|{}={}", name, value);
    return key;
  }

  Figure rate(const Sample& sample, const std::string& host, double seconds) const {
    const auto earlier = before_.find(key(host, sample));
    if (earlier == before_.end()) return std::nullopt;
    const auto [then, value] = earlier->second;
    if (seconds <= then || sample.value < value) return std::nullopt;
    return (sample.value - value) / (seconds - then);
  }

  void take(const Sample& sample, const std::string& host, double seconds) {
    const std::string node = node_of(sample, host);
    if (sample.name.starts_with("DCGM_")) return take_gpu(sample, node);
    if (sample.name.starts_with("node_amazonefa_"))
      return take_link(sample, node, rate(sample, host, seconds));
    if (sample.name.starts_with("slurm_")) return take_slurm(sample);
    if (sample.name.starts_with("muster_job_")) return take_job(sample, node);
    take_node(sample, node);
  }

  void take_gpu(const Sample& sample, const std::string& node) {
    const std::string number = sample.label("gpu");
    if (number.empty()) return;
    TopGpu& gpu = gpus_[{node, number}];
    gpu.node = node;
    gpu.gpu = number;
    if (gpu.model.empty()) gpu.model = sample.label("modelName");
    const std::string& name = sample.name;
    if (name == "DCGM_FI_DEV_GPU_UTIL") gpu.utilisation = sample.value / 100;
    if (name == "DCGM_FI_DEV_GPU_TEMP") gpu.temperature = sample.value;
    if (name == "DCGM_FI_DEV_POWER_USAGE") gpu.power = sample.value;
    if (name == "DCGM_FI_DEV_SM_CLOCK") gpu.clock = sample.value;
    if (name == "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL") gpu.uncorrected = sample.value;
    if (name == "DCGM_FI_DEV_XID_ERRORS") gpu.xid = sample.value;
    if (const std::string id = sample.label("hpc_job"); !id.empty()) {
      gpu_jobs_[{node, number}].insert(id);
      job_nodes_[id].insert(node);
      jobs_.try_emplace(id);
    }
    auto& [used, free] = framebuffer_[{node, number}];
    if (name == "DCGM_FI_DEV_FB_USED") used = sample.value;
    if (name == "DCGM_FI_DEV_FB_FREE") free = sample.value;
    if (used && free && *used + *free > 0) gpu.memory = *used / (*used + *free);
  }

  void take_link(const Sample& sample, const std::string& node, const Figure& rate) {
    const std::string device = sample.label("device");
    if (device.empty()) return;
    TopLink& link = links_[{node, device}];
    link.node = node;
    link.device = device;
    if (sample.name == "node_amazonefa_tx_bytes") add_to(link.sent, rate);
    if (sample.name == "node_amazonefa_rx_bytes") add_to(link.received, rate);
    if (sample.name == "node_amazonefa_retrans_pkts") add_to(link.resent, rate);
    if (sample.name == "node_amazonefa_rx_drops") add_to(link.dropped, rate);
  }

  void take_slurm(const Sample& sample) {
    for (const char* name : {"slurm_jobs_running", "slurm_jobs_pending", "slurm_nodes_idle",
                             "slurm_nodes_down", "slurm_nodes_drain"}) {
      if (sample.name == name) view_.slurm[name] = sample.value;
    }
    if (sample.name == "slurm_node_status" && sample.value == 1)
      nodes_[sample.label("node")].state = sample.label("status");
  }

  void take_job(const Sample& sample, const std::string& node) {
    const std::string id = sample.label("slurm_job_id");
    if (id.empty() || sample.value == 0) return;
    TopJob& job = jobs_[id];
    job_nodes_[id].insert(node);
    if (sample.name == "muster_job_gpu_info") gpu_jobs_[{node, sample.label("gpu")}].insert(id);
    if (job.user.empty()) job.user = sample.label("user");
    if (job.partition.empty()) job.partition = sample.label("partition");
  }

  void take_node(const Sample& sample, const std::string& host) {
    const auto& name = sample.name;
    if (host.empty()) return;
    // An exporter that is down hides only what it tells: the node is down when none answers.
    if (name == "up") raise_to(nodes_[host].up, sample.value);
    if (name == "up" && nodes_[host].type.empty())
      nodes_[host].type = sample.label("instance_type");
    if (name == "node_load1") nodes_[host].load = sample.value;
    if (name == "node_memory_MemTotal_bytes") memory_total_[host] = sample.value;
    if (name == "node_memory_MemAvailable_bytes") memory_free_[host] = sample.value;
    if (name != "muster_health" || sample.value != 1) return;
    std::string& health = nodes_[host].health;
    if (health_rank(sample.label("outcome")) > health_rank(health))
      health = sample.label("outcome");
  }

  using Place = std::pair<std::string, std::string>;

  TopView view_;
  std::map<std::string, std::pair<double, double>> before_;
  std::map<std::string, TopNode> nodes_;
  std::map<std::string, TopJob> jobs_;
  std::map<Place, TopGpu> gpus_;
  std::map<Place, TopLink> links_;
  std::map<Place, std::set<std::string>> gpu_jobs_;
  std::map<Place, std::pair<Figure, Figure>> framebuffer_;
  std::map<std::string, std::set<std::string>> job_nodes_;
  std::map<std::string, Mean> use_, job_use_;
  std::map<std::string, double> memory_total_, memory_free_;
};

}  // namespace

TopView top_view(const std::vector<Scraped>& now, const std::vector<Scraped>& before) {
  return ViewMaker(now, before).make();
}

const std::vector<std::string>& top_metrics() {
  static const std::vector<std::string> kNames = {"up",
                                                  "node_uname_info",
                                                  "node_load1",
                                                  "node_memory_MemTotal_bytes",
                                                  "node_memory_MemAvailable_bytes",
                                                  "muster_health",
                                                  "muster_job_info",
                                                  "muster_job_gpu_info",
                                                  "DCGM_FI_DEV_GPU_UTIL",
                                                  "DCGM_FI_DEV_GPU_TEMP",
                                                  "DCGM_FI_DEV_POWER_USAGE",
                                                  "DCGM_FI_DEV_SM_CLOCK",
                                                  "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
                                                  "DCGM_FI_DEV_XID_ERRORS",
                                                  "DCGM_FI_DEV_FB_USED",
                                                  "DCGM_FI_DEV_FB_FREE",
                                                  "node_amazonefa_info",
                                                  "node_amazonefa_tx_bytes",
                                                  "node_amazonefa_rx_bytes",
                                                  "node_amazonefa_retrans_pkts",
                                                  "node_amazonefa_rx_drops",
                                                  "slurm_jobs_running",
                                                  "slurm_jobs_pending",
                                                  "slurm_nodes_idle",
                                                  "slurm_nodes_down",
                                                  "slurm_nodes_drain",
                                                  "slurm_node_status"};
  return kNames;
}

}  // namespace muster::metrics
