// GPUs as the driver's own library (NVML) tells of them. The library is loaded when something is
// asked, so that one program runs on hosts with and without GPUs, and every wait for it has a
// limit: a driver that hangs is a finding, not a hang.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::health {

/// One NVLink of a GPU.
struct NvmlLink {
  int index = 0;
  bool active = false;
};

/// A GPU. What the GPU or its driver does not have is absent, never zero.
struct NvmlGpu {
  using Count = std::optional<std::uint64_t>;
  using Figure = std::optional<double>;

  int index = 0;
  /// Why the GPU, or a part of what follows, could not be read: "nvmlDeviceGetTemperature: GPU is
  /// lost", the first of them. What is merely not supported is no error.
  std::string error;
  int errors = 0;
  bool lost = false;            ///< fallen off the bus
  bool reset_required = false;  ///< the driver asks for a reset

  std::string uuid, name, serial, vbios;
  std::string bus_id;        ///< 00000000:53:00.0
  std::optional<int> minor;  ///< of /dev/nvidiaN

  Count sm_clock, memory_clock;                     ///< MHz
  Count temperature, memory_temperature;            ///< °C
  Figure power, power_limit;                        ///< W
  Count energy;                                     ///< mJ since the driver was loaded
  Count utilization, memory_utilization;            ///< percent
  Count encoder_utilization, decoder_utilization;   ///< percent
  Count memory_total, memory_used, memory_free;     ///< bytes
  Count memory_reserved;                            ///< bytes
  Count pcie_replays;                               ///<
  Count pcie_generation, pcie_generation_max;       ///<
  Count pcie_width, pcie_width_max;                 ///< lanes
  Figure pcie_sent, pcie_received;                  ///< bytes per second
  Count clock_reasons;                              ///< bits of nvmlClocksEventReasons
  std::map<std::string, std::uint64_t> violations;  ///< ns by power, thermal, sync_boost, …
  Count ecc, ecc_pending;                           ///< 1: on; after the next reset
  Count ecc_corrected, ecc_uncorrected;             ///< since the last reset
  Count ecc_corrected_life, ecc_uncorrected_life;   ///<
  Count retired_single, retired_double, retired_pending;
  Count remapped_correctable, remapped_uncorrectable, remap_pending, remap_failed;
  Count persistence_mode, mig_mode;
  Count compute_processes;
  Count fabric_state;  ///< 0 not supported, 1 not started, 2 in progress, 3 completed
  std::vector<NvmlLink> links;
  Count link_replays, link_recoveries, link_crc_flit, link_crc_data;  ///< of all links
  Count link_data;                                                    ///< KiB, both ways
  std::map<std::string, double> profile;  ///< ratios by gr_engine, sm, sm_occupancy, tensor, …
};

/// An Xid that the driver reported while the reader stood.
struct NvmlXid {
  int gpu = 0;
  std::uint64_t code = 0;
};

struct NvmlReading {
  std::string driver, library;
  std::vector<NvmlGpu> gpus;
  std::vector<NvmlXid> xids;  ///< since the reading before
};

/// Holds the library open. One reading at a time.
class NvmlReader {
 public:
  /// `library`: its file; empty: $MUSTER_NVML, else libnvidia-ml.so.1.
  explicit NvmlReader(std::string library = {});
  ~NvmlReader();
  NvmlReader(const NvmlReader&) = delete;
  NvmlReader& operator=(const NvmlReader&) = delete;

  /// All GPUs. Failures by rule: "nvml-missing" (no such library: a host without the driver),
  /// "nvml-failed" (it can't tell: driver not loaded, of another version than the library),
  /// "nvml-timeout" (no answer within the limit, and of which call; the next reading waits for the
  /// same one).
  Result<NvmlReading> read(std::chrono::milliseconds limit);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  ///< outlives the reader when a call of the driver hangs
};

/// Names of the bits of clock_reasons as dcgm-exporter writes them: gpu_idle, power_cap, ….
std::vector<std::string> clock_reason_names(std::uint64_t bits);
/// All of them, in order of their bits.
const std::vector<std::string>& clock_reason_names();

}  // namespace muster::health
