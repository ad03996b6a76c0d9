// Host lists, saved topologies, node lists and baselines: never crashes, and an order is of the
// same hosts.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/baseline.h"
#include "bench/hunt_run.h"
#include "bench/order.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  muster::Findings findings;
  const auto hosts = muster::bench::parse_hosts(text, "hosts", findings);
  muster::bench::NetworkPaths paths;
  const auto added = muster::bench::add_topology(text, "t.json", paths);
  if (!added && added.findings().front().message.empty()) std::abort();
  muster::bench::NetworkPaths tree;
  if (muster::bench::add_slurm_topology(text, "topology", tree) && !tree.empty()) {
    // What was read is written as it can be read again.
    std::vector<std::string> below;
    for (const auto& [host, path] : tree) below.push_back(host);
    (void)muster::bench::slurm_topology_yaml(below, {}, tree);
  }
  const auto names = muster::bench::parse_instance_names(text, "i");
  const auto order = muster::bench::order_ranks(
      hosts, names ? *names : std::map<std::string, std::string>(), paths);
  if (order.hosts.size() != hosts.size()) std::abort();
  if (const auto list = muster::bench::expand_node_list(text.substr(0, 200)))
    (void)muster::bench::slurm_node_list(*list);
  (void)muster::bench::parse_baseline(text, "b.yaml");
  return 0;
}
