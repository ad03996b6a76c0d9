// The values that architecture.yaml names by key: what a cluster says and what follows from it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "architectures/interfaces.h"
#include "architectures/network.h"
#include "catalog/cluster.h"
#include "facts/facts.h"

namespace muster::architectures {

/// By key. Every key that there is has an entry; one without a value is empty.
using Values = std::map<std::string, std::string>;

/// cluster.*, zones.*, network.*, storage.*, features.*.
Values cluster_values(const catalog::ClusterSpec& cluster, const AddressPlan& addresses);

/// group.*, of one group.
Values group_values(const catalog::ClusterSpec& cluster, const catalog::NodeGroup& group,
                    const facts::Instance& instance, const GroupLayout& layout);

/// Of a stack whose network is there already by ids: what the network stack's output would be.
std::optional<std::string> existing_output(const catalog::ClusterSpec& cluster,
                                           const std::string& key);

}  // namespace muster::architectures
