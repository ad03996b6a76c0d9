#include "bench/record.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/formulas.h"

namespace muster::bench {

bool Log::empty() const {
  return std::all_of(runs.begin(), runs.end(), [](const Run& run) {
    return run.records.empty() && run.wrong.empty() && run.broken.empty();
  });
}

std::string series_key(const Run& run, const Record& record) {
  std::string key = fmt::format("{}/{}", record.tool, record.operation);
  const auto add = [&key](const std::string& part) {
    if (!part.empty()) key += "/" + part;
  };
  add(record.type);
  add(record.reduction);
  add(record.placement);
  add(record.variant);
  if (record.root && *record.root >= 0) key += fmt::format("/root={}", *record.root);
  if (const auto ranks = record.ranks ? record.ranks : ranks_of(run))
    key += fmt::format("/ranks={}", *ranks);
  if (const auto nodes = record.nodes ? record.nodes : nodes_of(run))
    key += fmt::format("/nodes={}", *nodes);
  for (const auto& [name, value] : run.settings) key += fmt::format("/{}={}", name, value);
  return key;
}

std::vector<std::string> hosts_of(const Run& run) {
  std::vector<Device> sorted = run.devices;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Device& a, const Device& b) { return a.rank < b.rank; });
  std::vector<std::string> hosts;
  for (const Device& device : sorted) {
    if (!device.host.empty() && std::find(hosts.begin(), hosts.end(), device.host) == hosts.end())
      hosts.push_back(device.host);
  }
  return hosts;
}

std::optional<int> ranks_of(const Run& run) {
  if (run.ranks) return run.ranks;
  if (!run.devices.empty()) return static_cast<int>(run.devices.size());
  // The largest sizes have the most digits.
  for (auto row = run.records.rbegin(); row != run.records.rend(); ++row) {
    if (!row->algbw || !row->busbw) continue;
    if (const auto ranks = implied_ranks(row->operation, *row->algbw, *row->busbw)) return ranks;
  }
  return std::nullopt;
}

std::optional<int> nodes_of(const Run& run) {
  if (run.nodes) return run.nodes;
  const auto hosts = hosts_of(run);
  if (hosts.empty()) return std::nullopt;
  return static_cast<int>(hosts.size());
}

}  // namespace muster::bench
