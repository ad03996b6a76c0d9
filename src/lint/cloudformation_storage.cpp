// FSx file systems: what type, throughput, capacity and EFA go together; and what is deleted with a
// stack although something protects it.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

// Every whole number that a value may come to.
std::vector<std::int64_t> whole_numbers(const CfnTemplate& tree, const Node* node) {
  std::vector<std::int64_t> all;
  if (node == nullptr) return all;
  for (const std::string& text : tree.texts(*node)) {
    if (const auto number = Node::scalar(text, false, {}).as_int()) all.push_back(*number);
  }
  return all;
}

std::vector<std::string> words_at(const CfnTemplate& tree, const Node& node, std::string_view key) {
  const Node* value = node.find(key);
  return value == nullptr ? std::vector<std::string>() : tree.texts(*value);
}

bool is_one_of(std::int64_t value, std::initializer_list<std::int64_t> right) {
  return std::find(right.begin(), right.end(), value) != right.end();
}

class StorageCheck {
 public:
  explicit StorageCheck(CfnCheck& check) : check_(check), tree_(check.tree) {}

  void file_system(const Node::Entry& entry) {
    const Node& properties = CfnTemplate::properties(entry.value);
    const auto types = words_at(tree_, properties, "FileSystemType");
    const std::string type = types.size() == 1 ? types[0] : "";
    const Node* capacity = properties.find("StorageCapacity");
    for (const auto& [key, of] : {std::pair{"LustreConfiguration", "LUSTRE"},
                                  {"OpenZFSConfiguration", "OPENZFS"},
                                  {"OntapConfiguration", "ONTAP"},
                                  {"WindowsConfiguration", "WINDOWS"}}) {
      const Node* found = properties.find(key);
      if (found != nullptr && !type.empty() && type != of)
        check_.wrong(found->where(), "cfn-fsx",
                     fmt::format("{} of a file system of type {}", key, type));
    }
    const auto versions = words_at(tree_, properties, "FileSystemTypeVersion");
    for (const Node* lustre : tree_.at(properties, "LustreConfiguration"))
      judge_lustre(properties, *lustre, capacity, versions);
    for (const Node* openzfs : tree_.at(properties, "OpenZFSConfiguration"))
      judge_openzfs(properties, *openzfs, capacity);
    if (type == "LUSTRE" && properties.find("LustreConfiguration") == nullptr && capacity)
      judge_ssd_capacity(*capacity, "SCRATCH_1");
  }

 private:
  void wrong(const Node& node, std::string message, std::string hint = {}) {
    check_.wrong(node.where(), "cfn-fsx", std::move(message), std::move(hint));
  }

  void judge_ssd_capacity(const Node& capacity, const std::string& deployment) {
    const std::int64_t step = deployment == "SCRATCH_1" ? 3600 : 2400;
    for (const std::int64_t gib : whole_numbers(tree_, &capacity)) {
      if (gib == 1200 || gib == 2400 || (gib > 0 && gib % step == 0)) continue;
      return wrong(capacity, fmt::format("{} of {} GiB: 1200, 2400, or a multiple of {}",
                                         deployment, gib, step));
    }
  }

  void judge_lustre(const Node& properties, const Node& lustre, const Node* capacity,
                    const std::vector<std::string>& versions) {
    const auto deployments = words_at(tree_, lustre, "DeploymentType");
    const Node* deployed = lustre.find("DeploymentType");
    static const std::vector<std::string> kDeployments = {"SCRATCH_1", "SCRATCH_2", "PERSISTENT_1",
                                                          "PERSISTENT_2"};
    for (const std::string& name : deployments) {
      if (std::find(kDeployments.begin(), kDeployments.end(), name) != kDeployments.end()) continue;
      const auto near = did_you_mean(name, kDeployments);
      return wrong(*deployed, fmt::format("no deployment type of Lustre: {}", name),
                   near ? fmt::format("did you mean {}?", *near) : "");
    }
    if (deployments.size() != 1) return;  // a choice: the template's Rules say which go together
    const std::string& deployment = deployments[0];
    const auto storage = words_at(tree_, properties, "StorageType");
    const bool ssd = storage.empty() || storage == std::vector<std::string>{"SSD"};
    if (capacity != nullptr && ssd) judge_ssd_capacity(*capacity, deployment);
    const Node* throughput = lustre.find("PerUnitStorageThroughput");
    const bool persistent = deployment.starts_with("PERSISTENT");
    if (throughput != nullptr && !persistent)
      wrong(*throughput, fmt::format("{} takes no PerUnitStorageThroughput", deployment));
    if (throughput == nullptr && persistent && ssd)
      wrong(lustre, fmt::format("{} needs PerUnitStorageThroughput", deployment));
    for (const std::int64_t value : whole_numbers(tree_, throughput)) {
      const bool first = deployment == "PERSISTENT_1";
      const bool fits =
          !persistent || !ssd ||
          (first ? is_one_of(value, {50, 100, 200}) : is_one_of(value, {125, 250, 500, 1000}));
      if (fits) continue;
      wrong(*throughput, fmt::format("{} takes no {} MB/s per TiB", deployment, value),
            first ? "50, 100 or 200" : "125, 250, 500 or 1000");
      break;
    }
    const Node* metadata = lustre.find("MetadataConfiguration");
    if (metadata != nullptr && deployment != "PERSISTENT_2")
      wrong(*metadata, fmt::format("{} takes no MetadataConfiguration", deployment),
            "PERSISTENT_2 does");
    for (const std::string& version : versions) {
      if (deployment == "PERSISTENT_2" && version == "2.10")
        wrong(*properties.find("FileSystemTypeVersion"), "PERSISTENT_2 needs Lustre 2.12 or later");
    }
    judge_efa(lustre, deployment, capacity, throughput);
  }

  // EFA needs PERSISTENT_2, metadata configured, and so many servers that the capacity for each
  // throughput has a least value.
  void judge_efa(const Node& lustre, const std::string& deployment, const Node* capacity,
                 const Node* throughput) {
    const Node* efa = lustre.find("EfaEnabled");
    if (efa == nullptr || efa->as_bool() != true) return;
    if (deployment != "PERSISTENT_2")
      wrong(*efa, fmt::format("{} has no EFA", deployment), "PERSISTENT_2 has");
    if (lustre.find("MetadataConfiguration") == nullptr)
      wrong(*efa, "a file system with EFA needs a MetadataConfiguration");
    const auto rates = whole_numbers(tree_, throughput);
    const auto sizes = whole_numbers(tree_, capacity);
    if (rates.size() != 1 || sizes.empty()) return;
    const std::int64_t least = rates[0] == 125   ? 38400
                               : rates[0] == 250 ? 19200
                               : rates[0] == 500 ? 9600
                                                 : 4800;
    const std::int64_t smallest = *std::min_element(sizes.begin(), sizes.end());
    if (smallest < least)
      wrong(*capacity,
            fmt::format("with EFA at {} MB/s per TiB the capacity is at least {} GiB, not {}",
                        rates[0], least, smallest));
  }

  void judge_openzfs(const Node& properties, const Node& openzfs, const Node* capacity) {
    const auto deployments = words_at(tree_, openzfs, "DeploymentType");
    const Node* throughput = openzfs.find("ThroughputCapacity");
    for (const std::int64_t gib : whole_numbers(tree_, capacity)) {
      if (gib >= 64 && gib <= 524288) continue;
      wrong(*capacity, fmt::format("OpenZFS of {} GiB: 64 to 524288", gib));
      break;
    }
    static const std::vector<std::string> kDeployments = {
        "SINGLE_AZ_1", "SINGLE_AZ_2", "SINGLE_AZ_HA_1", "SINGLE_AZ_HA_2", "MULTI_AZ_1"};
    for (const std::string& name : deployments) {
      if (std::find(kDeployments.begin(), kDeployments.end(), name) != kDeployments.end()) continue;
      const auto near = did_you_mean(name, kDeployments);
      return wrong(*openzfs.find("DeploymentType"),
                   fmt::format("no deployment type of OpenZFS: {}", name),
                   near ? fmt::format("did you mean {}?", *near) : "");
    }
    if (deployments.size() != 1) return;
    const std::string& deployment = deployments[0];
    const bool old = deployment == "SINGLE_AZ_1" || deployment == "SINGLE_AZ_HA_1";
    for (const std::int64_t value : whole_numbers(tree_, throughput)) {
      const bool fits =
          old ? is_one_of(value, {64, 128, 256, 512, 1024, 2048, 3072, 4096})
              : is_one_of(value, {160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240});
      if (fits) continue;
      wrong(*throughput, fmt::format("{} takes no {} MB/s", deployment, value),
            old ? "64, 128, 256, 512, 1024, 2048, 3072 or 4096"
                : "160, 320, 640, 1280, 2560, 3840, 5120, 7680 or 10240");
      break;
    }
    const Node* subnets = properties.find("SubnetIds");
    if (subnets == nullptr || !subnets->is_sequence()) return;
    const bool multi = deployment == "MULTI_AZ_1";
    const std::size_t count = subnets->items().size();
    if (multi ? count != 2 : count != 1)
      wrong(*subnets, fmt::format("{} stands in {}, not {}", deployment,
                                  multi ? "two subnets" : "one subnet", count));
    if (multi && openzfs.find("PreferredSubnetId") == nullptr)
      wrong(openzfs, "MULTI_AZ_1 needs a PreferredSubnetId");
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
};

// What keeps a resource from being deleted, by its type.
struct Protection {
  const char* type;
  const char* property;
};
constexpr std::array<Protection, 8> kProtections = {{
    {"AWS::RDS::DBInstance", "DeletionProtection"},
    {"AWS::RDS::DBCluster", "DeletionProtection"},
    {"AWS::RDS::GlobalCluster", "DeletionProtection"},
    {"AWS::DynamoDB::Table", "DeletionProtectionEnabled"},
    {"AWS::Cognito::UserPool", "DeletionProtection"},
    {"AWS::EC2::Instance", "DisableApiTermination"},
    {"AWS::EKS::Cluster", "DeletionProtection"},
    {"AWS::Neptune::DBCluster", "DeletionProtection"},
}};

}  // namespace

void check_cfn_storage(CfnCheck& check) {
  StorageCheck rules(check);
  for (const Node::Entry* entry : check.tree.resources_of("AWS::FSx::FileSystem"))
    rules.file_system(*entry);
}

void check_cfn_retention(CfnCheck& check) {
  for (const Protection& protection : kProtections) {
    for (const Node::Entry* entry : check.tree.resources_of(protection.type)) {
      const Node* value = CfnTemplate::properties(entry->value).find(protection.property);
      if (value == nullptr || cfn_call(*value)) continue;
      if (value->text() != "true" && value->text() != "ACTIVE") continue;
      const Node* policy = entry->value.find("DeletionPolicy");
      const std::string kept = policy != nullptr ? policy->text() : "Delete";
      if (kept.starts_with("Retain")) continue;
      check.wrong(value->where(), "cfn-retention",
                  fmt::format("{} is protected from deletion, and DeletionPolicy is {}: deleting "
                              "the stack fails",
                              entry->key, policy != nullptr ? kept : "Delete by default"),
                  "a parameter that turns the protection off, or DeletionPolicy: Retain");
    }
  }
}

}  // namespace muster::lint
