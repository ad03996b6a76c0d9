#include "metrics/gpu.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/words.h"
#include "metrics/catalogue.h"

namespace muster::metrics {
namespace {

using health::NvmlGpu;

struct CountMetric {
  const char* name;
  NvmlGpu::Count NvmlGpu::*member;
};

constexpr CountMetric kCounts[] = {
    {"DCGM_FI_DEV_SM_CLOCK", &NvmlGpu::sm_clock},
    {"DCGM_FI_DEV_MEM_CLOCK", &NvmlGpu::memory_clock},
    {"DCGM_FI_DEV_GPU_TEMP", &NvmlGpu::temperature},
    {"DCGM_FI_DEV_MEMORY_TEMP", &NvmlGpu::memory_temperature},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", &NvmlGpu::energy},
    {"DCGM_FI_DEV_GPU_UTIL", &NvmlGpu::utilization},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", &NvmlGpu::memory_utilization},
    {"DCGM_FI_DEV_ENC_UTIL", &NvmlGpu::encoder_utilization},
    {"DCGM_FI_DEV_DEC_UTIL", &NvmlGpu::decoder_utilization},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", &NvmlGpu::pcie_replays},
    {"DCGM_FI_DEV_PCIE_LINK_GEN", &NvmlGpu::pcie_generation},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_GEN", &NvmlGpu::pcie_generation_max},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", &NvmlGpu::pcie_width},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", &NvmlGpu::pcie_width_max},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", &NvmlGpu::clock_reasons},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", &NvmlGpu::ecc_corrected},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", &NvmlGpu::ecc_uncorrected},
    {"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", &NvmlGpu::ecc_corrected_life},
    {"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", &NvmlGpu::ecc_uncorrected_life},
    {"DCGM_FI_DEV_RETIRED_SBE", &NvmlGpu::retired_single},
    {"DCGM_FI_DEV_RETIRED_DBE", &NvmlGpu::retired_double},
    {"DCGM_FI_DEV_RETIRED_PENDING", &NvmlGpu::retired_pending},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", &NvmlGpu::remapped_correctable},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", &NvmlGpu::remapped_uncorrectable},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", &NvmlGpu::remap_failed},
    {"muster_gpu_row_remap_pending", &NvmlGpu::remap_pending},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", &NvmlGpu::link_crc_flit},
    {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", &NvmlGpu::link_crc_data},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", &NvmlGpu::link_replays},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", &NvmlGpu::link_recoveries},
    {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", &NvmlGpu::link_data},
    {"muster_gpu_fabric_state", &NvmlGpu::fabric_state},
    {"muster_gpu_persistence_mode", &NvmlGpu::persistence_mode},
    {"muster_gpu_ecc_mode", &NvmlGpu::ecc},
    {"muster_gpu_compute_processes", &NvmlGpu::compute_processes},
};

constexpr CountMetric kMemory[] = {
    {"DCGM_FI_DEV_FB_TOTAL", &NvmlGpu::memory_total},
    {"DCGM_FI_DEV_FB_FREE", &NvmlGpu::memory_free},
    {"DCGM_FI_DEV_FB_USED", &NvmlGpu::memory_used},
    {"DCGM_FI_DEV_FB_RESERVED", &NvmlGpu::memory_reserved},
};

struct FigureMetric {
  const char* name;
  NvmlGpu::Figure NvmlGpu::*member;
};

constexpr FigureMetric kFigures[] = {
    {"DCGM_FI_DEV_POWER_USAGE", &NvmlGpu::power},
    {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", &NvmlGpu::power_limit},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", &NvmlGpu::pcie_sent},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", &NvmlGpu::pcie_received},
};

struct NamedMetric {
  const char *name, *key;
};

constexpr NamedMetric kViolations[] = {
    {"DCGM_FI_DEV_POWER_VIOLATION", "power"},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", "thermal"},
    {"DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "sync_boost"},
    {"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "board_limit"},
    {"DCGM_FI_DEV_LOW_UTIL_VIOLATION", "low_util"},
    {"DCGM_FI_DEV_RELIABILITY_VIOLATION", "reliability"},
};

constexpr NamedMetric kProfile[] = {
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gr_engine"}, {"DCGM_FI_PROF_SM_ACTIVE", "sm"},
    {"DCGM_FI_PROF_SM_OCCUPANCY", "sm_occupancy"},  {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor"},
    {"DCGM_FI_PROF_PIPE_FP64_ACTIVE", "fp64"},      {"DCGM_FI_PROF_PIPE_FP32_ACTIVE", "fp32"},
    {"DCGM_FI_PROF_PIPE_FP16_ACTIVE", "fp16"},      {"DCGM_FI_PROF_DRAM_ACTIVE", "dram"},
};

void add_host(const GpuLabels& from, Labels& to) {
  if (from.label == HostLabel::kUpper || from.label == HostLabel::kBoth)
    to.emplace_back("Hostname", from.host);
  if (from.label == HostLabel::kLower || from.label == HostLabel::kBoth)
    to.emplace_back("hostname", from.host);
}

/// The labels of a GPU's samples: one set, or one for each job on it.
std::vector<Labels> label_sets(const NvmlGpu& gpu, const std::string& driver,
                               const GpuLabels& from) {
  const std::string index = fmt::format("{}", gpu.index);
  Labels labels = {{"gpu", index},
                   {"UUID", gpu.uuid},
                   {"pci_bus_id", gpu.bus_id},
                   {"device", fmt::format("nvidia{}", gpu.minor.value_or(gpu.index))},
                   {"modelName", gpu.name}};
  add_host(from, labels);
  labels.emplace_back("DCGM_FI_DRIVER_VERSION", driver);
  if (from.pods) {
    const auto found = from.pod_devices.find(gpu.uuid);
    const PodDevice pod = found != from.pod_devices.end() ? found->second : PodDevice();
    labels.emplace_back("container", pod.container);
    labels.emplace_back("namespace", pod.space);
    labels.emplace_back("pod", pod.pod);
  }
  const auto jobs = from.jobs.find(index);
  if (jobs == from.jobs.end() || jobs->second.empty()) return {labels};
  std::vector<Labels> sets;
  for (const std::string& job : jobs->second) {
    sets.push_back(labels);
    sets.back().emplace_back("hpc_job", job);
  }
  return sets;
}

class GpuWriter {
 public:
  GpuWriter(std::vector<Labels> sets, Exposition& to) : sets_(std::move(sets)), to_(to) {}

  void put(const char* name, double value, const Labels& more = {}) {
    const MetricRow& row = metric_row(name);
    for (Labels labels : sets_) {
      labels.insert(labels.end(), more.begin(), more.end());
      to_.add(name, row.type, row.help, std::move(labels), value);
    }
  }

 private:
  const std::vector<Labels> sets_;
  Exposition& to_;
};

void add_events(const NvmlGpu& gpu, const GpuHistory& history, GpuWriter& writer) {
  const std::string window = fmt::format("{}", GpuHistory::kWindow.count());
  writer.put("DCGM_FI_DEV_XID_ERRORS", static_cast<double>(history.last_xid(gpu.index)));
  for (const auto& [code, count] : history.xids(gpu.index)) {
    writer.put("DCGM_EXP_XID_ERRORS_COUNT", count,
               {{"window_size_in_ms", window}, {"xid", fmt::format("{}", code)}});
  }
  for (const auto& [reason, count] : history.clock_events(gpu.index)) {
    writer.put("DCGM_EXP_CLOCK_EVENTS_COUNT", count,
               {{"window_size_in_ms", window}, {"clock_event", reason}});
  }
}

}  // namespace

void GpuHistory::note(const health::NvmlReading& reading, Time now) {
  for (const health::NvmlXid& xid : reading.xids) {
    gpus_[xid.gpu].xids.emplace_back(now, xid.code);
    gpus_[xid.gpu].known_xids.insert(xid.code);
  }
  for (const NvmlGpu& gpu : reading.gpus) {
    if (!gpu.clock_reasons) continue;
    Of& of = gpus_[gpu.index];
    of.reasons.emplace_back(now, *gpu.clock_reasons);
    for (std::string& name : health::clock_reason_names(*gpu.clock_reasons))
      of.known_reasons.insert(std::move(name));
  }
  for (auto& [index, of] : gpus_) {
    for (auto* list : {&of.xids, &of.reasons}) {
      while (!list->empty() && list->front().first + kWindow <= now) list->pop_front();
    }
  }
}

std::map<std::uint64_t, int> GpuHistory::xids(int gpu) const {
  std::map<std::uint64_t, int> counts;
  const auto found = gpus_.find(gpu);
  if (found == gpus_.end()) return counts;
  for (const std::uint64_t code : found->second.known_xids) counts[code] = 0;
  for (const auto& [time, code] : found->second.xids) ++counts[code];
  return counts;
}

std::uint64_t GpuHistory::last_xid(int gpu) const {
  const auto found = gpus_.find(gpu);
  return found == gpus_.end() || found->second.xids.empty() ? 0 : found->second.xids.back().second;
}

std::map<std::string, int> GpuHistory::clock_events(int gpu) const {
  std::map<std::string, int> counts;
  const auto found = gpus_.find(gpu);
  if (found == gpus_.end()) return counts;
  for (const std::string& name : found->second.known_reasons) counts[name] = 0;
  for (const auto& [time, bits] : found->second.reasons) {
    for (const std::string& name : health::clock_reason_names(bits)) ++counts[name];
  }
  return counts;
}

std::vector<std::string> parse_jobs(std::string_view text) {
  std::vector<std::string> jobs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view job = trimmed(text.substr(0, end));
    if (!job.empty() && std::find(jobs.begin(), jobs.end(), job) == jobs.end())
      jobs.emplace_back(job);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return jobs;
}

void collect_gpu(const health::NvmlReading& reading, const GpuLabels& labels,
                 const GpuHistory& history, Exposition& to) {
  const auto plain = [&](const char* name, Labels of, double value) {
    const MetricRow& row = metric_row(name);
    to.add(name, row.type, row.help, std::move(of), value);
  };
  for (const NvmlGpu& gpu : reading.gpus) {
    const std::string index = fmt::format("{}", gpu.index);
    plain("muster_gpu_errors", {{"gpu", index}}, gpu.errors);
    if (gpu.uuid.empty()) continue;  // lost: it has no identity to tell anything under
    GpuWriter writer(label_sets(gpu, reading.driver, labels), to);
    for (const auto& [name, member] : kCounts) {
      if (gpu.*member) writer.put(name, static_cast<double>(*(gpu.*member)));
    }
    constexpr double kMebibyte = 1024.0 * 1024;
    for (const auto& [name, member] : kMemory) {
      if (gpu.*member)
        writer.put(name, std::floor(static_cast<double>(*(gpu.*member)) / kMebibyte));
    }
    for (const auto& [name, member] : kFigures) {
      if (gpu.*member) writer.put(name, *(gpu.*member));
    }
    for (const auto& [name, key] : kViolations) {
      if (const auto found = gpu.violations.find(key); found != gpu.violations.end())
        writer.put(name, static_cast<double>(found->second));
    }
    for (const auto& [name, key] : kProfile) {
      if (const auto found = gpu.profile.find(key); found != gpu.profile.end())
        writer.put(name, found->second);
    }
    add_events(gpu, history, writer);
    for (const health::NvmlLink& link : gpu.links) {
      Labels of = {{"gpu", index}, {"UUID", gpu.uuid}};
      add_host(labels, of);
      of.emplace_back("nvlink", fmt::format("{}", link.index));
      plain("muster_gpu_nvlink_active", std::move(of), link.active ? 1 : 0);
    }
  }
  plain("muster_gpus", {}, static_cast<double>(reading.gpus.size()));
}

}  // namespace muster::metrics
