#include "architectures/values.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::architectures {
namespace {

// As many as a Region's largest has; every key is there, whether its zone is or not.
constexpr std::size_t kZoneKeys = 6, kBlockKeys = 2;
constexpr std::int64_t kMiB = 1 << 20;

std::string flag(bool value) {
  return value ? "true" : "false";
}

std::string mark(bool value) {
  return value ? "true" : "";
}

/// Of a PCS controller: how many nodes each manages.
std::string controller_size(int nodes) {
  constexpr int kSmall = 32, kMedium = 512;
  return nodes <= kSmall ? "SMALL" : nodes <= kMedium ? "MEDIUM" : "LARGE";
}

void network_values(const catalog::ClusterSpec& cluster, const AddressPlan& addresses,
                    Values& values) {
  const catalog::NetworkWish& network = cluster.network;
  const bool exists = network.existing.has_value();
  values["network.new"] = mark(!exists);
  values["network.stack"] = exists ? network.existing->stack : cluster.name + "-network";
  values["network.cidr"] = network.cidr;
  values["network.nat"] = network.nat;
  values["network.public_subnets"] = flag(network.public_subnets);
  values["network.flow_logs"] = flag(network.flow_logs);
  for (const char* name : {"s3", "dynamodb", "services"}) {
    const auto& endpoints = network.endpoints;
    values[fmt::format("network.endpoint.{}", name)] =
        flag(std::find(endpoints.begin(), endpoints.end(), name) != endpoints.end());
  }
  for (std::size_t i = 0; i < kBlockKeys; ++i)
    values[fmt::format("network.secondary.{}", i + 1)] =
        i < addresses.secondary.size() ? to_string(addresses.secondary[i]) : "none";
  for (std::size_t i = 0; i < kZoneKeys; ++i) {
    const bool there = i < addresses.zones.size();
    const ZonePlan* zone = there ? &addresses.zones[i] : nullptr;
    const bool open = there && zone->public_subnet;
    values[fmt::format("network.public.{}", i + 1)] = open ? to_string(*zone->public_subnet) : "";
    values[fmt::format("network.private.{}", i + 1)] = there ? to_string(zone->private_subnet) : "";
    values[fmt::format("network.control.{}", i + 1)] =
        there && addresses.zones.size() > 1 ? to_string(zone->control_subnet) : "";
  }
}

void storage_values(const catalog::ClusterSpec& cluster, Values& values) {
  const auto& lustre = cluster.lustre;
  values["storage.lustre"] = mark(lustre.has_value());
  values["storage.lustre.flag"] = flag(lustre.has_value());
  values["storage.lustre.capacity"] = lustre ? fmt::format("{}", lustre->capacity) : "";
  values["storage.lustre.throughput"] = lustre ? fmt::format("{}", lustre->throughput) : "";
  values["storage.lustre.deployment"] = lustre ? lustre->deployment : "";
  values["storage.lustre.compression"] = lustre ? lustre->compression : "";
  values["storage.lustre.version"] = lustre ? lustre->version : "";
  values["storage.lustre.efa"] = lustre ? flag(lustre->efa) : "";
  const auto& openzfs = cluster.openzfs;
  values["storage.openzfs"] = mark(openzfs.has_value());
  values["storage.openzfs.flag"] = flag(openzfs.has_value());
  values["storage.openzfs.capacity"] = openzfs ? fmt::format("{}", openzfs->capacity) : "";
  values["storage.openzfs.throughput"] = openzfs ? fmt::format("{}", openzfs->throughput) : "";
  values["storage.openzfs.deployment"] = openzfs ? openzfs->deployment : "";
  values["storage.any"] = mark(lustre || openzfs);
  values["storage.bucket"] = cluster.bucket;
}

}  // namespace

Values cluster_values(const catalog::ClusterSpec& cluster, const AddressPlan& addresses) {
  Values values = {{"cluster.name", cluster.name},
                   {"cluster.region", cluster.region},
                   {"cluster.partition", cluster.partition()},
                   {"cluster.key_pair", cluster.key_pair},
                   {"cluster.image", cluster.image},
                   {"cluster.ssh_key_secret", cluster.ssh_key_secret},
                   {"cluster.os", cluster.os},
                   {"cluster.kubernetes", cluster.kubernetes},
                   {"cluster.slurm", cluster.slurm},
                   {"cluster.contact", cluster.contact},
                   {"cluster.admin_cidr", cluster.admin_cidr},
                   {"zones.kind", cluster.zone_ids ? "ids" : "names"},
                   {"zones.count", fmt::format("{}", cluster.zones.size())},
                   {"features.accounting", cluster.accounting},
                   {"features.directory", cluster.directory},
                   {"features.domain", cluster.domain},
                   {"features.monitoring", cluster.monitoring},
                   {"features.node_repair", flag(cluster.node_repair)},
                   {"features.continuous", flag(cluster.continuous)}};
  for (std::size_t i = 0; i < kZoneKeys; ++i)
    values[fmt::format("zones.{}", i + 1)] = i < cluster.zones.size() ? cluster.zones[i] : "";
  for (const char* kind : {"local", "rds-mariadb", "aurora", "managed"})
    values[fmt::format("features.accounting.{}", kind)] = mark(cluster.accounting == kind);
  values["features.accounting.database"] =
      mark(cluster.accounting == "rds-mariadb" || cluster.accounting == "aurora");
  values["features.directory.openldap"] = mark(cluster.directory == "openldap");
  values["features.monitoring.prometheus"] = mark(cluster.monitoring == "prometheus");
  values["features.accounting.managed_mode"] =
      cluster.accounting == "managed" ? "enabled" : "disabled";
  int nodes = 0;
  for (const catalog::NodeGroup& group : cluster.groups) nodes += group.count;
  values["cluster.size"] = controller_size(nodes);
  values["features.users"] = mark(!cluster.users.empty());
  network_values(cluster, addresses, values);
  storage_values(cluster, values);
  return values;
}

Values group_values(const catalog::ClusterSpec& cluster, const catalog::NodeGroup& group,
                    const facts::Instance& instance, const GroupLayout& layout) {
  const catalog::Capacity& capacity = group.capacity;
  const int vcpus = instance.cpu.vcpus.value_or(0);
  const int accelerators = instance.accelerators ? instance.accelerators->count.value_or(0) : 0;
  const std::string kind = instance.accelerators ? instance.accelerators->kind : "";
  // What the agent and the system keep of a node's memory.
  const std::int64_t memory = instance.memory_bytes.value_or(0) / kMiB * 9 / 10;
  const auto zone = std::find(cluster.zones.begin(), cluster.zones.end(), group.zone);
  Values values = {{"group.name", group.name},
                   {"group.role", group.role},
                   {"group.instance", instance.name},
                   {"group.ml_instance", "ml." + instance.name},
                   {"group.count", fmt::format("{}", group.count)},
                   {"group.min_count", fmt::format("{}", group.min_count.value_or(group.count))},
                   {"group.root_volume", fmt::format("{}", group.root_volume)},
                   {"group.zone", group.zone},
                   {"group.zone_index", fmt::format("{}", zone - cluster.zones.begin() + 1)},
                   {"group.capacity", capacity.kind},
                   {"group.reservation", capacity.reservation},
                   {"group.reservation_group", capacity.reservation_group},
                   {"group.training_plan", capacity.training_plan},
                   {"group.efa", fmt::format("{}", layout.efa)},
                   {"group.accelerators", fmt::format("{}", accelerators)},
                   {"group.vcpus", vcpus > 0 ? fmt::format("{}", vcpus) : ""},
                   {"group.max_vcpus", vcpus > 0 ? fmt::format("{}", vcpus * group.count) : ""},
                   {"group.memory_mib", memory > 0 ? fmt::format("{}", memory) : ""}};
  values["group.processes"] = fmt::format("{}", std::max(1, accelerators) * group.count);
  values["group.batch_image"] = kind == "gpu" ? "ECS_AL2023_NVIDIA" : "ECS_AL2023";
  values["group.gpus"] = kind == "gpu" ? fmt::format("{}", accelerators) : "";
  values["group.threads_per_core"] =
      group.threads_per_core ? fmt::format("{}", *group.threads_per_core) : "";
  values["group.placement"] = flag(layout.efa > 0 && group.count > 1 && !capacity.is_reserved());
  return values;
}

std::optional<std::string> existing_output(const catalog::ClusterSpec& cluster,
                                           const std::string& key) {
  if (!cluster.network.existing) return std::nullopt;
  const catalog::ExistingNetwork& network = *cluster.network.existing;
  if (key == "VPC") return network.vpc;
  if (key == "SecurityGroup") return network.security_group;
  if (key == "ControlSubnets" || key == "PrivateSubnets")
    return fmt::format("{}", fmt::join(network.private_subnets, ","));
  if (key == "PublicSubnets") return fmt::format("{}", fmt::join(network.public_subnets, ","));
  const auto numbered = [&key](
                            std::string_view prefix,
                            const std::vector<std::string>& subnets) -> std::optional<std::string> {
    if (!key.starts_with(prefix) || key.size() != prefix.size() + 1) return std::nullopt;
    const auto index = static_cast<std::size_t>(key.back() - '1');
    return index < subnets.size() ? subnets[index] : std::string();
  };
  if (auto subnet = numbered("PrivateSubnet", network.private_subnets)) return subnet;
  return numbered("PublicSubnet", network.public_subnets);
}

}  // namespace muster::architectures
