// Security groups: what EFA needs of them, the ports of Lustre, rules given twice, fixed names.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/words.h"
#include "lint/cloudformation_conditions.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

// One rule of a group, in it or as a resource of its own.
struct GroupRule {
  std::string group;  // the resource it belongs to
  bool ingress = false;
  std::string peer;      // the resource of the group at the other end, or empty
  std::string protocol;  // "-1": all
  const Node* node = nullptr;
  Position where;
};

std::string text_of(const CfnTemplate& tree, const Node& node, std::string_view key) {
  const Node* value = node.find(key);
  if (value == nullptr) return {};
  const auto texts = tree.texts(*value);
  return texts.empty() ? std::string() : texts.front();
}

class GroupCheck {
 public:
  explicit GroupCheck(CfnCheck& check) : check_(check), tree_(check.tree) {}

  void run() {
    groups_ = tree_.resources_of("AWS::EC2::SecurityGroup");
    for (const Node::Entry* group : groups_) inline_rules(*group);
    apart("AWS::EC2::SecurityGroupIngress", true);
    apart("AWS::EC2::SecurityGroupEgress", false);
    std::map<std::string, std::string> users = users_of_efa();
    for (const Node::Entry* group : groups_) judge(*group, users[group->key]);
    ports();
    twice();
    names();
  }

 private:
  void add(const std::string& group, bool ingress, const Node& node, const Position& where) {
    GroupRule rule{group, ingress, {}, text_of(tree_, node, "IpProtocol"), &node, where};
    const Node* peer = node.find(ingress ? "SourceSecurityGroupId" : "DestinationSecurityGroupId");
    if (peer != nullptr) rule.peer = tree_.resource_of(*peer);
    rules_.push_back(std::move(rule));
  }

  void inline_rules(const Node::Entry& group) {
    const Node& properties = CfnTemplate::properties(group.value);
    for (const bool ingress : {true, false}) {
      for (const Node* list :
           tree_.at(properties, ingress ? "SecurityGroupIngress" : "SecurityGroupEgress")) {
        for (const Node& item : list->items()) {
          for (const Node* rule : tree_.branches(item))
            add(group.key, ingress, *rule, rule->where());
        }
      }
    }
  }

  void apart(const char* type, bool ingress) {
    for (const Node::Entry* entry : tree_.resources_of(type)) {
      const Node& properties = CfnTemplate::properties(entry->value);
      const Node* group = properties.find("GroupId");
      add(group != nullptr ? tree_.resource_of(*group) : std::string(), ingress, properties,
          entry->where);
    }
  }

  // Groups that stand on an EFA interface or on a cluster that brings its own, and by what.
  std::map<std::string, std::string> users_of_efa() const {
    std::map<std::string, std::string> users;
    const auto take = [&](const Node& list, const std::string& by) {
      for (const Node* branch : tree_.branches(list)) {
        for (const Node& item : branch->items()) {
          for (const Node* one : tree_.branches(item))
            users.try_emplace(tree_.resource_of(*one), by);
        }
      }
    };
    for (const Node::Entry& entry : tree_.resources()) {
      const Node& properties = CfnTemplate::properties(entry.value);
      const std::string& type = tree_.type_of(entry.key);
      if (type == "AWS::SageMaker::Cluster") {
        for (const Node* vpc : tree_.at(properties, "VpcConfig")) {
          if (const Node* groups = vpc->find("SecurityGroupIds")) take(*groups, entry.key);
        }
      }
      if (type == "AWS::PCS::Cluster") {
        for (const Node* networking : tree_.at(properties, "Networking")) {
          if (const Node* groups = networking->find("SecurityGroupIds")) take(*groups, entry.key);
        }
      }
      if (type != "AWS::EC2::LaunchTemplate" && type != "AWS::EC2::Instance") continue;
      const auto data = type == "AWS::EC2::Instance" ? std::vector<const Node*>{&properties}
                                                     : tree_.at(properties, "LaunchTemplateData");
      for (const Node* about : data) {
        for (const Node* list : tree_.at(*about, "NetworkInterfaces")) {
          for (const Node& item : list->items()) {
            for (const Node* interface : tree_.branches(item)) {
              if (!text_of(tree_, *interface, "InterfaceType").starts_with("efa")) continue;
              for (const char* key : {"Groups", "GroupSet"}) {
                if (const Node* groups = interface->find(key)) take(*groups, entry.key);
              }
            }
          }
        }
      }
    }
    return users;
  }

  bool has_self(const std::string& group, bool ingress) const {
    return std::any_of(rules_.begin(), rules_.end(), [&](const GroupRule& rule) {
      return rule.group == group && rule.ingress == ingress && rule.peer == group &&
             (rule.protocol == "-1" || rule.protocol == "all");
    });
  }

  // Exported for whatever comes to run there.
  bool is_exported(const std::string& group) const {
    for (const auto& [name, output] : tree_.section("Outputs")) {
      const Node* value = output->value.find("Value");
      if (value != nullptr && output->value.find("Export") != nullptr &&
          name.ends_with("SecurityGroup") && lower_case(name).find("fsx") == std::string::npos &&
          tree_.resource_of(*value) == group)
        return true;
    }
    return false;
  }

  void judge(const Node::Entry& group, const std::string& user) {
    const bool in = has_self(group.key, true), out = has_self(group.key, false);
    if (in && out) return;
    const Node& properties = CfnTemplate::properties(group.value);
    const std::string words =
        lower_case(group.key + " " + text_of(tree_, properties, "GroupDescription") + " " +
                   text_of(tree_, properties, "GroupName"));
    const bool named =
        words.find("efa") != std::string::npos && words.find("default") == std::string::npos;
    const char* hint =
        "EFA has no ports: all protocols (-1) from the group and to the group itself";
    if (!user.empty() || named) {
      const std::string why =
          user.empty() ? "its name says EFA" : fmt::format("{} uses it for EFA", user);
      for (const bool ingress : {true, false}) {
        if (ingress ? in : out) continue;
        check_.wrong(group.where, "cfn-efa-group",
                     fmt::format("{} has no rule for all traffic {} itself, and {}", group.key,
                                 ingress ? "from" : "to", why),
                     !ingress && in ? "egress to 0.0.0.0/0 is not enough for EFA" : hint);
      }
    } else if (in != out) {
      check_.warn(group.where, "cfn-efa-group",
                  fmt::format("{} lets all traffic {} itself, and not {}: half of what EFA needs",
                              group.key, in ? "in from" : "out to", in ? "out" : "in"),
                  in ? "egress to 0.0.0.0/0 is not enough for EFA" : hint);
    } else if (is_exported(group.key)) {
      check_.warn(
          group.where, "cfn-efa-group",
          fmt::format("{} is exported as the network's group and has no rules for EFA", group.key),
          hint);
    }
  }

  // Lustre's clients and servers connect from 1018 to 1023, and to 988.
  void ports() {
    for (const GroupRule& rule : rules_) {
      const std::string from = text_of(tree_, *rule.node, "FromPort");
      const std::string to = text_of(tree_, *rule.node, "ToPort");
      if (to != "1023" || from == "1018" || !finite(from) || *finite(from) < 1000) continue;
      check_.wrong(rule.node->find("FromPort")->where(), "cfn-lustre-ports",
                   fmt::format("Lustre uses the ports 1018 to 1023: this rule starts at {}", from),
                   "FromPort: 1018");
    }
  }

  void twice() {
    std::map<std::string, Position> seen;
    for (const GroupRule& rule : rules_) {
      std::string text = rule.ingress ? "in " : "out ";
      text += rule.group;
      if (rule.group.empty()) {
        const Node* group = rule.node->find("GroupId");
        if (group == nullptr) continue;
        text += cfn_text(*group);
      }
      for (const Node::Entry& entry : rule.node->entries()) {
        if (entry.key == "Description" || entry.key == "GroupId") continue;
        text += "\n" + entry.key + "=" + cfn_text(entry.value);
      }
      const auto [known, fresh] = seen.try_emplace(std::move(text), rule.where);
      if (!fresh) {
        check_.wrong(rule.where, "cfn-duplicate-rule",
                     "the group has this very rule already: EC2 refuses the second",
                     fmt::format("the first is at {}", to_string(known->second)));
      }
    }
  }

  void names() {
    for (const Node::Entry* group : groups_) {
      const Node* name = CfnTemplate::properties(group->value).find("GroupName");
      if (name == nullptr || !name->is_scalar() || cfn_call(*name)) continue;
      check_.warn(
          name->where(), "cfn-fixed-name",
          fmt::format("{} has a fixed name: a second stack in the same network fails", group->key),
          "!Sub ${AWS::StackName}-" + name->text() + ", or no name");
    }
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
  std::vector<const Node::Entry*> groups_;
  std::vector<GroupRule> rules_;
};

}  // namespace

void check_cfn_groups(CfnCheck& check) {
  GroupCheck(check).run();
}

}  // namespace muster::lint
