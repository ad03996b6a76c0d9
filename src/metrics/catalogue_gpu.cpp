// GPUs: names, types and units of dcgm-exporter, so that its dashboards and rules hold; and under
// muster_gpu_… what it does not have.
#include "metrics/catalogue.h"

namespace muster::metrics {
namespace {

constexpr const char* kGpu =
    "gpu,UUID,pci_bus_id,device,modelName,[Hostname],[hostname],DCGM_FI_DRIVER_VERSION,[container],"
    "[namespace],[pod],[hpc_job]";

MetricRow dcgm_gauge(const char* name, const char* unit, const char* help) {
  return {name, Type::kGauge, unit, kGpu, "gpu", help};
}

MetricRow dcgm_counter(const char* name, const char* unit, const char* help) {
  return {name, Type::kCounter, unit, kGpu, "gpu", help};
}

}  // namespace

std::vector<MetricRow> gpu_rows() {
  return {
      dcgm_gauge("DCGM_FI_DEV_SM_CLOCK", "MHz", "SM clock frequency (in MHz)"),
      dcgm_gauge("DCGM_FI_DEV_MEM_CLOCK", "MHz", "Memory clock frequency (in MHz)"),
      dcgm_gauge("DCGM_FI_DEV_GPU_TEMP", "celsius", "GPU temperature (in C)"),
      dcgm_gauge("DCGM_FI_DEV_MEMORY_TEMP", "celsius", "Memory temperature (in C)"),
      dcgm_gauge("DCGM_FI_DEV_POWER_USAGE", "watts", "Power draw (in W)"),
      dcgm_gauge("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "watts", "Power limit in force (in W)"),
      dcgm_counter("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "mJ",
                   "Energy consumed since the driver was loaded (in mJ)"),
      dcgm_gauge("DCGM_FI_DEV_GPU_UTIL", "percent", "GPU utilization (in %)"),
      dcgm_gauge("DCGM_FI_DEV_MEM_COPY_UTIL", "percent", "Memory utilization (in %)"),
      dcgm_gauge("DCGM_FI_DEV_ENC_UTIL", "percent", "Encoder utilization (in %)"),
      dcgm_gauge("DCGM_FI_DEV_DEC_UTIL", "percent", "Decoder utilization (in %)"),
      dcgm_gauge("DCGM_FI_DEV_FB_TOTAL", "MiB", "Framebuffer memory (in MiB)"),
      dcgm_gauge("DCGM_FI_DEV_FB_FREE", "MiB", "Framebuffer memory free (in MiB)"),
      dcgm_gauge("DCGM_FI_DEV_FB_USED", "MiB", "Framebuffer memory used (in MiB)"),
      dcgm_gauge("DCGM_FI_DEV_FB_RESERVED", "MiB", "Framebuffer memory reserved (in MiB)"),
      dcgm_counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "", "PCIe retries"),
      dcgm_gauge("DCGM_FI_DEV_PCIE_LINK_GEN", "", "PCIe generation in use"),
      dcgm_gauge("DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "", "PCIe generation that is possible"),
      dcgm_gauge("DCGM_FI_DEV_PCIE_LINK_WIDTH", "", "PCIe lanes in use"),
      dcgm_gauge("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "", "PCIe lanes that are possible"),
      dcgm_gauge("DCGM_FI_PROF_PCIE_TX_BYTES", "bytes per second",
                 "Bytes sent over PCIe per second, as NVML samples them"),
      dcgm_gauge("DCGM_FI_PROF_PCIE_RX_BYTES", "bytes per second",
                 "Bytes received over PCIe per second, as NVML samples them"),
      dcgm_gauge("DCGM_FI_DEV_XID_ERRORS", "",
                 "Last Xid of the window of recent errors; 0 when there was none"),
      {"DCGM_EXP_XID_ERRORS_COUNT", Type::kGauge, "",
       "gpu,UUID,pci_bus_id,device,modelName,[Hostname],[hostname],DCGM_FI_DRIVER_VERSION,"
       "[container],[namespace],[pod],[hpc_job],window_size_in_ms,xid",
       "gpu", "Xid errors within the window, by code; 0 once they are over"},
      dcgm_gauge("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "", "Reasons that hold clocks down, as bits"),
      {"DCGM_EXP_CLOCK_EVENTS_COUNT", Type::kGauge, "",
       "gpu,UUID,pci_bus_id,device,modelName,[Hostname],[hostname],DCGM_FI_DRIVER_VERSION,"
       "[container],[namespace],[pod],[hpc_job],window_size_in_ms,clock_event",
       "gpu", "Readings within the window in which the reason held the clocks down"},
      dcgm_counter("DCGM_FI_DEV_POWER_VIOLATION", "ns", "Throttled by power (in ns)"),
      dcgm_counter("DCGM_FI_DEV_THERMAL_VIOLATION", "ns", "Throttled by heat (in ns)"),
      dcgm_counter("DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "ns", "Throttled by sync boost (in ns)"),
      dcgm_counter("DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "ns",
                   "Throttled by the board's limit (in ns)"),
      dcgm_counter("DCGM_FI_DEV_LOW_UTIL_VIOLATION", "ns", "Throttled by low utilization (in ns)"),
      dcgm_counter("DCGM_FI_DEV_RELIABILITY_VIOLATION", "ns",
                   "Throttled for the board's reliability (in ns)"),
      dcgm_counter("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "", "Single-bit errors since the last reset"),
      dcgm_counter("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "", "Double-bit errors since the last reset"),
      dcgm_counter("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "", "Single-bit errors in the GPU's life"),
      dcgm_counter("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "", "Double-bit errors in the GPU's life"),
      dcgm_counter("DCGM_FI_DEV_RETIRED_SBE", "", "Pages retired because of single-bit errors"),
      dcgm_counter("DCGM_FI_DEV_RETIRED_DBE", "", "Pages retired because of double-bit errors"),
      dcgm_counter("DCGM_FI_DEV_RETIRED_PENDING", "", "1 when a page waits to be retired"),
      dcgm_counter("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "",
                   "Rows remapped for correctable errors"),
      dcgm_counter("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "",
                   "Rows remapped for uncorrectable errors"),
      dcgm_gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "", "1 when the remapping of a row failed"),
      dcgm_gauge("muster_gpu_row_remap_pending", "",
                 "1 when a row waits for a reset to be remapped"),
      dcgm_counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "",
                   "NVLink flow-control CRC errors"),
      dcgm_counter("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "", "NVLink data CRC errors"),
      dcgm_counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "", "NVLink retries"),
      dcgm_counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "", "NVLink recoveries"),
      dcgm_counter("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "KiB",
                   "Data over all NVLinks, both ways, as the driver counts it"),
      {"muster_gpu_nvlink_active", Type::kGauge, "", "gpu,UUID,[Hostname],[hostname],nvlink", "gpu",
       "1 for an NVLink that is up"},
      dcgm_gauge("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "ratio", "Share of time the engine was active"),
      dcgm_gauge("DCGM_FI_PROF_SM_ACTIVE", "ratio", "Share of time an SM had a warp"),
      dcgm_gauge("DCGM_FI_PROF_SM_OCCUPANCY", "ratio", "Share of warps that were resident"),
      dcgm_gauge("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "ratio",
                 "Share of time the tensor pipe was active"),
      dcgm_gauge("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "ratio",
                 "Share of time the FP64 pipe was active"),
      dcgm_gauge("DCGM_FI_PROF_PIPE_FP32_ACTIVE", "ratio",
                 "Share of time the FP32 pipe was active"),
      dcgm_gauge("DCGM_FI_PROF_PIPE_FP16_ACTIVE", "ratio",
                 "Share of time the FP16 pipe was active"),
      dcgm_gauge("DCGM_FI_PROF_DRAM_ACTIVE", "ratio",
                 "Share of time the memory was read or written"),
      dcgm_gauge(
          "muster_gpu_fabric_state", "",
          "Registration at the NVLink fabric: 0 not supported, 1 not started, 2 in progress, "
          "3 completed"),
      dcgm_gauge("muster_gpu_persistence_mode", "", "1 when persistence mode is on"),
      dcgm_gauge("muster_gpu_ecc_mode", "", "1 when ECC is on"),
      dcgm_gauge("muster_gpu_compute_processes", "", "Processes that compute on the GPU"),
      {"muster_gpu_errors", Type::kGauge, "", "gpu", "gpu",
       "Values that the driver refused though the GPU has them; 1 and more also for a GPU that is "
       "lost"},
      {"muster_gpus", Type::kGauge, "", "", "gpu", "GPUs that the driver counts"},
  };
}

}  // namespace muster::metrics
