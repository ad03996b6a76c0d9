// What hosts would tell, for tests.
#pragma once

#include <fmt/format.h>

#include "health/nvml.h"

namespace muster::metrics {

/// GPUs that have everything.
inline health::NvmlReading full_reading(int gpus) {
  health::NvmlReading reading;
  reading.driver = "570.86.15";
  for (int i = 0; i < gpus; ++i) {
    health::NvmlGpu gpu;
    gpu.index = i;
    gpu.uuid = fmt::format("GPU-a{}", i);
    gpu.name = "NVIDIA H100 80GB HBM3";
    gpu.bus_id = fmt::format("00000000:{}:00.0", 53 + i);
    gpu.minor = i;
    using Count = health::NvmlGpu::Count;
    for (Count health::NvmlGpu::*const member : {&health::NvmlGpu::sm_clock,
                                                 &health::NvmlGpu::memory_clock,
                                                 &health::NvmlGpu::energy,
                                                 &health::NvmlGpu::memory_temperature,
                                                 &health::NvmlGpu::utilization,
                                                 &health::NvmlGpu::memory_utilization,
                                                 &health::NvmlGpu::encoder_utilization,
                                                 &health::NvmlGpu::decoder_utilization,
                                                 &health::NvmlGpu::pcie_replays,
                                                 &health::NvmlGpu::pcie_generation,
                                                 &health::NvmlGpu::pcie_generation_max,
                                                 &health::NvmlGpu::pcie_width,
                                                 &health::NvmlGpu::pcie_width_max,
                                                 &health::NvmlGpu::clock_reasons,
                                                 &health::NvmlGpu::ecc,
                                                 &health::NvmlGpu::ecc_corrected,
                                                 &health::NvmlGpu::ecc_uncorrected,
                                                 &health::NvmlGpu::ecc_corrected_life,
                                                 &health::NvmlGpu::ecc_uncorrected_life,
                                                 &health::NvmlGpu::retired_single,
                                                 &health::NvmlGpu::retired_double,
                                                 &health::NvmlGpu::retired_pending,
                                                 &health::NvmlGpu::remapped_correctable,
                                                 &health::NvmlGpu::remapped_uncorrectable,
                                                 &health::NvmlGpu::remap_pending,
                                                 &health::NvmlGpu::remap_failed,
                                                 &health::NvmlGpu::persistence_mode,
                                                 &health::NvmlGpu::compute_processes,
                                                 &health::NvmlGpu::fabric_state,
                                                 &health::NvmlGpu::link_replays,
                                                 &health::NvmlGpu::link_recoveries,
                                                 &health::NvmlGpu::link_crc_flit,
                                                 &health::NvmlGpu::link_crc_data,
                                                 &health::NvmlGpu::link_data}) {
      gpu.*member = 1;
    }
    gpu.temperature = 35;
    gpu.power = 120.5;
    gpu.power_limit = 700;
    gpu.pcie_sent = gpu.pcie_received = 1e6;
    constexpr std::uint64_t kGiB = 1ULL << 30;
    gpu.memory_total = 80 * kGiB;
    gpu.memory_used = 4 * kGiB;
    gpu.memory_free = 75 * kGiB;
    gpu.memory_reserved = kGiB;
    for (const char* policy :
         {"power", "thermal", "sync_boost", "board_limit", "low_util", "reliability"})
      gpu.violations[policy] = 3;
    for (const char* ratio :
         {"gr_engine", "sm", "sm_occupancy", "tensor", "dram", "fp64", "fp32", "fp16"})
      gpu.profile[ratio] = 0.5;
    gpu.links = {{0, true}, {1, false}};
    reading.gpus.push_back(std::move(gpu));
  }
  return reading;
}

}  // namespace muster::metrics
