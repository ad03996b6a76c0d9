// The network interfaces of a group's nodes, from the table of instance types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/cluster.h"
#include "facts/instances.h"

namespace muster::architectures {

struct GroupLayout {
  std::string group, instance, zone;
  int count = 0;
  std::vector<facts::Interface> interfaces;  ///< primary first; empty: one plain interface
  int efa = 0;                               ///< how many carry EFA
  int addresses = 1;                         ///< of one node: efa-only interfaces have none
};

/// What the table has of a group's type; of one that it does not have, the name alone.
facts::Instance instance_of(const catalog::NodeGroup& group,
                            const std::vector<facts::Instance>& instances);

GroupLayout lay_out(const catalog::NodeGroup& group, const facts::Instance& instance);

/// Addresses that the groups take in each of `zones`; `pods`: nodes hold addresses for pods too.
std::vector<std::uint64_t> addresses_by_zone(const std::vector<GroupLayout>& layouts,
                                             const std::vector<std::string>& zones, bool pods);

/// "card 0 device 0, cards 1-31 device 1: 32 efa".
std::string describe(const GroupLayout& layout);

/// Types of the table whose launch takes the same interfaces as `instance`, in the table's order.
std::vector<std::string> same_layout(const std::vector<facts::Instance>& instances,
                                     const facts::Instance& instance);

}  // namespace muster::architectures
