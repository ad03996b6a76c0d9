// eksctl's ClusterConfig: capacity and the zone it is in, EFA, versions, names.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"
#include "base/words.h"
#include "facts/instances.h"
#include "lint/cluster_configs.h"

namespace muster::lint {
namespace {

// 1.31 ended on 2026-11-26, extended support included.
constexpr unsigned kOldestEksMinor = 32;

class EksctlCheck {
 public:
  EksctlCheck(const Node& config, const facts::Facts& known, Findings& findings)
      : config_(config), known_(known), findings_(findings) {}

  void run() {
    version();
    bool any = false, plain = false;
    std::set<std::string> names;
    for (const char* key : {"managedNodeGroups", "nodeGroups"}) {
      const Node* groups = config_.find(key);
      if (groups == nullptr) continue;
      for (const Node& group : groups->items()) {
        any = true;
        const std::string name = text_at(group, "name");
        if (!name.empty() && !names.insert(name).second)
          tell(*group.find("name"), "eksctl-name",
               fmt::format("two node groups are called {}", name));
        plain |= !is_accelerated(group);
        node_group(group, std::string_view(key) == "managedNodeGroups");
      }
    }
    const bool automatic = node_at(config_, "autoModeConfig") != nullptr ||
                           node_at(config_, "fargateProfiles") != nullptr;
    if (any && !plain && !automatic) {
      findings_.push_back(warning_at(
          config_.find("managedNodeGroups") ? config_.find("managedNodeGroups")->where()
                                            : config_.where(),
          "eksctl-system-group",
          "every node group has accelerators: the cluster's own pods run on what is paid for GPUs, "
          "and nowhere while those are gone",
          "a small group without accelerators"));
    }
  }

 private:
  void tell(const Node& where, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(where.where(), rule, std::move(message), std::move(hint)));
  }

  void version() {
    const Node* version = node_at(config_, "metadata.version");
    if (version == nullptr || !version->text().starts_with("1.")) return;
    const auto minor = whole(version->text().substr(2));
    if (minor && *minor < kOldestEksMinor)
      tell(*version, "eksctl-version",
           fmt::format("EKS no longer supports Kubernetes {}", version->text()),
           fmt::format("\"1.{}\" or later", kOldestEksMinor));
    if (minor && !version->quoted() && version->text().ends_with('0'))
      tell(*version, "eksctl-version",
           fmt::format("{} without quotes is the number {}", version->text(),
                       version->text().substr(0, version->text().size() - 1)),
           fmt::format("\"{}\"", version->text()));
  }

  std::optional<facts::Instance> instance_of(const Node& group) const {
    const auto found = facts::find_instance(known_.instances, text_at(group, "instanceType"));
    return found ? std::optional<facts::Instance>(*found) : std::nullopt;
  }

  bool is_accelerated(const Node& group) const {
    const auto instance = instance_of(group);
    return instance && instance->accelerators.has_value();
  }

  void node_group(const Node& group, bool managed) {
    const auto instance = instance_of(group);
    const Node* target = node_at(group, "capacityReservation.capacityReservationTarget");
    const Node* market = node_at(group, "instanceMarketOptions.marketType");
    const bool block = market != nullptr && market->text() == "capacity-block";
    const Node* zones = group.find("availabilityZones");
    const Node* subnets = group.find("subnets");
    const std::size_t places = zones != nullptr ? zones->items().size()
                               : subnets != nullptr
                                   ? std::max(subnets->items().size(), subnets->entries().size())
                                   : 0;
    if (target != nullptr && places != 1)
      tell(*target, "eksctl-reservation",
           places == 0 ? "a reservation is in one zone, and this group may start in any"
                       : "a reservation is in one zone, and this group may start in several",
           "availabilityZones or subnets with that one");
    if (block && target == nullptr)
      tell(*market, "eksctl-reservation", "the group buys from capacity blocks and names none",
           "capacityReservation.capacityReservationTarget.capacityReservationID");
    if (block) {
      const auto most = integer_at(group, "maxSize"), wanted = integer_at(group, "desiredCapacity");
      if (most && wanted && *most > *wanted)
        findings_.push_back(
            warning_at(group.find("maxSize")->where(), "eksctl-capacity",
                       fmt::format("a capacity block has a fixed size: {} nodes are wanted, and up "
                                   "to {} may be asked for",
                                   *wanted, *most),
                       "maxSize and desiredCapacity of what the block holds"));
      if (!managed)
        tell(*market, "eksctl-capacity", "capacity blocks are bought by managed node groups",
             "managedNodeGroups");
    }
    if (const Node* id = node_at(group,
                                 "capacityReservation.capacityReservationTarget."
                                 "capacityReservationID");
        id != nullptr && id->text().find("xxx") != std::string::npos)
      tell(*id, "eksctl-placeholder",
           fmt::format("\"{}\" is a placeholder that nobody filled in", id->text()));
    efa(group, instance, places);
  }

  void efa(const Node& group, const std::optional<facts::Instance>& instance, std::size_t places) {
    const Node* enabled = group.find("efaEnabled");
    const bool on = enabled != nullptr && enabled->as_bool() == true;
    if (on && instance && instance->network.efa_count == 0)
      tell(*enabled, "eksctl-efa", fmt::format("{} has no EFA", instance->name));
    if (on && places > 1)
      tell(*enabled, "eksctl-efa", "with EFA eksctl makes a placement group, which is in one zone",
           "one availability zone");
    if (on && boolean_at(group, "privateNetworking") == false)
      tell(*group.find("privateNetworking"), "eksctl-efa",
           "EC2 gives no public address to a node with several interfaces",
           "privateNetworking: true");
    if (!on && instance && instance->network.efa_count.value_or(0) > 1)
      findings_.push_back(
          warning_at(group.where(), "eksctl-efa",
                     fmt::format("{} has {} EFA interfaces, and the group uses none",
                                 instance->name, *instance->network.efa_count),
                     "efaEnabled: true"));
  }

  const Node& config_;
  const facts::Facts& known_;
  Findings& findings_;
};

}  // namespace

void check_eksctl(const Node& config, const facts::Facts& known, Findings& findings) {
  EksctlCheck(config, known, findings).run();
}

}  // namespace muster::lint
