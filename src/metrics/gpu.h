// GPUs, by the metrics of dcgm-exporter, from what NVML tells.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "health/nvml.h"
#include "metrics/exposition.h"
#include "metrics/pods.h"

namespace muster::metrics {

/// dcgm-exporter wrote Hostname up to early 2026, and hostname since.
enum class HostLabel { kNone, kUpper, kLower, kBoth };

struct GpuLabels {
  std::string host;
  HostLabel label = HostLabel::kBoth;
  bool pods = false;       ///< container, namespace and pod on every sample, empty without a pod
  PodDevices pod_devices;  ///< of the kubelet
  std::map<std::string, std::vector<std::string>> jobs;  ///< by GPU index: ids of its jobs
};

/// What has to be remembered between two readings.
class GpuHistory {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kWindow{300000};

  void note(const health::NvmlReading& reading, Time now);

  /// How often each Xid of a GPU came within the window; 0 for those that came before.
  std::map<std::uint64_t, int> xids(int gpu) const;
  /// The last of the window; 0: none.
  std::uint64_t last_xid(int gpu) const;
  /// Readings of the window in which a reason held the clocks down, all reasons ever seen.
  std::map<std::string, int> clock_events(int gpu) const;

 private:
  struct Of {
    std::deque<std::pair<Time, std::uint64_t>> xids, reasons;
    std::set<std::uint64_t> known_xids;
    std::set<std::string> known_reasons;
  };
  std::map<int, Of> gpus_;
};

void collect_gpu(const health::NvmlReading& reading, const GpuLabels& labels,
                 const GpuHistory& history, Exposition& to);

/// Files named by a GPU's index, one job id a line, as dcgm-exporter's --hpc-job-mapping-dir.
std::vector<std::string> parse_jobs(std::string_view text);

}  // namespace muster::metrics
