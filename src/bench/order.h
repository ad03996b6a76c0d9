// Rank order by the network: hosts that share a switch next to each other, so that a ring crosses
// between switches as seldom as it can. From EC2's instance topology, saved as JSON; other networks
// may be given in the same form.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace muster::bench {

/// Where hosts are: network nodes from the top to the one nearest the host, by host name.
using NetworkPaths = std::map<std::string, std::vector<std::string>>;

/// Names, one a line: blank lines and comments (#) are skipped, a name that comes again is left
/// out with a finding.
std::vector<std::string> parse_hosts(std::string_view text, const std::string& file,
                                     Findings& findings);

/// Adds the answer of DescribeInstanceTopology: {"Instances": [{"InstanceId", "NetworkNodes"}]};
/// several pages are several files. Keys are instance ids.
Result<void> add_topology(std::string_view text, const std::string& file, NetworkPaths& paths);

/// Names of instances from the answer of DescribeInstances: id by private DNS name, its first label
/// and private address; or lines "HOST INSTANCE-ID".
Result<std::map<std::string, std::string>> parse_instance_names(std::string_view text,
                                                                const std::string& file);

struct RankOrder {
  std::vector<std::string> hosts;    ///< in the order to use
  std::vector<std::string> unknown;  ///< without a path; at the end of hosts
  int before = 0, after = 0;         ///< edges of the ring of hosts that cross between groups
  int groups = 0;                    ///< switches one layer above the lowest that have hosts here
};

/// Stable: groups and hosts in order of their first appearance, whatever the number of layers.
RankOrder order_ranks(const std::vector<std::string>& hosts,
                      const std::map<std::string, std::string>& instances,
                      const NetworkPaths& paths);

/// Ring edges between hosts of different groups; hosts without a path are a group of their own.
int crossings(const std::vector<std::string>& hosts,
              const std::map<std::string, std::string>& instances, const NetworkPaths& paths);

// Forms of the order.
std::string host_file(const std::vector<std::string>& hosts);
std::string openmpi_host_file(const std::vector<std::string>& hosts, int slots);
std::string openmpi_rank_file(const std::vector<std::string>& hosts, int slots);
/// SLURM_HOSTFILE, for srun --distribution=arbitrary: a line a task.
std::string slurm_host_file(const std::vector<std::string>& hosts, int slots);
/// Slurm's topology.conf (topology/tree) of the hosts that have a path.
std::string slurm_topology(const std::vector<std::string>& hosts,
                           const std::map<std::string, std::string>& instances,
                           const NetworkPaths& paths);
/// The same as topology.yaml, which Slurm reads from release 25.05 on.
std::string slurm_topology_yaml(const std::vector<std::string>& hosts,
                                const std::map<std::string, std::string>& instances,
                                const NetworkPaths& paths);

/// The other way: adds where the hosts of Slurm's topology.conf or topology.yaml (topology/tree)
/// are, by their names. Errors are located: no switch, a switch that is not there or is below
/// itself, a host below two.
Result<void> add_slurm_topology(std::string_view text, const std::string& file,
                                NetworkPaths& paths);

}  // namespace muster::bench
