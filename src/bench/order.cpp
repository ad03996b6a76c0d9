#include "bench/order.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/document.h"
#include "base/words.h"

namespace muster::bench {
namespace {

using Path = std::vector<std::string>;

const Path& path_of(const std::string& host, const std::map<std::string, std::string>& instances,
                    const NetworkPaths& paths) {
  static const Path kNone;
  const auto instance = instances.find(host);
  const auto found = paths.find(instance != instances.end() ? instance->second : host);
  return found != paths.end() ? found->second : kNone;
}

/// The layer above the lowest: what hosts share when a switch of theirs is one hop away.
std::string group_of(const std::string& host, const std::map<std::string, std::string>& instances,
                     const NetworkPaths& paths) {
  const Path& path = path_of(host, instances, paths);
  if (path.empty()) return "?" + host;
  return path.size() == 1 ? path[0] : path[path.size() - 2];
}

/// Hosts that share the node at this depth next to each other, and so on below it.
std::vector<std::string> ordered(const std::vector<std::string>& hosts, std::size_t depth,
                                 const std::map<std::string, std::string>& instances,
                                 const NetworkPaths& paths) {
  std::vector<std::string> keys;
  std::map<std::string, std::vector<std::string>> groups;
  bool deeper = false;
  for (const std::string& host : hosts) {
    const Path& path = path_of(host, instances, paths);
    const std::string key = depth < path.size() ? path[depth] : std::string();
    deeper = deeper || depth + 1 < path.size();
    if (groups.count(key) == 0) keys.push_back(key);
    groups[key].push_back(host);
  }
  std::vector<std::string> result;
  for (const std::string& key : keys) {
    const auto part = deeper ? ordered(groups[key], depth + 1, instances, paths) : groups[key];
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

Failure bad_topology(const Node& node, const std::string& message, const std::string& hint) {
  return Failure(error_at(node.where(), "topology", message, hint));
}

std::string text_member(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found != nullptr && found->is_scalar() ? found->text() : std::string();
}

}  // namespace

std::vector<std::string> parse_hosts(std::string_view text, const std::string& file,
                                     Findings& findings) {
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (!seen.insert(std::string(words[0])).second) {
      findings.push_back(warning_at({file, number, 1}, "host-repeated",
                                    fmt::format("{} is listed again", words[0]), "each host once"));
      continue;
    }
    hosts.emplace_back(words[0]);
  }
  return hosts;
}

Result<void> add_topology(std::string_view text, const std::string& file, NetworkPaths& paths) {
  const auto document = parse_json(text, file);
  if (!document) return document.error();
  const Node* instances = document->is_mapping() ? document->find("Instances") : nullptr;
  if (instances == nullptr || !instances->is_sequence()) {
    return bad_topology(*document, "there is no list \"Instances\"",
                        "the answer of: aws ec2 describe-instance-topology");
  }
  for (const Node& one : instances->items()) {
    const std::string id = text_member(one, "InstanceId");
    const Node* nodes = one.find("NetworkNodes");
    if (id.empty() || nodes == nullptr || !nodes->is_sequence() || nodes->items().empty()) {
      return bad_topology(one, "an instance without InstanceId or NetworkNodes",
                          "both, from the top of the network to the bottom");
    }
    Path path;
    for (const Node& node : nodes->items()) path.push_back(node.text());
    paths[id] = std::move(path);
  }
  return {};
}

Result<std::map<std::string, std::string>> parse_instance_names(std::string_view text,
                                                                const std::string& file) {
  std::map<std::string, std::string> names;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    const auto document = parse_json(text, file);
    if (!document) return document.error();
    const Node* reservations = document->find("Reservations");
    if (reservations == nullptr || !reservations->is_sequence()) {
      return bad_topology(*document, "there is no list \"Reservations\"",
                          "the answer of: aws ec2 describe-instances");
    }
    for (const Node& reservation : reservations->items()) {
      const Node* instances = reservation.find("Instances");
      if (instances == nullptr || !instances->is_sequence()) continue;
      for (const Node& one : instances->items()) {
        const std::string id = text_member(one, "InstanceId");
        const std::string name = text_member(one, "PrivateDnsName");
        for (const std::string& key :
             {name, name.substr(0, name.find('.')), text_member(one, "PrivateIpAddress")}) {
          if (!key.empty()) names[key] = id;
        }
      }
    }
    return names;
  }
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (words.size() != 2) {
      return Failure(error_at({file, number, 1}, "topology", "not a host and an instance id",
                              "two words a line"));
    }
    names[std::string(words[0])] = words[1];
  }
  return names;
}

int crossings(const std::vector<std::string>& hosts,
              const std::map<std::string, std::string>& instances, const NetworkPaths& paths) {
  if (hosts.size() < 2) return 0;
  int count = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string& next = hosts[(i + 1) % hosts.size()];
    if (group_of(hosts[i], instances, paths) != group_of(next, instances, paths)) ++count;
  }
  return count;
}

RankOrder order_ranks(const std::vector<std::string>& hosts,
                      const std::map<std::string, std::string>& instances,
                      const NetworkPaths& paths) {
  RankOrder order;
  std::vector<std::string> known;
  std::set<std::string> groups;
  for (const std::string& host : hosts) {
    if (path_of(host, instances, paths).empty()) {
      order.unknown.push_back(host);
    } else {
      known.push_back(host);
      groups.insert(group_of(host, instances, paths));
    }
  }
  order.hosts = ordered(known, 0, instances, paths);
  order.hosts.insert(order.hosts.end(), order.unknown.begin(), order.unknown.end());
  order.groups = static_cast<int>(groups.size());
  order.before = crossings(hosts, instances, paths);
  order.after = crossings(order.hosts, instances, paths);
  return order;
}

std::string host_file(const std::vector<std::string>& hosts) {
  std::string text;
  for (const std::string& host : hosts) text += host + "\n";
  return text;
}

std::string openmpi_host_file(const std::vector<std::string>& hosts, int slots) {
  std::string text;
  for (const std::string& host : hosts) text += fmt::format("{} slots={}\n", host, slots);
  return text;
}

std::string openmpi_rank_file(const std::vector<std::string>& hosts, int slots) {
  std::string text;
  int rank = 0;
  for (const std::string& host : hosts) {
    for (int slot = 0; slot < slots; ++slot)
      text += fmt::format("rank {}={} slot={}\n", rank++, host, slot);
  }
  return text;
}

std::string slurm_host_file(const std::vector<std::string>& hosts, int slots) {
  std::string text;
  for (const std::string& host : hosts) {
    for (int slot = 0; slot < slots; ++slot) text += host + "\n";
  }
  return text;
}

}  // namespace muster::bench
