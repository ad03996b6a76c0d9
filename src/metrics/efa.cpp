#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "base/words.h"
#include "metrics/catalogue.h"
#include "metrics/collectors.h"

namespace muster::metrics {
namespace {

const std::filesystem::path kClass = "/sys/class/infiniband";

/// The counters in a folder; how many could not be read.
int collect_folder(const health::HostView& view, const std::filesystem::path& folder,
                   const Labels& labels, Exposition& to) {
  const auto names = view.list(folder);
  if (!names) return 0;  // older drivers have no counters of the device
  int failed = 0;
  for (const std::string& name : *names) {
    if (name == "lifespan") continue;  // how long the kernel keeps the figures, no counter
    const auto text = view.file(folder / name);
    const auto value = text ? whole(trimmed(first_line(*text))) : std::nullopt;
    if (!value) {
      ++failed;
      continue;
    }
    const std::string metric = "node_amazonefa_" + metric_name(name);
    to.add(metric, Type::kCounter, metric_row(metric).help, labels, static_cast<double>(*value));
  }
  return failed;
}

}  // namespace

void collect_efa(const health::HostView& view, Exposition& to) {
  const auto devices = view.list(kClass);
  if (!devices) return;
  int failed = 0;
  for (const std::string& device : *devices) {
    to.add("node_amazonefa_info", Type::kGauge, "1 for each device", {{"device", device}}, 1);
    failed += collect_folder(view, kClass / device / "hw_counters", {{"device", device}}, to);
    const auto ports = view.list(kClass / device / "ports");
    if (!ports) {
      ++failed;
      continue;
    }
    for (const std::string& port : *ports) {
      failed += collect_folder(view, kClass / device / "ports" / port / "hw_counters",
                               {{"device", device}, {"port", port}}, to);
    }
  }
  to.add("muster_collector_unreadable", Type::kGauge, "Files that a collector could not read",
         {{"collector", "efa"}}, failed);
}

}  // namespace muster::metrics
