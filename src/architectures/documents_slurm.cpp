// Configurations of ParallelCluster and of slurmdbd.
#include <algorithm>

#include <fmt/format.h>

#include "architectures/clusters.h"
#include "architectures/document_renderers.h"

namespace muster::architectures {
namespace {

using catalog::NodeGroup;

std::string queue_section(const Plan& plan, const NodeGroup& group) {
  const catalog::Capacity& capacity = group.capacity;
  const char* type = capacity.kind == "spot"             ? "SPOT"
                     : capacity.kind == "capacity-block" ? "CAPACITY_BLOCK"
                                                         : "ONDEMAND";
  const bool efa = has_efa(plan, group);
  // Where AWS or the reservation fixes the place, a placement group only stands in the way.
  const bool placed = efa && group.count > 1 && !capacity.is_reserved();
  std::string text = fmt::format(
      "    - Name: {0}\n      CapacityType: {1}\n      Networking:\n        SubnetIds: [\"{2}\"]\n"
      "        AdditionalSecurityGroups: [\"{3}\"]\n        PlacementGroup: {{Enabled: {4}}}\n"
      "      ComputeSettings:\n        LocalStorage:\n          RootVolume: {{Size: {5}, "
      "Encrypted: "
      "true}}\n          EphemeralVolume: {{MountDir: /scratch}}\n",
      group.name, type, subnet_of(plan, group), plan.output("network", "SecurityGroup"), placed,
      group.root_volume);
  text += fmt::format(
      "      ComputeResources:\n        - Name: {}\n          InstanceType: {}\n          "
      "MinCount: "
      "{}\n          MaxCount: {}\n",
      group.name, group.instance, group.min_count.value_or(group.count), group.count);
  if (efa) text += "          Efa: {Enabled: true}\n";
  if (group.threads_per_core.value_or(1) == 1)
    text += "          DisableSimultaneousMultithreading: true\n";
  if (!capacity.reservation.empty())
    text += fmt::format("          CapacityReservationTarget: {{CapacityReservationId: {}}}\n",
                        capacity.reservation);
  if (!capacity.reservation_group.empty())
    text += fmt::format(
        "          CapacityReservationTarget: {{CapacityReservationResourceGroupArn: \"{}\"}}\n",
        capacity.reservation_group);
  return text;
}

std::string head_section(const Plan& plan, const NodeGroup& head) {
  const std::string subnet = plan.output("network", "PublicSubnet1");
  std::string groups = fmt::format("\"{}\"", plan.output("network", "SecurityGroup"));
  if (plan.find("accounting") != nullptr)
    groups += fmt::format(", \"{}\"", plan.output("accounting", "DatabaseClientSecurityGroup"));
  std::string text = fmt::format(
      "\nHeadNode:\n  InstanceType: {}\n  Networking:\n    SubnetId: \"{}\"\n"
      "    AdditionalSecurityGroups: [{}]\n",
      head.instance, subnet.empty() ? subnet_of(plan, head) : subnet, groups);
  if (!plan.cluster.key_pair.empty()) {
    text += fmt::format("  Ssh:\n    KeyName: {}\n", plan.cluster.key_pair);
    if (!plan.cluster.admin_cidr.empty())
      text += fmt::format("    AllowedIps: {}\n", plan.cluster.admin_cidr);
  }
  text += fmt::format(
      "  LocalStorage:\n    RootVolume: {{Size: {}, Encrypted: true}}\n  Imds: {{Secured: true}}\n"
      "  Iam:\n    AdditionalIamPolicies:\n      - Policy: "
      "arn:{}:iam::aws:policy/AmazonSSMManagedInstanceCore\n",
      head.root_volume, plan.cluster.partition());
  return text;
}

std::string storage_section(const Plan& plan) {
  std::string text;
  if (plan.cluster.openzfs)
    text += fmt::format(
        "  - Name: home\n    MountDir: /home\n    StorageType: FsxOpenZfs\n    FsxOpenZfsSettings: "
        "{{VolumeId: \"{}\"}}\n",
        plan.output("storage", "FSxORootVolumeId"));
  if (plan.cluster.lustre)
    text += fmt::format(
        "  - Name: fsx\n    MountDir: /fsx\n    StorageType: FsxLustre\n    FsxLustreSettings: "
        "{{FileSystemId: \"{}\"}}\n",
        plan.output("storage", "FSxLustreFilesystemId"));
  return text.empty() ? text : "\nSharedStorage:\n" + text;
}

}  // namespace

std::string pcluster_config(const Plan& plan, const facts::Facts&) {
  const catalog::ClusterSpec& cluster = plan.cluster;
  std::string text = fmt::format(
      "# Rendered from cluster.yaml, change that.\nRegion: {}\nImage:\n  Os: {}\nImds: "
      "{{ImdsSupport: v2.0}}\nTags:\n  - {{Key: \"{}\", Value: {}}}\n",
      cluster.region, cluster.os, kClusterTag, cluster.name);
  for (const NodeGroup& group : cluster.groups) {
    if (group.role == "controller") text += head_section(plan, group);
  }
  text +=
      "\nScheduling:\n  Scheduler: slurm\n  SlurmSettings:\n    ScaledownIdletime: 60\n"
      "    QueueUpdateStrategy: DRAIN\n";
  if (plan.find("accounting") != nullptr)
    text += fmt::format(
        "    Database:\n      Uri: \"{}:{}\"\n      UserName: \"{}\"\n      PasswordSecretArn: "
        "\"{}\"\n    CustomSlurmSettings:\n      - AccountingStorageTRES: gres/gpu\n",
        plan.output("accounting", "DatabaseHost"), plan.output("accounting", "DatabasePort"),
        plan.output("accounting", "DatabaseAdminUser"),
        plan.output("accounting", "DatabaseSecretArn"));
  text += "  SlurmQueues:\n";
  for (const NodeGroup& group : cluster.groups) {
    if (group.computes()) text += queue_section(plan, group);
  }
  text += storage_section(plan);
  text += fmt::format(
      "\nMonitoring:\n  DetailedMonitoring: {}\n  Logs:\n    CloudWatch: {{Enabled: true, "
      "RetentionInDays: 30}}\n",
      cluster.monitoring == "cloudwatch");
  return text;
}

std::string slurmdbd_conf(const Plan& plan, const facts::Facts&) {
  return fmt::format(
      "# Rendered from cluster.yaml, change that. The database lets TLS in only: without "
      "StorageParameters it\n# refuses slurmdbd. StoragePass is the secret {}.\n"
      "AuthType=auth/munge\nDbdHost=localhost\nDbdPort=6819\nSlurmUser=slurm\n"
      "LogFile=/var/log/slurmdbd.log\nPidFile=/run/slurmdbd.pid\n"
      "StorageType=accounting_storage/mysql\nStorageHost={}\nStoragePort={}\nStorageUser={}\n"
      "StorageLoc=slurm_acct_db\nStorageParameters={}\n",
      plan.output("accounting", "DatabaseSecretArn"), plan.output("accounting", "DatabaseHost"),
      plan.output("accounting", "DatabasePort"), plan.output("accounting", "DatabaseAdminUser"),
      plan.output("accounting", "StorageParameters"));
}

std::string subnet_of(const Plan& plan, const NodeGroup& group) {
  const auto& zones = plan.cluster.zones;
  const auto at = std::find(zones.begin(), zones.end(), group.zone) - zones.begin();
  return plan.output("network", fmt::format("PrivateSubnet{}", at + 1));
}

bool has_accelerators(const NodeGroup& group, const facts::Facts& known) {
  const auto instance = facts::find_instance(known.instances, group.instance);
  return instance && instance->accelerators.has_value();
}

bool has_efa(const Plan& plan, const NodeGroup& group) {
  return std::any_of(plan.layouts.begin(), plan.layouts.end(), [&](const GroupLayout& layout) {
    return layout.group == group.name && layout.efa > 0;
  });
}

}  // namespace muster::architectures
