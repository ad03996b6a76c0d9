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

bool collect_efa(const health::HostView& view, Exposition& to, int* unreadable) {
  const auto devices = view.list(kClass);
  if (!devices) return false;
  const MetricRow& info = metric_row("node_amazonefa_info");
  const MetricRow& bad = metric_row("muster_efa_unreadable");
  int all = 0;
  for (const std::string& device : *devices) {
    const Labels labels = {{"device", device}};
    to.add(info.name, info.type, info.help, labels, 1);
    int failed = collect_folder(view, kClass / device / "hw_counters", labels, to);
    const auto ports = view.list(kClass / device / "ports");
    if (!ports) ++failed;
    for (const std::string& port : ports ? *ports : std::vector<std::string>()) {
      failed += collect_folder(view, kClass / device / "ports" / port / "hw_counters",
                               {{"device", device}, {"port", port}}, to);
    }
    to.add(bad.name, bad.type, bad.help, labels, failed);
    all += failed;
  }
  if (unreadable != nullptr) *unreadable = all;
  return true;
}

}  // namespace muster::metrics
