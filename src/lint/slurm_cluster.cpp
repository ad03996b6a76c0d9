#include "lint/slurm_cluster.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hostlist.h"
#include "base/schema.h"
#include "base/words.h"

namespace muster::lint {
namespace {

// The last line that sets a key, as Slurm takes it; null: none.
const SlurmSetting* last_of(const SlurmLines& lines, std::string_view key) {
  const SlurmSetting* found = nullptr;
  for (const SlurmLine& line : lines) {
    if (const SlurmSetting* setting = line.find(key)) found = setting;
  }
  return found;
}

std::string lower_value(const SlurmLines& lines, std::string_view key) {
  const SlurmSetting* found = last_of(lines, key);
  return found != nullptr ? lower_case(found->value) : std::string();
}

bool is_yes(std::string_view value) {
  const std::string lower = lower_case(value);
  return lower == "yes" || lower == "true" || lower == "1";
}

std::set<std::string> nodes_of(const SlurmLines& slurm) {
  std::set<std::string> nodes;
  for (const SlurmLine& line : slurm) {
    const SlurmSetting* name = line.find("NodeName");
    if (name == nullptr || name->value == "DEFAULT") continue;
    for (std::string& node : expand_hosts(name->value)) nodes.insert(std::move(node));
  }
  return nodes;
}

const std::vector<std::string> kCgroupKeys = {
    "CgroupAutomount",       "CgroupMountpoint",        "CgroupPlugin",
    "ConstrainCores",        "ConstrainDevices",        "ConstrainRAMSpace",
    "ConstrainSwapSpace",    "AllowedRAMSpace",         "AllowedSwapSpace",
    "MaxRAMPercent",         "MaxSwapPercent",          "MemorySwappiness",
    "MinRAMSpace",           "SignalChildrenProcesses", "SystemdTimeout",
    "IgnoreSystemd",         "IgnoreSystemdOnFailure",  "EnableControllers",
    "EnableExtraControllers"};

const std::vector<std::string> kSlurmdbdKeys = {"AllowNoDefAcct",
                                                "AllResourcesAbsolute",
                                                "ArchiveDir",
                                                "ArchiveEvents",
                                                "ArchiveJobs",
                                                "ArchiveResvs",
                                                "ArchiveScript",
                                                "ArchiveSteps",
                                                "ArchiveSuspend",
                                                "ArchiveTXN",
                                                "ArchiveUsage",
                                                "AuthAltTypes",
                                                "AuthAltParameters",
                                                "AuthInfo",
                                                "AuthType",
                                                "CommitDelay",
                                                "CommunicationParameters",
                                                "DbdAddr",
                                                "DbdBackupHost",
                                                "DbdHost",
                                                "DbdPort",
                                                "DebugFlags",
                                                "DebugLevel",
                                                "DebugLevelSyslog",
                                                "DefaultQOS",
                                                "DisableArchiveCommands",
                                                "DisableCoordDBD",
                                                "HashPlugin",
                                                "LogFile",
                                                "LogTimeFormat",
                                                "MaxQueryTimeRange",
                                                "MessageTimeout",
                                                "Parameters",
                                                "PidFile",
                                                "PluginDir",
                                                "PrivateData",
                                                "PurgeEventAfter",
                                                "PurgeJobAfter",
                                                "PurgeResvAfter",
                                                "PurgeStepAfter",
                                                "PurgeSuspendAfter",
                                                "PurgeTXNAfter",
                                                "PurgeUsageAfter",
                                                "SlurmUser",
                                                "StorageBackupHost",
                                                "StorageHost",
                                                "StorageLoc",
                                                "StorageParameters",
                                                "StoragePass",
                                                "StoragePassScript",
                                                "StoragePort",
                                                "StorageType",
                                                "StorageUser",
                                                "TCPTimeout",
                                                "TLSParameters",
                                                "TLSType",
                                                "TrackSlurmctldDown",
                                                "TrackWCKey"};

void check_known(const SlurmLines& lines, const std::vector<std::string>& known, const char* rule,
                 const char* file, Findings& findings) {
  for (const SlurmLine& line : lines) {
    for (const SlurmSetting& setting : line.settings) {
      const bool right = std::any_of(known.begin(), known.end(), [&](const std::string& key) {
        return lower_case(key) == lower_case(setting.key);
      });
      if (right) continue;
      const auto near = did_you_mean(setting.key, known);
      findings.push_back(error_at(setting.where, rule,
                                  fmt::format("{} has no key {}", file, setting.key),
                                  near ? fmt::format("did you mean {}?", *near) : ""));
    }
  }
}

// Nodes that a topology leaves out can't be reached by a job over several switches.
void check_coverage(const std::set<std::string>& placed, const SlurmLines* slurm,
                    const Position& where, Findings& findings) {
  if (slurm == nullptr || placed.empty()) return;
  std::vector<std::string> absent;
  for (const std::string& node : nodes_of(*slurm)) {
    if (placed.count(node) == 0) absent.push_back(node);
  }
  if (absent.empty()) return;
  const std::size_t count = absent.size();
  absent.resize(std::min<std::size_t>(count, 4));
  findings.push_back(warning_at(where, "slurm-topology-nodes",
                                fmt::format("{} of the nodes of slurm.conf {} in no part of the "
                                            "topology: {}{}",
                                            count, count == 1 ? "is" : "are",
                                            fmt::join(absent, ", "), count > 4 ? ", …" : "")));
}

void check_members(const std::vector<std::string>& members, const SlurmLines* slurm,
                   const Position& where, std::set<std::string>& placed, Findings& findings) {
  const std::set<std::string> known = slurm != nullptr ? nodes_of(*slurm) : std::set<std::string>();
  bool told = false;
  for (const std::string& node : members) {
    if (!placed.insert(node).second && !told) {
      told = true;
      findings.push_back(error_at(where, "slurm-topology-nodes",
                                  fmt::format("{} is below two leaves of the topology", node)));
    }
    if (slurm == nullptr || known.empty() || known.count(node) > 0 || told) continue;
    told = true;
    findings.push_back(
        error_at(where, "slurm-topology-nodes", fmt::format("slurm.conf has no node {}", node)));
  }
}

}  // namespace

Findings check_cgroup(const SlurmLines& cgroup, const SlurmLines* slurm, const std::string& file) {
  Findings findings;
  check_known(cgroup, kCgroupKeys, "slurm-cgroup", "cgroup.conf", findings);
  if (const SlurmSetting* mount = last_of(cgroup, "CgroupAutomount"))
    findings.push_back(warning_at(mount->where, "slurm-cgroup",
                                  "CgroupAutomount is gone: Slurm no longer mounts cgroups",
                                  "leave it out"));
  if (slurm == nullptr) return findings;
  const bool gpus = lower_value(*slurm, "GresTypes").find("gpu") != std::string::npos;
  const SlurmSetting* devices = last_of(cgroup, "ConstrainDevices");
  if (gpus && (devices == nullptr || !is_yes(devices->value)))
    findings.push_back(warning_at(devices ? devices->where : Position{file, 1, 1}, "slurm-cgroup",
                                  "jobs see every GPU of a node, also those of other jobs",
                                  "ConstrainDevices=yes"));
  const std::string tasks = lower_value(*slurm, "TaskPlugin");
  for (const char* key : {"ConstrainCores", "ConstrainDevices", "ConstrainRAMSpace"}) {
    const SlurmSetting* setting = last_of(cgroup, key);
    if (setting == nullptr || !is_yes(setting->value)) continue;
    if (tasks.find("task/cgroup") == std::string::npos)
      findings.push_back(error_at(setting->where, "slurm-cgroup",
                                  fmt::format("{} does nothing: TaskPlugin of slurm.conf has no "
                                              "task/cgroup",
                                              key),
                                  "TaskPlugin=task/affinity,task/cgroup"));
  }
  return findings;
}

Findings check_topology(const SlurmLines& topology, const SlurmLines* slurm) {
  Findings findings;
  if (topology.empty()) return findings;
  std::map<std::string, const SlurmLine*> switches;
  std::map<std::string, std::vector<std::string>> below;
  std::set<std::string> placed;
  bool blocks = false;
  for (const SlurmLine& line : topology) {
    const SlurmSetting* name = line.find("SwitchName");
    const SlurmSetting* block = line.find("BlockName");
    blocks |= block != nullptr || line.find("BlockSizes") != nullptr;
    if (const SlurmSetting* nodes = line.find("Nodes"))
      check_members(expand_hosts(nodes->value), slurm, nodes->where, placed, findings);
    const SlurmSetting* own = name != nullptr ? name : block;
    if (own == nullptr) continue;
    if (!switches.emplace(own->value, &line).second)
      findings.push_back(
          error_at(own->where, "slurm-topology", fmt::format("{} is defined twice", own->value)));
    if (const SlurmSetting* inner = line.find("Switches"))
      below[own->value] = expand_hosts(inner->value);
    if (name != nullptr && line.find("Switches") == nullptr && line.find("Nodes") == nullptr)
      findings.push_back(error_at(name->where, "slurm-topology",
                                  fmt::format("{} has neither Switches nor Nodes", name->value)));
  }
  std::set<std::string> reached;
  for (const auto& [name, inner] : below) {
    const SlurmSetting* where = switches.at(name)->find("Switches");
    for (const std::string& one : inner) {
      reached.insert(one);
      if (one == name)
        findings.push_back(
            error_at(where->where, "slurm-topology", fmt::format("{} is below itself", name)));
      if (switches.count(one) == 0)
        findings.push_back(
            error_at(where->where, "slurm-topology", fmt::format("no switch {}", one)));
    }
  }
  std::vector<std::string> roots;
  for (const auto& [name, line] : switches) {
    if (reached.count(name) == 0 && line->find("SwitchName") != nullptr) roots.push_back(name);
  }
  if (!blocks && roots.size() > 1)
    findings.push_back(warning_at(
        topology.front().where, "slurm-topology",
        fmt::format("no job can span {}: no switch is above them", fmt::join(roots, " and ")),
        "SwitchName=root with them below"));
  check_coverage(placed, slurm, topology.front().where, findings);
  if (slurm == nullptr) return findings;
  const std::string plugin = lower_value(*slurm, "TopologyPlugin");
  const std::string right = blocks ? "topology/block" : "topology/tree";
  const SlurmSetting* setting = last_of(*slurm, "TopologyPlugin");
  if (plugin != right)
    findings.push_back(error_at(topology.front().where, "slurm-topology",
                                setting == nullptr
                                    ? "slurm.conf has no TopologyPlugin: nothing reads this file"
                                    : fmt::format("TopologyPlugin of slurm.conf is {}", plugin),
                                fmt::format("TopologyPlugin={}", right)));
  return findings;
}

Findings check_topology_yaml(const Node& topology, const SlurmLines* slurm) {
  Findings findings;
  if (!topology.is_sequence())
    return {error_at(topology.where(), "slurm-topology", "topology.yaml is a list of topologies")};
  std::set<std::string> names;
  std::size_t presets = 0;
  for (const Node& one : topology.items()) {
    const Node* name = one.find("topology");
    if (name == nullptr) {
      findings.push_back(
          error_at(one.where(), "slurm-topology", "a topology without its name", "topology: NAME"));
      continue;
    }
    if (!names.insert(name->text()).second)
      findings.push_back(error_at(name->where(), "slurm-topology",
                                  fmt::format("{} is defined twice", name->text())));
    presets += boolean_at(one, "cluster_default") == true ? 1 : 0;
    std::set<std::string> placed;
    std::set<std::string> inner;
    for (const auto& [kind, list, leaf] :
         {std::tuple{"tree", "switches", "switch"}, {"block", "blocks", "block"}}) {
      const Node* members = node_at(one, std::string(kind) + "." + list);
      if (members == nullptr) continue;
      for (const Node& member : members->items()) {
        inner.insert(text_at(member, leaf));
        if (const Node* nodes = member.find("nodes"))
          check_members(expand_hosts(nodes->text()), slurm, nodes->where(), placed, findings);
      }
      for (const Node& member : members->items()) {
        const Node* children = member.find("children");
        if (children == nullptr) continue;
        for (const std::string& child : expand_hosts(children->text())) {
          if (inner.count(child) == 0)
            findings.push_back(
                error_at(children->where(), "slurm-topology", fmt::format("no switch {}", child)));
        }
      }
    }
    check_coverage(placed, slurm, name->where(), findings);
  }
  if (presets > 1)
    findings.push_back(error_at(topology.where(), "slurm-topology",
                                "more than one topology is the cluster's default"));
  if (slurm == nullptr) return findings;
  for (const SlurmLine& line : *slurm) {
    const SlurmSetting* asked = line.find("Topology");
    if (asked == nullptr || line.find("PartitionName") == nullptr || names.empty()) continue;
    if (names.count(asked->value) == 0) {
      const auto near =
          did_you_mean(asked->value, std::vector<std::string>(names.begin(), names.end()));
      findings.push_back(error_at(topology.where(), "slurm-topology",
                                  fmt::format("slurm.conf asks for the topology {} on line {}",
                                              asked->value, asked->where.line),
                                  near ? fmt::format("did you mean {}?", *near) : ""));
    }
  }
  return findings;
}

Findings check_slurmdbd(const SlurmLines& slurmdbd, const SlurmLines* slurm,
                        const std::string& file) {
  Findings findings;
  check_known(slurmdbd, kSlurmdbdKeys, "slurm-slurmdbd", "slurmdbd.conf", findings);
  const Position top{file, 1, 1};
  const SlurmSetting* type = last_of(slurmdbd, "StorageType");
  if (type == nullptr)
    findings.push_back(error_at(top, "slurm-slurmdbd", "slurmdbd.conf has no StorageType",
                                "StorageType=accounting_storage/mysql"));
  if (last_of(slurmdbd, "DbdHost") == nullptr)
    findings.push_back(error_at(top, "slurm-slurmdbd", "slurmdbd.conf has no DbdHost"));
  const SlurmSetting* host = last_of(slurmdbd, "StorageHost");
  const std::string where = host != nullptr ? lower_case(host->value) : "localhost";
  const bool local = where == "localhost" || where == "127.0.0.1" || where == "::1";
  const std::string parameters = lower_value(slurmdbd, "StorageParameters");
  // What is filled in later may hold it.
  const bool open = parameters.find('$') != std::string::npos;
  if (!local && !open && parameters.find("ssl_ca") == std::string::npos &&
      parameters.find("ssl_cert") == std::string::npos) {
    findings.push_back(error_at(
        host->where, "slurm-slurmdbd-tls",
        "the database is on another host and no TLS is asked for: one that requires it refuses "
        "slurmdbd, and with any other the password crosses the network openly",
        "StorageParameters=SSL_CA=/etc/ssl/certs/ca-certificates.crt"));
  }
  if (slurm == nullptr) return findings;
  const SlurmSetting* said = last_of(*slurm, "AccountingStorageHost");
  const SlurmSetting* own = last_of(slurmdbd, "DbdHost");
  const SlurmSetting* address = last_of(slurmdbd, "DbdAddr");
  const auto short_name = [](const std::string& name) { return name.substr(0, name.find('.')); };
  if (said != nullptr && own != nullptr && short_name(said->value) != short_name(own->value) &&
      (address == nullptr || address->value != said->value) && said->value != "localhost")
    findings.push_back(error_at(
        own->where, "slurm-slurmdbd",
        fmt::format("slurm.conf asks {} for accounting, and this is {}", said->value, own->value)));
  const std::string port = lower_value(slurmdbd, "DbdPort");
  const std::string asked = lower_value(*slurm, "AccountingStoragePort");
  if ((port.empty() ? "6819" : port) != (asked.empty() ? "6819" : asked))
    findings.push_back(
        error_at(port.empty() ? top : last_of(slurmdbd, "DbdPort")->where, "slurm-slurmdbd",
                 fmt::format("slurm.conf asks port {}, and this is {}",
                             asked.empty() ? "6819" : asked, port.empty() ? "6819" : port)));
  const std::string first = lower_value(slurmdbd, "AuthType");
  const std::string second = lower_value(*slurm, "AuthType");
  if (!first.empty() && !second.empty() && first != second)
    findings.push_back(error_at(last_of(slurmdbd, "AuthType")->where, "slurm-slurmdbd",
                                fmt::format("AuthType of slurm.conf is {}", second)));
  if (lower_value(*slurm, "AccountingStorageType") != "accounting_storage/slurmdbd")
    findings.push_back(warning_at(top, "slurm-slurmdbd", "slurm.conf does not use slurmdbd",
                                  "AccountingStorageType=accounting_storage/slurmdbd"));
  return findings;
}

}  // namespace muster::lint
