#include "metrics/pods.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::metrics {
namespace {

using nlohmann::json;

const json& member(const json& of, const char* name) {
  static const json kNone;
  if (!of.is_object()) return kNone;
  const auto found = of.find(name);
  return found != of.end() ? *found : kNone;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// DeviceIDs: a list, or since 1.20 lists by NUMA node.
void add_devices(const json& devices, const PodDevice& pod, PodDevices& to) {
  for (const json& one : devices) {
    if (one.is_string()) {
      to[one.get<std::string>()] = pod;
    } else if (one.is_array()) {
      add_devices(one, pod, to);
    }
  }
}

}  // namespace

Result<PodDevices> parse_pods(std::string_view checkpoint, const std::vector<std::string>& folders,
                              const std::string& file) {
  const json root = json::parse(checkpoint, nullptr, false);
  const json& data = member(root, "Data");
  const json& entries = member(data, "PodDeviceEntries");
  if (!data.is_object() || !(entries.is_array() || entries.is_null())) {
    return Failure(error_at({file, 1, 1}, "pods",
                            "this is no checkpoint of the kubelet's device plugins",
                            "kubelet_internal_checkpoint of /var/lib/kubelet/device-plugins"));
  }
  std::map<std::string, PodDevice> pods;  // by uid
  for (const std::string& folder : folders) {
    const auto first = folder.find('_');
    const auto last = folder.rfind('_');
    if (first == std::string::npos || last == first) continue;
    pods[folder.substr(last + 1)] = {"", folder.substr(0, first),
                                     folder.substr(first + 1, last - first - 1)};
  }
  PodDevices devices;
  for (const json& entry : entries) {
    const auto pod = pods.find(text_of(member(entry, "PodUID")));
    if (pod == pods.end()) continue;
    PodDevice one = pod->second;
    one.container = text_of(member(entry, "ContainerName"));
    add_devices(member(entry, "DeviceIDs"), one, devices);
  }
  return devices;
}

}  // namespace muster::metrics
