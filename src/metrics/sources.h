// The two collectors that ask programs and drivers: GPUs through NVML, Slurm through its commands.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/process.h"
#include "metrics/bounded.h"
#include "metrics/gpu.h"

namespace muster::metrics {

struct GpuSourceOptions {
  std::string library;  ///< of NVML; empty: as NvmlReader finds it
  std::string root;     ///< below which the kubelet's and the jobs' files are
  std::string host;
  HostLabel label = HostLabel::kBoth;
  bool pods = false;
  std::filesystem::path jobs;  ///< folder of job files; empty: none
  std::chrono::milliseconds limit{10000};
};

/// Reads all GPUs; keeps the library open, what was seen before, and the pods that were last known.
std::function<CollectorState(Exposition&)> gpu_source(const GpuSourceOptions& options);

/// Asks Slurm, each command with a limit.
std::function<CollectorState(Exposition&)> slurm_source(ProcessRunner& processes,
                                                        std::chrono::milliseconds limit);

}  // namespace muster::metrics
