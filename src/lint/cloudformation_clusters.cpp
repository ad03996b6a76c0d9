// Clusters and what surrounds them: lists that come to nothing, transforms and interfaces of the
// console, outputs that say another thing than their name, instance groups.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/words.h"
#include "lint/cloudformation_conditions.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

bool is_nothing(const Node& node) {
  const auto call = cfn_call(node);
  return call && call->is("Ref") && call->text() == "AWS::NoValue";
}

// The choices under which an item of a list is left out; nothing when it always stays.
std::optional<CfnGiven> left_out(const Node& item) {
  const auto call = cfn_call(item);
  if (!call || !call->is("Fn::If") || call->items().size() != 3) return std::nullopt;
  const auto& items = call->items();
  if (is_nothing(items[1]) == is_nothing(items[2])) return std::nullopt;
  return CfnGiven{{items[0].text(), is_nothing(items[1])}};
}

// Properties that a service refuses when they are empty.
const std::set<std::string, std::less<>> kNeverEmpty = {
    "SlurmCustomSettings", "InstanceGroups", "SecurityGroupIds", "SubnetIds", "Subnets",
    "NetworkInterfaces",   "AuthKeys"};

class ClusterCheck {
 public:
  explicit ClusterCheck(CfnCheck& check)
      : check_(check), tree_(check.tree), conditions_(check.tree) {}

  void run() {
    for (const Node::Entry& entry : tree_.resources())
      lists(CfnTemplate::properties(entry.value), {});
    transform();
    interface();
    outputs();
    hyperpod();
  }

 private:
  void lists(const Node& node, std::string_view key) {
    for (const Node& item : node.items()) lists(item, {});
    for (const Node::Entry& entry : node.entries()) lists(entry.value, entry.key);
    if (!node.is_sequence() || !node.tag().empty() || node.items().empty()) return;
    if (kNeverEmpty.count(key) == 0) return;
    CfnGiven none;
    for (const Node& item : node.items()) {
      const auto out = left_out(item);
      if (!out) return;
      none.insert(none.end(), out->begin(), out->end());
    }
    if (conditions_.possible(none) == std::optional<bool>(true))
      check_.wrong(node.where(), "cfn-empty-list",
                   fmt::format("{} can come to an empty list, which the service refuses", key),
                   "!If around the whole list, with AWS::NoValue");
  }

  // The Serverless transform asks for another capability, and does nothing without its types.
  void transform() {
    const Node* found = tree_.root().find("Transform");
    if (found == nullptr) return;
    std::vector<const Node*> names = {found};
    for (const Node& item : found->items()) names.push_back(&item);
    for (const Node* name : names) {
      const bool serverless = name->text().starts_with("AWS::Serverless");
      if (!serverless) continue;
      const bool used = std::any_of(
          tree_.resources().begin(), tree_.resources().end(), [&](const Node::Entry& entry) {
            return tree_.type_of(entry.key).starts_with("AWS::Serverless::");
          });
      if (!used && tree_.root().find("Globals") == nullptr)
        check_.wrong(name->where(), "cfn-transform",
                     "no resource needs this transform, and it makes every deployment ask for "
                     "CAPABILITY_AUTO_EXPAND",
                     "leave it out");
    }
  }

  // What the console shows of parameters must be parameters.
  void interface() {
    const Node* metadata = tree_.root().find("Metadata");
    const Node* shown =
        metadata != nullptr ? metadata->find("AWS::CloudFormation::Interface") : nullptr;
    if (shown == nullptr) return;
    std::vector<std::string> names;
    for (const auto& [name, entry] : tree_.section("Parameters")) names.emplace_back(name);
    std::set<std::string> grouped;
    const auto judge = [&](const std::string& name, const Position& where) {
      if (tree_.find("Parameters", name) != nullptr) return;
      const auto near = did_you_mean(name, names);
      check_.wrong(where, "cfn-interface-metadata",
                   fmt::format("the console's interface shows no parameter {}", name),
                   near ? fmt::format("did you mean {}?", *near) : "");
    };
    if (const Node* groups = shown->find("ParameterGroups")) {
      for (const Node& group : groups->items()) {
        const Node* parameters = group.find("Parameters");
        if (parameters == nullptr) continue;
        for (const Node& item : parameters->items()) {
          judge(item.text(), item.where());
          if (!grouped.insert(item.text()).second)
            check_.wrong(item.where(), "cfn-interface-metadata",
                         fmt::format("{} is in two groups of the interface", item.text()));
        }
      }
    }
    if (const Node* labels = shown->find("ParameterLabels")) {
      for (const Node::Entry& entry : labels->entries()) judge(entry.key, entry.where);
    }
  }

  // Latest… that gives Default…, and the other way round.
  void outputs() {
    for (const auto& [name, output] : tree_.section("Outputs")) {
      const Node* value = output->value.find("Value");
      const auto call = value != nullptr ? cfn_call(*value) : std::nullopt;
      if (!call || !call->is("Fn::GetAtt")) continue;
      const std::string attribute = call->items().size() == 2
                                        ? call->items()[1].text()
                                        : call->text().substr(call->text().find('.') + 1);
      for (const auto& [said, given] : {std::pair{"Latest", "Default"}, {"Default", "Latest"}}) {
        const std::string other = std::string(given) + "VersionNumber";
        if (name.find(said) != std::string_view::npos && attribute == other)
          check_.wrong(value->where(), "cfn-output-name",
                       fmt::format("the output {} gives {}", name, attribute),
                       fmt::format("{}VersionNumber", said));
      }
    }
  }

  void hyperpod() {
    for (const Node::Entry* cluster : tree_.resources_of("AWS::SageMaker::Cluster")) {
      const Node& properties = CfnTemplate::properties(cluster->value);
      std::set<std::string> names;
      for (const char* key : {"InstanceGroups", "RestrictedInstanceGroups"}) {
        for (const Node* groups : tree_.at(properties, key)) {
          for (const Node& item : groups->items()) {
            for (const Node* group : tree_.branches(item)) judge_group(*group, names);
          }
        }
      }
      const Node* mode = properties.find("NodeProvisioningMode");
      const Node* orchestrator = properties.find("Orchestrator");
      if (mode != nullptr && !tree_.branches(*mode).empty() && orchestrator == nullptr)
        check_.wrong(mode->where(), "cfn-hyperpod",
                     "NodeProvisioningMode is of clusters that EKS orchestrates");
    }
  }

  void judge_group(const Node& group, std::set<std::string>& names) {
    const Node* name = group.find("InstanceGroupName");
    if (name != nullptr && !cfn_call(*name) && !names.insert(name->text()).second)
      check_.wrong(name->where(), "cfn-hyperpod",
                   fmt::format("two instance groups are called {}", name->text()));
    const Node* type = group.find("InstanceType");
    if (type != nullptr) {
      for (const std::string& text : tree_.texts(*type)) {
        if (text.empty() || text.starts_with("ml.")) continue;
        check_.wrong(type->where(), "cfn-hyperpod",
                     fmt::format("{} is no type of SageMaker's", text), "ml." + text);
        break;
      }
    }
    const Node* threads = group.find("ThreadsPerCore");
    if (threads == nullptr) return;
    for (const std::string& text : tree_.texts(*threads)) {
      if (text == "1" || text == "2") continue;
      check_.wrong(threads->where(), "cfn-hyperpod",
                   fmt::format("ThreadsPerCore {}: 1 or 2", text));
      break;
    }
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
  CfnConditions conditions_;
};

}  // namespace

void check_cfn_clusters(CfnCheck& check) {
  ClusterCheck(check).run();
}

}  // namespace muster::lint
