// Alert rules as data, each with the fault that it is for: what promtool plays to show that it
// fires then, and only then. The data is facts/alerts.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "facts/dashboards.h"

namespace muster::facts {

/// A series and its values in promtool's notation; no values: the series is not there.
struct TestSeries {
  Placed series;
  std::string values;
};

/// A rule that gives each instance type a figure of facts/instances.yaml, as
/// NAME{instance_type="…"}, so that one alert fits all types.
struct InstanceRecord {
  std::string name, doc;
  std::string figure;  ///< gpus, gpu_memory_bytes, efa_devices, network_bytes_per_second
};

struct Alert {
  std::string name, group;
  Placed expr;
  std::string hold;  ///< how long it has to hold before it fires: `for`
  std::string severity;
  Placed summary;
  std::string action;                                     ///< what to do
  std::vector<TestSeries> fault;                          ///< what differs from a healthy cluster
  std::vector<std::map<std::string, std::string>> fires;  ///< labels of the alerts that this brings
  std::vector<std::string> also;  ///< other alerts that the same fault brings
  Position where;
};

struct Alerts {
  std::vector<InstanceRecord> records;
  std::vector<TestSeries> healthy;  ///< a cluster with nothing wrong
  std::vector<Alert> alerts;
};

Result<Alerts> load_alerts(const FileSystem& files, const std::filesystem::path& root);
Result<Alerts> parse_alerts(const std::string& text, const std::string& file);

}  // namespace muster::facts
