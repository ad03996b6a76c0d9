#include "architectures/interfaces.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::architectures {
namespace {

/// Interface endpoints, NAT, file systems and the control plane, in any zone.
constexpr std::uint64_t kServiceAddresses = 32;
/// What the VPC's container network holds for a node's pods by default: one interface in use and
/// one ready, 50 addresses each.
constexpr std::uint64_t kPodAddresses = 100;

bool carries_efa(const facts::Interface& interface) {
  return interface.type == "efa" || interface.type == "efa-only";
}

}  // namespace

facts::Instance instance_of(const catalog::NodeGroup& group,
                            const std::vector<facts::Instance>& instances) {
  if (auto known = facts::find_instance(instances, group.instance)) return std::move(*known);
  facts::Instance unknown;
  unknown.name = group.instance;
  return unknown;
}

GroupLayout lay_out(const catalog::NodeGroup& group, const facts::Instance& instance) {
  GroupLayout layout{group.name, instance.name, group.zone, group.count,
                     instance.network.interfaces};
  layout.efa = static_cast<int>(
      std::count_if(layout.interfaces.begin(), layout.interfaces.end(), carries_efa));
  const auto silent =
      std::count_if(layout.interfaces.begin(), layout.interfaces.end(),
                    [](const facts::Interface& one) { return one.type == "efa-only"; });
  layout.addresses = std::max(1, static_cast<int>(layout.interfaces.size() - silent));
  return layout;
}

std::vector<std::uint64_t> addresses_by_zone(const std::vector<GroupLayout>& layouts,
                                             const std::vector<std::string>& zones, bool pods) {
  std::vector<std::uint64_t> needed(zones.size(), kServiceAddresses);
  for (const GroupLayout& layout : layouts) {
    const auto zone = std::find(zones.begin(), zones.end(), layout.zone);
    if (zone == zones.end()) continue;
    const std::uint64_t one =
        static_cast<std::uint64_t>(layout.addresses) + (pods ? kPodAddresses : 0);
    needed[static_cast<std::size_t>(zone - zones.begin())] +=
        one * static_cast<std::uint64_t>(layout.count);
  }
  return needed;
}

std::string describe(const GroupLayout& layout) {
  if (layout.interfaces.empty()) return "one interface, no EFA";
  std::string text;
  for (std::size_t i = 0; i < layout.interfaces.size();) {
    const facts::Interface& first = layout.interfaces[i];
    std::size_t last = i;
    while (last + 1 < layout.interfaces.size() &&
           layout.interfaces[last + 1].device == first.device &&
           layout.interfaces[last + 1].type == first.type)
      ++last;
    const std::string cards =
        last == i ? fmt::format("card {}", first.card)
                  : fmt::format("cards {}-{}", first.card, layout.interfaces[last].card);
    text += fmt::format("{}{} device {} {}", text.empty() ? "" : ", ", cards, first.device,
                        first.type == "interface" ? "plain" : first.type);
    i = last + 1;
  }
  return text;
}

std::vector<std::string> same_layout(const std::vector<facts::Instance>& instances,
                                     const facts::Instance& instance) {
  std::vector<std::string> names;
  for (const facts::Instance& other : instances) {
    const bool same =
        other.network.interfaces == instance.network.interfaces &&
        other.cpu.arch == instance.cpu.arch &&
        other.accelerators.has_value() == instance.accelerators.has_value() &&
        (!other.accelerators || (other.accelerators->kind == instance.accelerators->kind &&
                                 other.accelerators->count == instance.accelerators->count)) &&
        other.cpu.vcpus == instance.cpu.vcpus && other.memory_bytes == instance.memory_bytes;
    if (same) names.push_back(other.name);
  }
  return names;
}

}  // namespace muster::architectures
