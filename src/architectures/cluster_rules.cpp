#include "architectures/cluster_rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::architectures {
namespace {

using catalog::NodeGroup;

class ClusterRules {
 public:
  ClusterRules(const catalog::ClusterSpec& cluster, const catalog::Architecture& architecture,
               const facts::Facts& known)
      : cluster_(cluster), architecture_(architecture), known_(known) {}

  Findings check() {
    check_features();
    check_zones();
    check_network();
    for (const NodeGroup& group : cluster_.groups) check_group(group);
    check_roles();
    if (cluster_.lustre) check_lustre(*cluster_.lustre);
    if (cluster_.openzfs) check_openzfs(*cluster_.openzfs);
    return std::move(findings_);
  }

 private:
  void wrong(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }
  void doubt(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(warning_at(where, rule, std::move(message), std::move(hint)));
  }

  void check_feature(const char* what, const std::string& wanted,
                     const std::vector<std::string>& can) {
    if (wanted == "none" || std::find(can.begin(), can.end(), wanted) != can.end()) return;
    wrong(cluster_.where, "cluster-feature",
          fmt::format("{} does no {} {}", architecture_.name, what, wanted),
          can.empty() ? "none" : fmt::format("none, {}", fmt::join(can, ", ")));
  }

  void check_features() {
    check_feature("accounting", cluster_.accounting, architecture_.accounting);
    check_feature("directory", cluster_.directory, architecture_.directories);
    check_feature("monitoring", cluster_.monitoring, architecture_.monitoring);
  }

  void check_zones() {
    if (static_cast<int>(cluster_.zones.size()) < architecture_.min_zones)
      wrong(cluster_.zones_where, "cluster-zones",
            fmt::format("{} needs {} zones, and {} is named", architecture_.name,
                        architecture_.min_zones, cluster_.zones.size()));
    const bool database = cluster_.accounting == "aurora" || cluster_.accounting == "rds-mariadb";
    if (database && cluster_.zones.size() < 2)
      wrong(cluster_.zones_where, "cluster-zones",
            "a database for the accounts needs subnets in two zones", "name a second zone");
    if (cluster_.openzfs && cluster_.openzfs->deployment == "MULTI_AZ_1" &&
        cluster_.zones.size() < 2)
      wrong(cluster_.zones_where, "cluster-zones", "MULTI_AZ_1 needs two zones",
            "name a second zone, or SINGLE_AZ_HA_2");
  }

  void check_network() {
    const catalog::NetworkWish& network = cluster_.network;
    if (network.existing) return;
    const auto& endpoints = network.endpoints;
    const bool services =
        std::find(endpoints.begin(), endpoints.end(), "services") != endpoints.end();
    if (network.nat == "none" && !services && !cluster_.groups.empty())
      doubt(network.nat_where, "cluster-no-way-out",
            "without NAT and without endpoints of services the nodes reach neither ECR nor SSM",
            "endpoints: [s3, services]");
    if (network.nat == "single" && cluster_.zones.size() > 2)
      doubt(network.nat_where, "cluster-one-nat",
            fmt::format("the nodes of {} zones lose their way out with one", cluster_.zones.size()),
            "nat: per-zone");
  }

  void check_group(const NodeGroup& group) {
    const auto& can = architecture_.capacities;
    if (group.computes() && std::find(can.begin(), can.end(), group.capacity.kind) == can.end())
      wrong(group.capacity.where, "cluster-capacity",
            fmt::format("{} does not buy {}", architecture_.name, group.capacity.kind),
            fmt::format("{}", fmt::join(can, ", ")));
    const auto instance = facts::find_instance(known_.instances, group.instance);
    if (!instance) {
      if (group.computes())
        doubt(group.instance_where, "cluster-instance",
              fmt::format("nothing is known of {}: one plain interface is assumed", group.instance),
              "a row in facts/instances.yaml");
      return;
    }
    if (architecture_.name.starts_with("sagemaker-hyperpod") && !instance->ml.value_or(false))
      wrong(group.instance_where, "cluster-instance",
            fmt::format("SageMaker offers no ml.{}", group.instance));
    const bool fabric = instance->network.efa_count.value_or(0) > 0;
    if (fabric && instance->network.interfaces.empty())
      doubt(group.instance_where, "cluster-layout",
            fmt::format("no layout of the interfaces of {} is known: its nodes get one plain "
                        "interface",
                        group.instance));
    if (group.capacity.kind == "capacity-block" && group.min_count &&
        *group.min_count != group.count)
      wrong(group.capacity.where, "cluster-capacity", "a Capacity Block has a fixed size",
            fmt::format("no min_count, or min_count: {}", group.count));
    if (group.capacity.kind == "spot" && fabric)
      doubt(group.capacity.where, "cluster-spot",
            "a spot node that is taken back ends every job that spans it");
  }

  void check_roles() {
    for (const std::string& role : architecture_.roles) {
      const auto has = std::count_if(cluster_.groups.begin(), cluster_.groups.end(),
                                     [&](const NodeGroup& one) { return one.role == role; });
      if (has == 0)
        wrong(cluster_.where, "cluster-role",
              fmt::format("{} needs a group of role {}", architecture_.name, role));
    }
  }

  /// Sizes and rates that FSx takes, by deployment type.
  void check_lustre(const catalog::Lustre& lustre) {
    const bool second = lustre.deployment == "PERSISTENT_2";
    const std::vector<int> rates =
        second ? std::vector<int>{125, 250, 500, 1000} : std::vector<int>{50, 100, 200};
    if (std::find(rates.begin(), rates.end(), lustre.throughput) == rates.end())
      wrong(lustre.where, "cluster-lustre",
            fmt::format("{} MB/s per TiB is no rate of {}", lustre.throughput, lustre.deployment),
            fmt::format("one of {}", fmt::join(rates, ", ")));
    constexpr int kStep = 2400;
    if (lustre.capacity != 1200 && lustre.capacity % kStep != 0)
      wrong(lustre.where, "cluster-lustre", fmt::format("Lustre has no {} GiB", lustre.capacity),
            fmt::format("1200, {} or {}", lustre.capacity / kStep * kStep + kStep,
                        "any other multiple of 2400"));
    if (!lustre.efa) return;
    if (!second)
      wrong(lustre.where, "cluster-lustre", "only PERSISTENT_2 is reached over EFA",
            "deployment: PERSISTENT_2");
    // FSx asks for 4.8 GB/s at least: 38400 GiB at 125 MB/s per TiB, 19200 at 250, and so on.
    constexpr int kLeast = 4'800'000;
    const int least = kLeast / std::max(lustre.throughput, 1);
    if (second && lustre.capacity < least)
      wrong(lustre.where, "cluster-lustre",
            fmt::format("over EFA at {} MB/s per TiB Lustre has {} GiB at least", lustre.throughput,
                        least),
            fmt::format("capacity: {}", least));
  }

  void check_openzfs(const catalog::OpenZfs& openzfs) {
    const std::vector<int> newer = {160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240};
    const std::vector<int> older = {64, 128, 256, 512, 1024, 2048, 3072, 4096};
    const bool first =
        openzfs.deployment == "SINGLE_AZ_1" || openzfs.deployment == "SINGLE_AZ_HA_1";
    const std::vector<int>& rates = first ? older : newer;
    if (std::find(rates.begin(), rates.end(), openzfs.throughput) == rates.end())
      wrong(openzfs.where, "cluster-openzfs",
            fmt::format("{} MB/s is no rate of {}", openzfs.throughput, openzfs.deployment),
            fmt::format("one of {}", fmt::join(rates, ", ")));
  }

  const catalog::ClusterSpec& cluster_;
  const catalog::Architecture& architecture_;
  const facts::Facts& known_;
  Findings findings_;
};

}  // namespace

Findings check_against(const catalog::ClusterSpec& cluster,
                       const catalog::Architecture& architecture, const facts::Facts& known) {
  return ClusterRules(cluster, architecture, known).check();
}

}  // namespace muster::architectures
