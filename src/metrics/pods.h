// Which pod holds which GPU, from two things that every kubelet keeps as plain files: its
// checkpoint of device plugins (pod uid, container, devices), and the names of its folders of logs
// (NAMESPACE_POD_UID).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::metrics {

struct PodDevice {
  std::string container, space, pod;  ///< space: the namespace

  bool operator==(const PodDevice&) const = default;
};

/// By the device's id: a GPU's UUID.
using PodDevices = std::map<std::string, PodDevice>;

/// /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint, and the names in /var/log/pods. A
/// pod whose folder is not there (any more) holds no device. Failure: this is no checkpoint.
Result<PodDevices> parse_pods(std::string_view checkpoint, const std::vector<std::string>& folders,
                              const std::string& file);

}  // namespace muster::metrics
