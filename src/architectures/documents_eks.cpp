// The configuration of eksctl.
#include <algorithm>

#include <fmt/format.h>

#include "architectures/clusters.h"
#include "architectures/document_renderers.h"

namespace muster::architectures {
namespace {

using catalog::NodeGroup;

constexpr const char* kKubernetes = "1.33";
/// Where the cluster's own pods run when every group of the file carries accelerators.
constexpr const char* kSystemInstance = "c5.2xlarge";

std::size_t zone_number(const Plan& plan, const NodeGroup& group) {
  const auto& zones = plan.cluster.zones;
  return static_cast<std::size_t>(std::find(zones.begin(), zones.end(), group.zone) -
                                  zones.begin()) +
         1;
}

std::string vpc_section(const Plan& plan) {
  std::string text =
      fmt::format("\nvpc:\n  id: \"{}\"\n  securityGroup: \"{}\"\n  subnets:\n",
                  plan.output("network", "VPC"), plan.output("network", "SecurityGroup"));
  const auto& existing = plan.cluster.network.existing;
  const bool open = existing ? existing->stack.empty() ? !existing->public_subnets.empty() : true
                             : plan.cluster.network.public_subnets;
  for (const bool is_public : {true, false}) {
    if (is_public && !open) continue;
    text += is_public ? "    public:\n" : "    private:\n";
    for (std::size_t i = 1; i <= plan.cluster.zones.size(); ++i)
      text += fmt::format(
          "      {}-{}: {{id: \"{}\"}}\n", is_public ? "public" : "private", i,
          plan.output("network", fmt::format("{}Subnet{}", is_public ? "Public" : "Private", i)));
  }
  return text;
}

std::string capacity_section(const NodeGroup& group) {
  const catalog::Capacity& capacity = group.capacity;
  std::string text;
  if (capacity.kind == "spot") text += "    spot: true\n";
  if (capacity.kind == "capacity-block")
    text += "    instanceMarketOptions: {marketType: capacity-block}\n";
  if (!capacity.reservation.empty())
    text += fmt::format(
        "    capacityReservation:\n      capacityReservationTarget: {{capacityReservationID: "
        "{}}}\n",
        capacity.reservation);
  if (!capacity.reservation_group.empty())
    text += fmt::format(
        "    capacityReservation:\n      capacityReservationTarget: "
        "{{capacityReservationResourceGroupARN: \"{}\"}}\n",
        capacity.reservation_group);
  return text;
}

std::string group_section(const Plan& plan, const NodeGroup& group, const facts::Facts& known) {
  const int least =
      group.min_count.value_or(group.capacity.kind == "capacity-block" ? group.count : 0);
  std::string text = fmt::format(
      "  - name: {}\n    instanceType: {}\n    amiFamily: AmazonLinux2023\n    minSize: {}\n"
      "    desiredCapacity: {}\n    maxSize: {}\n    volumeSize: {}\n    volumeEncrypted: true\n"
      "    privateNetworking: true\n    subnets: [private-{}]\n",
      group.name, group.instance, least, group.count, std::max(group.count, 1), group.root_volume,
      zone_number(plan, group));
  if (has_efa(plan, group)) text += "    efaEnabled: true\n";
  text += capacity_section(group);
  if (plan.cluster.node_repair) text += "    nodeRepairConfig: {enabled: true}\n";
  if (has_accelerators(group, known))
    text +=
        "    # Local disks become one for images and scratch.\n"
        "    overrideBootstrapCommand: |\n"
        "      apiVersion: node.eks.aws/v1alpha1\n"
        "      kind: NodeConfig\n"
        "      spec:\n"
        "        instance: {localStorage: {strategy: RAID0}}\n";
  text += "    iam:\n      withAddonPolicies: {cloudWatch: true, ebs: true, fsx: true}\n";
  return text;
}

std::string addons_section(const Plan& plan) {
  std::vector<std::string> names = {"vpc-cni", "coredns", "kube-proxy", "eks-pod-identity-agent"};
  if (plan.cluster.node_repair) names.emplace_back("eks-node-monitoring-agent");
  if (plan.cluster.lustre) names.emplace_back("aws-fsx-csi-driver");
  if (plan.cluster.monitoring == "cloudwatch")
    names.emplace_back("amazon-cloudwatch-observability");
  for (const std::string& name : plan.cluster.addons) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string text = "\naddonsConfig: {autoApplyPodIdentityAssociations: true}\naddons:\n";
  for (const std::string& name : names) text += fmt::format("  - name: {}\n", name);
  return text;
}

}  // namespace

std::string eksctl_config(const Plan& plan, const facts::Facts& known) {
  const catalog::ClusterSpec& cluster = plan.cluster;
  std::string text = fmt::format(
      "# Rendered from cluster.yaml, change that.\napiVersion: eksctl.io/v1alpha5\nkind: "
      "ClusterConfig\nmetadata:\n  name: {}\n  region: {}\n  version: \"{}\"\n  tags: {{\"{}\": "
      "{}}}\n",
      cluster.name, cluster.region, cluster.kubernetes.empty() ? kKubernetes : cluster.kubernetes,
      kClusterTag, cluster.name);
  text += vpc_section(plan);
  text += "\niam: {withOIDC: true}\n";
  text += addons_section(plan);
  text += "\nmanagedNodeGroups:\n";
  const bool only_accelerators =
      std::all_of(cluster.groups.begin(), cluster.groups.end(),
                  [&](const NodeGroup& group) { return has_accelerators(group, known); });
  if (only_accelerators) {
    NodeGroup system;
    system.name = "system";
    system.instance = kSystemInstance;
    system.count = 2;
    system.min_count = 1;
    system.zone = cluster.zones.front();
    system.root_volume = 100;
    text += "  # For what is not of the jobs: DNS, operators.\n";
    text += group_section(plan, system, known);
  }
  for (const NodeGroup& group : cluster.groups) text += group_section(plan, group, known);
  return text;
}

}  // namespace muster::architectures
