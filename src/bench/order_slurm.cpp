// Slurm's trees of switches: topology.conf, and topology.yaml of release 25.05 and later, written
// and read.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/document.h"
#include "base/schema.h"
#include "base/text.h"
#include "base/words.h"
#include "bench/hunt.h"
#include "bench/hunt_run.h"
#include "bench/order.h"

namespace muster::bench {
namespace {

constexpr std::size_t kDeepest = 16;  // layers; Slurm's own limit is far above what is built

/// A switch, with the hosts below it or the switches.
struct Switch {
  std::string name;
  std::vector<std::string> hosts, switches;
  Position where;
};

/// Switches of the hosts, leaves first and each layer after the one below it.
std::vector<Switch> tree_of(const std::vector<std::string>& hosts,
                            const std::map<std::string, std::string>& instances,
                            const NetworkPaths& paths) {
  std::vector<std::vector<Switch>> layers;  // by distance from the leaves
  const auto at = [&layers](std::size_t height, const std::string& name) -> Switch& {
    if (layers.size() <= height) layers.resize(height + 1);
    auto& layer = layers[height];
    const auto known =
        std::find_if(layer.begin(), layer.end(), [&](const Switch& s) { return s.name == name; });
    if (known != layer.end()) return *known;
    layer.push_back({name, {}, {}, {}});
    return layer.back();
  };
  for (const std::string& host : hosts) {
    const auto instance = instances.find(host);
    const auto found = paths.find(instance != instances.end() ? instance->second : host);
    if (found == paths.end() || found->second.empty()) continue;
    const auto& path = found->second;
    at(0, path.back()).hosts.push_back(host);
    for (std::size_t i = path.size() - 1; i > 0; --i) {
      auto& below = at(path.size() - i, path[i - 1]).switches;
      if (std::find(below.begin(), below.end(), path[i]) == below.end()) below.push_back(path[i]);
    }
  }
  std::vector<Switch> all;
  for (auto& layer : layers) {
    for (Switch& one : layer) all.push_back(std::move(one));
  }
  return all;
}

/// Names in Slurm's short form, as values hold them.
Result<std::vector<std::string>> names_of(const std::string& text, const Position& where) {
  auto names = expand_node_list(text);
  if (names) return names;
  Finding finding = names.findings().front();
  finding.where = where;
  return Failure(std::move(finding));
}

/// "SwitchName=s1 Nodes=n[1-4]" line by line; other words (LinkSpeed=…) say nothing of the tree.
Result<std::vector<Switch>> read_conf(std::string_view text, const std::string& file) {
  std::vector<Switch> switches;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const Position where{file, ++number, 1};
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    Switch one;
    one.where = where;
    for (const std::string_view word : words) {
      const std::string_view key = word.substr(0, word.find('='));
      const std::string value(word.substr(std::min(word.size(), key.size() + 1)));
      if (key == "SwitchName") one.name = value;
      if (key != "Nodes" && key != "Switches") continue;
      auto names = names_of(value, where);
      if (!names) return names.error();
      (key == "Nodes" ? one.hosts : one.switches) = std::move(*names);
    }
    if (one.name.empty())
      return Failure(error_at(where, "topology", "not a switch of topology.conf",
                              "SwitchName=s1 Nodes=n[1-4]"));
    switches.push_back(std::move(one));
  }
  return switches;
}

Result<std::vector<Switch>> read_yaml(std::string_view text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return document.error();
  std::vector<Switch> switches;
  bool found = false;
  const auto topologies =
      document->is_sequence() ? document->items() : std::vector<Node>{*document};
  for (const Node& topology : topologies) {
    const Node* list = topology.is_mapping() ? node_at(topology, "tree.switches") : nullptr;
    if (list == nullptr || !list->is_sequence()) continue;
    found = true;
    for (const Node& node : list->items()) {
      Switch one;
      one.where = node.where();
      one.name = text_at(node, "switch");
      for (const auto& [key, into] :
           {std::pair{"nodes", &one.hosts}, std::pair{"children", &one.switches}}) {
        const std::string value = text_at(node, key);
        if (value.empty()) continue;
        auto names = names_of(value, node.where());
        if (!names) return names.error();
        *into = std::move(*names);
      }
      if (one.name.empty())
        return Failure(error_at(node.where(), "topology", "a switch without a name",
                                "switch: s1, with nodes: or children:"));
      switches.push_back(std::move(one));
    }
  }
  if (!found)
    return Failure(error_at(document->where(), "topology", "there is no tree of switches in it",
                            "- topology: NAME, tree: {switches: […]}"));
  return switches;
}

}  // namespace

std::string slurm_topology(const std::vector<std::string>& hosts,
                           const std::map<std::string, std::string>& instances,
                           const NetworkPaths& paths) {
  std::string text = "# Made by `muster bench order`; TopologyPlugin=topology/tree\n";
  for (const Switch& one : tree_of(hosts, instances, paths)) {
    text += one.hosts.empty()
                ? fmt::format("SwitchName={} Switches={}\n", one.name, fmt::join(one.switches, ","))
                : fmt::format("SwitchName={} Nodes={}\n", one.name, slurm_node_list(one.hosts));
  }
  return text;
}

std::string slurm_topology_yaml(const std::vector<std::string>& hosts,
                                const std::map<std::string, std::string>& instances,
                                const NetworkPaths& paths) {
  std::string text =
      "# Made by `muster bench order`; read by Slurm 25.05 and later\n"
      "---\n"
      "- topology: network\n"
      "  cluster_default: true\n"
      "  tree:\n"
      "    switches:\n";
  for (const Switch& one : tree_of(hosts, instances, paths)) {
    text += fmt::format("      - switch: {}\n", one.name);
    text += one.hosts.empty() ? fmt::format("        children: {}\n", fmt::join(one.switches, ","))
                              : fmt::format("        nodes: {}\n", slurm_node_list(one.hosts));
  }
  return text;
}

Result<void> add_slurm_topology(std::string_view text, const std::string& file,
                                NetworkPaths& paths) {
  const bool conf = text.find("SwitchName=") != std::string_view::npos;
  const auto switches = conf ? read_conf(text, file) : read_yaml(text, file);
  if (!switches) return switches.error();
  std::map<std::string, const Switch*> by_name;
  std::map<std::string, std::string> above;
  for (const Switch& one : *switches) {
    if (!by_name.emplace(one.name, &one).second)
      return Failure(error_at(one.where, "topology", "a second switch " + one.name, "one of each"));
    for (const std::string& name : one.switches) {
      if (!above.emplace(name, one.name).second)
        return Failure(error_at(one.where, "topology",
                                fmt::format("{} is below {} and {}", name, above[name], one.name),
                                "a tree: one switch above each"));
    }
  }
  for (const Switch& one : *switches) {
    std::vector<std::string> path;
    for (std::string name = one.name; !name.empty();) {
      if (path.size() == kDeepest)
        return Failure(error_at(one.where, "topology", one.name + " is below itself", "a tree"));
      path.insert(path.begin(), name);
      const auto up = above.find(name);
      name = up != above.end() ? up->second : std::string();
    }
    for (const std::string& name : one.switches) {
      if (by_name.count(name) == 0)
        return Failure(
            error_at(one.where, "topology",
                     fmt::format("{} has {} below it, which is not there", one.name, name),
                     "a line of its own for each switch"));
    }
    for (const std::string& host : one.hosts) {
      if (!paths.emplace(host, path).second)
        return Failure(
            error_at(one.where, "topology", host + " is below two switches", "each host once"));
    }
  }
  return {};
}

}  // namespace muster::bench
