// The address plan of a new network: which block each subnet takes, without overlap and with room
// for the interfaces that the nodes bring.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/ipv4.h"
#include "catalog/cluster.h"

namespace muster::architectures {

/// What stands in one zone.
struct ZonePlan {
  std::string zone;
  std::optional<Ipv4Block> public_subnet;
  Ipv4Block control_subnet;  ///< for the interfaces of an EKS control plane
  Ipv4Block private_subnet;
  std::uint64_t needed = 0;  ///< addresses in the private subnet
};

struct AddressPlan {
  Ipv4Block vpc;
  std::vector<Ipv4Block> secondary;  ///< further blocks of the VPC
  std::vector<ZonePlan> zones;
  Findings findings;
};

/// Of each subnet AWS keeps the first four addresses and the last.
inline constexpr std::uint64_t kReservedAddresses = 5;

/// Lays the subnets of `wish` out over `zones`. `needed` holds, zone by zone, the addresses that
/// nodes, endpoints and file systems take. What does not fit is a finding, at the line of the
/// block; the blocks that are given never overlap.
AddressPlan plan_addresses(const catalog::NetworkWish& wish, const std::vector<std::string>& zones,
                           const std::vector<std::uint64_t>& needed);

}  // namespace muster::architectures
