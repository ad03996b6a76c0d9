// What this program uses of NVML's binary interface, by NVIDIA's documentation of it. The driver
// brings the library; no header of it is needed to build.
#pragma once

#include <cstdint>

namespace muster::health::nvml {

using Device = struct DeviceTag*;
using EventSet = struct EventSetTag*;
using GpmSample = struct GpmSampleTag*;
using Return = int;

constexpr Return kSuccess = 0;
constexpr Return kNotSupported = 3;
constexpr Return kNoPermission = 4;
constexpr Return kNotFound = 6;
constexpr Return kInsufficientSize = 7;
constexpr Return kTimeout = 10;
constexpr Return kFunctionNotFound = 13;
constexpr Return kGpuIsLost = 15;
constexpr Return kResetRequired = 16;
constexpr Return kNoData = 21;

struct Utilization {
  unsigned int gpu, memory;
};

struct Memory {  // version 2
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned int kMemoryVersion = sizeof(Memory) | (2U << 24);

struct MemoryV1 {
  unsigned long long total, free, used;
};

struct PciInfo {  // version 3
  char bus_id_legacy[16];
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct ViolationTime {
  unsigned long long reference, violation;  // us, ns
};

struct FieldValue {
  unsigned int field, scope;
  long long timestamp, latency;
  int type;  // 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 long long
  Return result;
  union {
    double d;
    unsigned int u;
    unsigned long ul;
    unsigned long long ull;
    long long ll;
  } value;
};
constexpr unsigned int kFieldMemoryTemperature = 82;
constexpr unsigned int kFieldLinkDataSent = 138;  // KiB; all links with the scope below
constexpr unsigned int kFieldLinkDataReceived = 139;
constexpr unsigned int kAllLinks = ~0U;

struct FabricInfo {
  unsigned char cluster[16];
  Return status;
  unsigned int clique;
  unsigned char state;
};

struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned int gpu_instance, compute_instance;
};
constexpr unsigned long long kEventXid = 8;

struct GpmSupport {
  unsigned int version, supported;
};
constexpr unsigned int kGpmVersion = 1;

struct GpmMetric {
  unsigned int id;
  Return result;
  double value;
  struct {
    char *short_name, *long_name, *unit;
  } info;
};

constexpr unsigned int kGpmMetricsMax = 400;  // more than any version of the library has
struct GpmMetrics {
  unsigned int version, count;
  GpmSample first, second;
  GpmMetric metrics[kGpmMetricsMax];
};

constexpr int kMaxLinks = 18;

}  // namespace muster::health::nvml
