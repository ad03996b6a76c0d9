#include "health/nvml_gpu.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::health::nvml {
namespace {

/// Collects values of one GPU and what went wrong with them.
class GpuReader {
 public:
  GpuReader(Library& library, Device device, NvmlGpu& gpu)
      : library_(library), device_(device), gpu_(gpu) {}

  /// Calls a function on the device; whether it gave a value. An error other than "not there" is
  /// kept.
  template <typename... Arguments>
  bool ask(const char* name, Arguments... arguments) {
    return took(name, library_.call(name, device_, arguments...));
  }

  bool took(const char* name, Return result) {
    switch (result) {
      case kSuccess:
        return true;
      case kNotSupported:
      case kNoPermission:
      case kNotFound:
      case kFunctionNotFound:
      case kNoData:
        return false;
      default:
        break;
    }
    if (result == kGpuIsLost) gpu_.lost = true;
    if (result == kResetRequired) gpu_.reset_required = true;
    if (gpu_.errors++ == 0) gpu_.error = fmt::format("{}: {}", name, library_.error_text(result));
    return false;
  }

  void number(const char* name, NvmlGpu::Count& to) {
    unsigned int value = 0;
    if (ask(name, &value)) to = value;
  }

  void number(const char* name, int what, NvmlGpu::Count& to) {
    unsigned int value = 0;
    if (ask(name, what, &value)) to = value;
  }

  void text(const char* name, std::string& to) {
    std::array<char, 128> buffer{};
    if (ask(name, buffer.data(), static_cast<unsigned int>(buffer.size()))) to = buffer.data();
  }

  Library& library() { return library_; }
  Device device() { return device_; }
  NvmlGpu& gpu() { return gpu_; }

 private:
  Library& library_;
  Device device_;
  NvmlGpu& gpu_;
};

void read_identity(GpuReader& from) {
  NvmlGpu& gpu = from.gpu();
  from.text("nvmlDeviceGetUUID", gpu.uuid);
  from.text("nvmlDeviceGetName", gpu.name);
  from.text("nvmlDeviceGetSerial", gpu.serial);
  from.text("nvmlDeviceGetVbiosVersion", gpu.vbios);
  PciInfo pci{};
  if (from.ask("nvmlDeviceGetPciInfo_v3", &pci)) {
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    gpu.bus_id = pci.bus_id;
  }
  unsigned int minor = 0;
  if (from.ask("nvmlDeviceGetMinorNumber", &minor)) gpu.minor = static_cast<int>(minor);
}

void read_state(GpuReader& from) {
  NvmlGpu& gpu = from.gpu();
  constexpr int kSm = 1, kMemory = 2, kOfGpu = 0;
  from.number("nvmlDeviceGetClockInfo", kSm, gpu.sm_clock);
  from.number("nvmlDeviceGetClockInfo", kMemory, gpu.memory_clock);
  from.number("nvmlDeviceGetTemperature", kOfGpu, gpu.temperature);
  NvmlGpu::Count milliwatts;
  from.number("nvmlDeviceGetPowerUsage", milliwatts);
  if (milliwatts) gpu.power = static_cast<double>(*milliwatts) / 1000;
  milliwatts.reset();
  from.number("nvmlDeviceGetEnforcedPowerLimit", milliwatts);
  if (milliwatts) gpu.power_limit = static_cast<double>(*milliwatts) / 1000;
  unsigned long long wide = 0;
  if (from.ask("nvmlDeviceGetTotalEnergyConsumption", &wide)) gpu.energy = wide;
  Utilization utilization{};
  if (from.ask("nvmlDeviceGetUtilizationRates", &utilization)) {
    gpu.utilization = utilization.gpu;
    gpu.memory_utilization = utilization.memory;
  }
  unsigned int share = 0, period = 0;
  if (from.ask("nvmlDeviceGetEncoderUtilization", &share, &period)) gpu.encoder_utilization = share;
  if (from.ask("nvmlDeviceGetDecoderUtilization", &share, &period)) gpu.decoder_utilization = share;
  Memory memory{};
  memory.version = kMemoryVersion;
  MemoryV1 old{};
  if (from.ask("nvmlDeviceGetMemoryInfo_v2", &memory)) {
    gpu.memory_total = memory.total;
    gpu.memory_reserved = memory.reserved;
    gpu.memory_free = memory.free;
    gpu.memory_used = memory.used;
  } else if (from.ask("nvmlDeviceGetMemoryInfo", &old)) {
    gpu.memory_total = old.total;
    gpu.memory_free = old.free;
    gpu.memory_used = old.used;
  }
  if (from.ask("nvmlDeviceGetCurrentClocksEventReasons", &wide) ||
      from.ask("nvmlDeviceGetCurrentClocksThrottleReasons", &wide))
    gpu.clock_reasons = wide;
  constexpr const char* kPolicies[] = {"power",       "thermal",  "sync_boost",
                                       "board_limit", "low_util", "reliability"};
  for (int i = 0; i < 6; ++i) {
    ViolationTime time{};
    if (from.ask("nvmlDeviceGetViolationStatus", i, &time))
      gpu.violations[kPolicies[i]] = time.violation;
  }
  int mode = 0;
  if (from.ask("nvmlDeviceGetPersistenceMode", &mode))
    gpu.persistence_mode = static_cast<std::uint64_t>(mode);
  unsigned int current = 0, pending = 0;
  if (from.ask("nvmlDeviceGetMigMode", &current, &pending)) gpu.mig_mode = current;
  unsigned int count = 0;
  const Return listed = from.library().call("nvmlDeviceGetComputeRunningProcesses_v3",
                                            from.device(), &count, static_cast<void*>(nullptr));
  if (listed == kInsufficientSize || from.took("nvmlDeviceGetComputeRunningProcesses_v3", listed))
    gpu.compute_processes = count;
}

void read_pcie(GpuReader& from) {
  NvmlGpu& gpu = from.gpu();
  from.number("nvmlDeviceGetPcieReplayCounter", gpu.pcie_replays);
  from.number("nvmlDeviceGetCurrPcieLinkGeneration", gpu.pcie_generation);
  from.number("nvmlDeviceGetMaxPcieLinkGeneration", gpu.pcie_generation_max);
  from.number("nvmlDeviceGetCurrPcieLinkWidth", gpu.pcie_width);
  from.number("nvmlDeviceGetMaxPcieLinkWidth", gpu.pcie_width_max);
  if (gpu.pcie_sent) return;  // by the hardware's counters, without a wait
  NvmlGpu::Count rate;
  constexpr double kKilobyte = 1000;
  from.number("nvmlDeviceGetPcieThroughput", 0, rate);
  if (rate) gpu.pcie_sent = static_cast<double>(*rate) * kKilobyte;
  rate.reset();
  from.number("nvmlDeviceGetPcieThroughput", 1, rate);
  if (rate) gpu.pcie_received = static_cast<double>(*rate) * kKilobyte;
}

void read_errors(GpuReader& from) {
  NvmlGpu& gpu = from.gpu();
  unsigned int current = 0, pending = 0;
  if (from.ask("nvmlDeviceGetEccMode", &current, &pending)) {
    gpu.ecc = current;
    gpu.ecc_pending = pending;
  }
  unsigned long long count = 0;
  constexpr int kCorrected = 0, kUncorrected = 1, kVolatile = 0, kLife = 1;
  const auto ecc = [&](int kind, int since, NvmlGpu::Count& to) {
    if (from.ask("nvmlDeviceGetTotalEccErrors", kind, since, &count)) to = count;
  };
  ecc(kCorrected, kVolatile, gpu.ecc_corrected);
  ecc(kUncorrected, kVolatile, gpu.ecc_uncorrected);
  ecc(kCorrected, kLife, gpu.ecc_corrected_life);
  ecc(kUncorrected, kLife, gpu.ecc_uncorrected_life);
  const auto retired = [&](int cause, NvmlGpu::Count& to) {
    unsigned int pages = 0;
    const Return result = from.library().call("nvmlDeviceGetRetiredPages", from.device(), cause,
                                              &pages, static_cast<unsigned long long*>(nullptr));
    if (result == kInsufficientSize || from.took("nvmlDeviceGetRetiredPages", result)) to = pages;
  };
  retired(0, gpu.retired_single);
  retired(1, gpu.retired_double);
  int waiting = 0;
  if (from.ask("nvmlDeviceGetRetiredPagesPendingStatus", &waiting))
    gpu.retired_pending = static_cast<std::uint64_t>(waiting);
  unsigned int correctable = 0, uncorrectable = 0, remap_pending = 0, failed = 0;
  if (from.ask("nvmlDeviceGetRemappedRows", &correctable, &uncorrectable, &remap_pending,
               &failed)) {
    gpu.remapped_correctable = correctable;
    gpu.remapped_uncorrectable = uncorrectable;
    gpu.remap_pending = remap_pending;
    gpu.remap_failed = failed;
  }
}

std::optional<std::uint64_t> whole_value(const FieldValue& field) {
  if (field.result != kSuccess) return std::nullopt;
  switch (field.type) {
    case 0:
      return static_cast<std::uint64_t>(field.value.d);
    case 1:
      return field.value.u;
    case 2:
      return field.value.ul;
    default:
      return field.value.ull;
  }
}

void read_links(GpuReader& from) {
  NvmlGpu& gpu = from.gpu();
  NvmlGpu::Count* const sums[] = {&gpu.link_replays, &gpu.link_recoveries, &gpu.link_crc_flit,
                                  &gpu.link_crc_data};
  for (int link = 0; link < kMaxLinks; ++link) {
    int active = 0;
    if (!from.ask("nvmlDeviceGetNvLinkState", link, &active)) continue;
    gpu.links.push_back({link, active != 0});
    if (active == 0) continue;
    for (int counter = 0; counter < 4; ++counter) {
      unsigned long long value = 0;
      if (from.ask("nvmlDeviceGetNvLinkErrorCounter", link, counter, &value))
        *sums[counter] = sums[counter]->value_or(0) + value;
    }
  }
  std::array<FieldValue, 3> fields{};
  fields[0].field = kFieldMemoryTemperature;
  fields[1].field = kFieldLinkDataSent;
  fields[2].field = kFieldLinkDataReceived;
  fields[1].scope = fields[2].scope = kAllLinks;
  if (from.ask("nvmlDeviceGetFieldValues", static_cast<int>(fields.size()), fields.data())) {
    gpu.memory_temperature = whole_value(fields[0]);
    const auto sent = whole_value(fields[1]), received = whole_value(fields[2]);
    if (sent && received) gpu.link_data = *sent + *received;
  }
  FabricInfo fabric{};
  if (from.ask("nvmlDeviceGetGpuFabricInfo", &fabric)) gpu.fabric_state = fabric.state;
}

struct Ratio {
  unsigned int id;
  const char* name;
};

constexpr Ratio kRatios[] = {{1, "gr_engine"}, {2, "sm"},    {3, "sm_occupancy"}, {5, "tensor"},
                             {10, "dram"},     {11, "fp64"}, {12, "fp32"},        {13, "fp16"}};
constexpr unsigned int kPcieSent = 20, kPcieReceived = 21;  // MiB per second

/// A sample now, and ratios since the one before.
void read_profile(GpuReader& from, GpmSamples& state) {
  Library& library = from.library();
  if (!state.asked) {
    state.asked = true;
    GpmSupport support{kGpmVersion, 0};
    state.supported =
        library.call("nvmlGpmQueryDeviceSupport", from.device(), &support) == kSuccess &&
        support.supported != 0;
    for (GpmSample& sample : state.samples) {
      state.supported = state.supported && library.call("nvmlGpmSampleAlloc", &sample) == kSuccess;
    }
  }
  if (!state.supported) return;
  if (!from.ask("nvmlGpmSampleGet", state.samples[1])) return;
  if (++state.filled > 1) {
    GpmMetrics metrics{};
    metrics.version = kGpmVersion;
    metrics.first = state.samples[0];
    metrics.second = state.samples[1];
    for (const Ratio& ratio : kRatios) metrics.metrics[metrics.count++].id = ratio.id;
    metrics.metrics[metrics.count++].id = kPcieSent;
    metrics.metrics[metrics.count++].id = kPcieReceived;
    if (from.took("nvmlGpmMetricsGet", library.call("nvmlGpmMetricsGet", &metrics))) {
      std::size_t at = 0;
      for (const Ratio& ratio : kRatios) {
        const GpmMetric& metric = metrics.metrics[at++];
        if (metric.result == kSuccess) from.gpu().profile[ratio.name] = metric.value / 100;
      }
      constexpr double kMebibyte = 1024.0 * 1024;
      const GpmMetric &sent = metrics.metrics[at], &received = metrics.metrics[at + 1];
      if (sent.result == kSuccess) from.gpu().pcie_sent = sent.value * kMebibyte;
      if (received.result == kSuccess) from.gpu().pcie_received = received.value * kMebibyte;
    }
  }
  std::swap(state.samples[0], state.samples[1]);
}

}  // namespace

NvmlGpu read_gpu(Library& library, Device device, int index, GpmSamples& samples) {
  NvmlGpu gpu;
  gpu.index = index;
  GpuReader from(library, device, gpu);
  read_identity(from);
  if (gpu.lost) return gpu;  // every further call would say the same
  read_profile(from, samples);
  read_state(from);
  read_pcie(from);
  read_errors(from);
  read_links(from);
  return gpu;
}

}  // namespace muster::health::nvml
