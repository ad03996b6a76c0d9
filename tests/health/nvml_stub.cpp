// A library with NVML's binary interface and no GPU: tests and demonstrations plant faults with it.
// What it tells stands in the file that MUSTER_NVML_STUB names, and is read anew at each call:
//
//   gpus = 8                       how many; driver = 570.86.15, library = 12.570.86.15
//   init = 9                       what nvmlInit_v2 answers (9: driver not loaded); 0 by default
//   gpu.0.temperature = 35         a value of one GPU; gpu.*.temperature of all
//   gpu.0.power = unsupported      the GPU has no such value
//   gpu.3.lost = 1                 fallen off the bus; gpu.3.error = 999: every call fails so
//   hang = nvmlDeviceGetPowerUsage this call never returns
//   xid.1 = 3:79                   an event of GPU 3, told once in the life of the process
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "health/nvml_abi.h"

namespace {

using namespace muster::health::nvml;  // NOLINT: the interface itself

using Settings = std::map<std::string, std::string>;

std::string stripped(std::string text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

Settings settings() {
  Settings all;
  const char* const file = std::getenv("MUSTER_NVML_STUB");
  std::ifstream in(file != nullptr ? file : "/dev/null");
  for (std::string line; std::getline(in, line);) {
    const auto equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    all[stripped(line.substr(0, equals))] = stripped(line.substr(equals + 1));
  }
  return all;
}

int count_of(const Settings& all) {
  const auto gpus = all.find("gpus");
  return gpus != all.end() ? std::atoi(gpus->second.c_str()) : 8;
}

Device device_of(unsigned int index) {
  return reinterpret_cast<Device>(static_cast<std::uintptr_t>(index) + 1);
}

unsigned int index_of(Device device) {
  return static_cast<unsigned int>(reinterpret_cast<std::uintptr_t>(device) - 1);
}

std::optional<std::string> text_of(const Settings& all, Device device, const std::string& key) {
  const std::string index = std::to_string(index_of(device));
  auto found = all.find("gpu." + index + "." + key);
  if (found == all.end()) found = all.find("gpu.*." + key);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

void hang_if_asked(const Settings& all, const char* call) {
  const auto hang = all.find("hang");
  if (hang == all.end() || hang->second != call) return;
  while (true) pause();
}

/// What a call on a device answers when it does not fail: its value, or that there is none.
Return value_of(const char* call, Device device, const std::string& key, const std::string& usual,
                std::string& value) {
  const Settings all = settings();
  hang_if_asked(all, call);
  if (text_of(all, device, "lost").value_or("0") == "1") return kGpuIsLost;
  if (const auto error = text_of(all, device, "error")) return std::atoi(error->c_str());
  value = text_of(all, device, key).value_or(usual);
  return value == "unsupported" ? kNotSupported : kSuccess;
}

template <typename Number>
Return number(const char* call, Device device, const std::string& key, unsigned long long usual,
              Number* to) {
  std::string value;
  const Return result = value_of(call, device, key, std::to_string(usual), value);
  if (result == kSuccess) *to = static_cast<Number>(std::strtoull(value.c_str(), nullptr, 0));
  return result;
}

Return text(const char* call, Device device, const std::string& key, const std::string& usual,
            char* to, unsigned int size) {
  std::string value;
  const Return result = value_of(call, device, key, usual, value);
  if (result == kSuccess) std::snprintf(to, size, "%s", value.c_str());
  return result;
}

std::string numbered(const char* form, unsigned int index) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, form, index);  // NOLINT: forms of this file
  return buffer;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
  const Settings all = settings();
  hang_if_asked(all, "nvmlInit_v2");
  const auto code = all.find("init");
  return code != all.end() ? std::atoi(code->second.c_str()) : kSuccess;
}
Return nvmlShutdown() {
  return kSuccess;
}

const char* nvmlErrorString(Return code) {
  switch (code) {
    case 9:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    case kResetRequired:
      return "GPU requires reset";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

Return nvmlSystemGetDriverVersion(char* to, unsigned int size) {
  const Settings all = settings();
  const auto driver = all.find("driver");
  std::snprintf(to, size, "%s", driver != all.end() ? driver->second.c_str() : "570.86.15");
  return kSuccess;
}

Return nvmlSystemGetNVMLVersion(char* to, unsigned int size) {
  std::snprintf(to, size, "12.570.86.15");
  return kSuccess;
}

Return nvmlDeviceGetCount_v2(unsigned int* count) {
  const Settings all = settings();
  hang_if_asked(all, "nvmlDeviceGetCount_v2");
  *count = static_cast<unsigned int>(count_of(all));
  return kSuccess;
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device) {
  const Settings all = settings();
  if (index >= static_cast<unsigned int>(count_of(all))) return 2;
  *device = device_of(index);
  return text_of(all, *device, "no_handle").value_or("0") == "1" ? kGpuIsLost : kSuccess;
}

Return nvmlDeviceGetUUID(Device device, char* to, unsigned int size) {
  return text("nvmlDeviceGetUUID", device, "uuid",
              numbered("GPU-00000000-0000-0000-0000-%012u", index_of(device)), to, size);
}
Return nvmlDeviceGetName(Device device, char* to, unsigned int size) {
  return text("nvmlDeviceGetName", device, "name", "NVIDIA H100 80GB HBM3", to, size);
}
Return nvmlDeviceGetSerial(Device device, char* to, unsigned int size) {
  return text("nvmlDeviceGetSerial", device, "serial", numbered("16530000%05u", index_of(device)),
              to, size);
}
Return nvmlDeviceGetVbiosVersion(Device device, char* to, unsigned int size) {
  return text("nvmlDeviceGetVbiosVersion", device, "vbios", "96.00.A5.00.01", to, size);
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  *pci = {};
  return text("nvmlDeviceGetPciInfo_v3", device, "bus_id",
              numbered("00000000:%02X:00.0", 0x53 + 0x10 * index_of(device)), pci->bus_id,
              sizeof pci->bus_id);
}
Return nvmlDeviceGetMinorNumber(Device device, unsigned int* to) {
  return number("nvmlDeviceGetMinorNumber", device, "minor", index_of(device), to);
}

Return nvmlDeviceGetClockInfo(Device device, int kind, unsigned int* to) {
  return number("nvmlDeviceGetClockInfo", device, kind == 1 ? "sm_clock" : "memory_clock",
                kind == 1 ? 1980 : 2619, to);
}
Return nvmlDeviceGetTemperature(Device device, int /*sensor*/, unsigned int* to) {
  return number("nvmlDeviceGetTemperature", device, "temperature", 35, to);
}
Return nvmlDeviceGetPowerUsage(Device device, unsigned int* to) {
  return number("nvmlDeviceGetPowerUsage", device, "power", 120500, to);
}
Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned int* to) {
  return number("nvmlDeviceGetEnforcedPowerLimit", device, "power_limit", 700000, to);
}
Return nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* to) {
  return number("nvmlDeviceGetTotalEnergyConsumption", device, "energy", 123456789, to);
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* to) {
  const Return result = number("nvmlDeviceGetUtilizationRates", device, "utilization", 0, &to->gpu);
  return result == kSuccess
             ? number("nvmlDeviceGetUtilizationRates", device, "memory_utilization", 0, &to->memory)
             : result;
}
Return nvmlDeviceGetEncoderUtilization(Device device, unsigned int* to, unsigned int* period) {
  *period = 1000;
  return number("nvmlDeviceGetEncoderUtilization", device, "encoder_utilization", 0, to);
}
Return nvmlDeviceGetDecoderUtilization(Device device, unsigned int* to, unsigned int* period) {
  *period = 1000;
  return number("nvmlDeviceGetDecoderUtilization", device, "decoder_utilization", 0, to);
}
Return nvmlDeviceGetMemoryInfo_v2(Device device, Memory* to) {
  if (to->version != kMemoryVersion) return 25;  // argument version mismatch
  constexpr unsigned long long kGiB = 1ULL << 30;
  to->total = 80 * kGiB;
  to->reserved = kGiB / 2;
  const Return result =
      number("nvmlDeviceGetMemoryInfo_v2", device, "memory_used", 4 * kGiB, &to->used);
  to->free = to->total - to->reserved - to->used;
  return result;
}
Return nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* to) {
  return number("nvmlDeviceGetCurrentClocksEventReasons", device, "clock_reasons", 1, to);
}
Return nvmlDeviceGetViolationStatus(Device device, int policy, ViolationTime* to) {
  *to = {};
  return number("nvmlDeviceGetViolationStatus", device, "violation." + std::to_string(policy), 0,
                &to->violation);
}
Return nvmlDeviceGetPersistenceMode(Device device, int* to) {
  return number("nvmlDeviceGetPersistenceMode", device, "persistence_mode", 1, to);
}
Return nvmlDeviceGetMigMode(Device device, unsigned int* current, unsigned int* pending) {
  *pending = 0;
  return number("nvmlDeviceGetMigMode", device, "mig_mode", 0, current);
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned int* count, void* /*list*/) {
  const unsigned int room = *count;
  const Return result =
      number("nvmlDeviceGetComputeRunningProcesses_v3", device, "compute_processes", 0, count);
  return result == kSuccess && *count > room ? kInsufficientSize : result;
}

Return nvmlDeviceGetPcieReplayCounter(Device device, unsigned int* to) {
  return number("nvmlDeviceGetPcieReplayCounter", device, "pcie_replays", 0, to);
}
Return nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned int* to) {
  return number("nvmlDeviceGetCurrPcieLinkGeneration", device, "pcie_generation", 5, to);
}
Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned int* to) {
  return number("nvmlDeviceGetMaxPcieLinkGeneration", device, "pcie_generation_max", 5, to);
}
Return nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned int* to) {
  return number("nvmlDeviceGetCurrPcieLinkWidth", device, "pcie_width", 16, to);
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned int* to) {
  return number("nvmlDeviceGetMaxPcieLinkWidth", device, "pcie_width_max", 16, to);
}
Return nvmlDeviceGetPcieThroughput(Device device, int direction, unsigned int* to) {
  return number("nvmlDeviceGetPcieThroughput", device,
                direction == 0 ? "pcie_sent" : "pcie_received", 0, to);
}

Return nvmlDeviceGetEccMode(Device device, unsigned int* current, unsigned int* pending) {
  const Return result = number("nvmlDeviceGetEccMode", device, "ecc", 1, current);
  return result == kSuccess
             ? number("nvmlDeviceGetEccMode", device, "ecc_pending", *current, pending)
             : result;
}
Return nvmlDeviceGetTotalEccErrors(Device device, int kind, int since, unsigned long long* to) {
  const std::string key =
      std::string(kind == 0 ? "ecc_corrected" : "ecc_uncorrected") + (since == 0 ? "" : "_life");
  return number("nvmlDeviceGetTotalEccErrors", device, key, 0, to);
}
Return nvmlDeviceGetRetiredPages(Device device, int cause, unsigned int* count,
                                 unsigned long long* /*list*/) {
  return number("nvmlDeviceGetRetiredPages", device,
                cause == 0 ? "retired_single" : "retired_double", 0, count);
}
Return nvmlDeviceGetRetiredPagesPendingStatus(Device device, int* to) {
  return number("nvmlDeviceGetRetiredPagesPendingStatus", device, "retired_pending", 0, to);
}
Return nvmlDeviceGetRemappedRows(Device device, unsigned int* correctable,
                                 unsigned int* uncorrectable, unsigned int* pending,
                                 unsigned int* failed) {
  constexpr const char* kCall = "nvmlDeviceGetRemappedRows";
  const Return result = number(kCall, device, "remapped_correctable", 0, correctable);
  if (result != kSuccess) return result;
  number(kCall, device, "remapped_uncorrectable", 0, uncorrectable);
  number(kCall, device, "remap_pending", 0, pending);
  return number(kCall, device, "remap_failed", 0, failed);
}

Return nvmlDeviceGetNvLinkState(Device device, unsigned int link, int* active) {
  std::string links;
  const Return result = value_of("nvmlDeviceGetNvLinkState", device, "links", "18", links);
  if (result != kSuccess) return result;
  if (link >= static_cast<unsigned int>(std::atoi(links.c_str()))) return kNotSupported;
  return number("nvmlDeviceGetNvLinkState", device, "link." + std::to_string(link), 1, active);
}
Return nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned int /*link*/, int counter,
                                       unsigned long long* to) {
  constexpr const char* kKeys[] = {"link_replays", "link_recoveries", "link_crc_flit",
                                   "link_crc_data"};
  return number("nvmlDeviceGetNvLinkErrorCounter", device, kKeys[counter], 0, to);
}
Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* fields) {
  for (int i = 0; i < count; ++i) {
    fields[i].type = 3;
    const char* const key = fields[i].field == kFieldMemoryTemperature ? "memory_temperature"
                            : fields[i].field == kFieldLinkDataSent    ? "link_sent"
                                                                       : "link_received";
    fields[i].result =
        number("nvmlDeviceGetFieldValues", device, key,
               fields[i].field == kFieldMemoryTemperature ? 41 : 1024, &fields[i].value.ull);
  }
  return kSuccess;
}
Return nvmlDeviceGetGpuFabricInfo(Device device, FabricInfo* to) {
  *to = {};
  return number("nvmlDeviceGetGpuFabricInfo", device, "fabric_state", 3, &to->state);
}

Return nvmlEventSetCreate(EventSet* set) {
  static int one = 0;
  *set = reinterpret_cast<EventSet>(&one);
  return kSuccess;
}
Return nvmlDeviceRegisterEvents(Device /*device*/, unsigned long long /*types*/, EventSet /*set*/) {
  return kSuccess;
}
Return nvmlEventSetWait_v2(EventSet /*set*/, EventData* to, unsigned int /*limit*/) {
  static std::map<std::string, bool> told;
  for (const auto& [key, value] : settings()) {
    if (key.rfind("xid.", 0) != 0 || told[key]) continue;
    told[key] = true;
    *to = {};
    to->device = device_of(static_cast<unsigned int>(std::atoi(value.c_str())));
    to->type = kEventXid;
    to->data = std::strtoull(value.c_str() + value.find(':') + 1, nullptr, 10);
    return kSuccess;
  }
  return kTimeout;
}

Return nvmlGpmQueryDeviceSupport(Device device, GpmSupport* to) {
  return number("nvmlGpmQueryDeviceSupport", device, "gpm", 1, &to->supported);
}
Return nvmlGpmSampleAlloc(GpmSample* sample) {
  static int one = 0;
  *sample = reinterpret_cast<GpmSample>(&one);
  return kSuccess;
}
Return nvmlGpmSampleGet(Device device, GpmSample /*sample*/) {
  unsigned int supported = 0;
  return number("nvmlGpmSampleGet", device, "gpm", 1, &supported);
}
Return nvmlGpmMetricsGet(GpmMetrics* metrics) {
  const Settings all = settings();
  for (unsigned int i = 0; i < metrics->count; ++i) {
    const auto value = all.find("gpm." + std::to_string(metrics->metrics[i].id));
    metrics->metrics[i].result = kSuccess;
    metrics->metrics[i].value = value != all.end() ? std::atof(value->second.c_str()) : 0;
  }
  return kSuccess;
}

}  // extern "C"
