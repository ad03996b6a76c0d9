// Network interfaces of launch templates and instances: the layout that the instance type takes,
// where its security groups stand, what containers see of them.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.h"
#include "facts/instances.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

struct CfnInterface {
  const Node* node;
  std::optional<std::int64_t> card, device;
  std::string type;  // efa, efa-only, interface; empty: not known here
};

std::vector<std::string> strings_at(const CfnTemplate& tree, const Node& node,
                                    std::string_view key) {
  const Node* value = node.find(key);
  return value == nullptr ? std::vector<std::string>() : tree.texts(*value);
}

std::optional<std::int64_t> number_of(const CfnTemplate& tree, const Node& node,
                                      std::string_view key, std::optional<std::int64_t> absent) {
  if (node.find(key) == nullptr) return absent;
  const auto texts = strings_at(tree, node, key);
  return texts.size() == 1 ? Node::scalar(texts[0], false, {}).as_int() : std::nullopt;
}

// The instance types that a launch may have: where the template says it itself, or in what starts
// from it.
std::vector<std::string> types_of_launch(const CfnTemplate& tree, const Node& data,
                                         std::string_view launch) {
  std::vector<std::string> types = strings_at(tree, data, "InstanceType");
  if (!types.empty()) return types;
  for (const Node::Entry& entry : tree.resources()) {
    bool uses = false;
    for (const CfnUse& use : tree.uses())
      uses |= use.section == "Resources" && use.owner == entry.key && use.name == launch;
    if (!uses) continue;
    const Node& properties = CfnTemplate::properties(entry.value);
    std::vector<const Node*> holders = {&properties};
    for (const Node* resources : tree.at(properties, "ComputeResources"))
      holders.push_back(resources);
    for (const Node* holder : holders) {
      for (const char* key : {"InstanceType", "InstanceTypes"}) {
        for (const Node* value : tree.at(*holder, key)) {
          std::vector<const Node*> items = {value};
          for (const Node& item : value->items()) items.push_back(&item);
          for (const Node* item : items) {
            for (std::string& text : tree.texts(*item)) types.push_back(std::move(text));
          }
        }
      }
      for (const Node* configs : tree.at(*holder, "InstanceConfigs")) {
        for (const Node& config : configs->items()) {
          for (std::string& text : strings_at(tree, config, "InstanceType"))
            types.push_back(std::move(text));
        }
      }
    }
  }
  return types;
}

std::string words_for(const std::vector<facts::Interface>& layout) {
  std::vector<std::string> parts;
  parts.reserve(layout.size());
  for (const auto& one : layout)
    parts.push_back(fmt::format("card {} device {} {}", one.card, one.device, one.type));
  if (parts.size() > 4) {
    parts = {parts[0], parts[1], "…", parts.back()};
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

class InterfaceCheck {
 public:
  explicit InterfaceCheck(CfnCheck& check) : check_(check), tree_(check.tree) {}

  void launch(const Node& data, std::string_view name) {
    for (const Node* list : tree_.at(data, "NetworkInterfaces")) {
      if (!list->is_sequence()) continue;
      // What is there in one case only is judged with what is always there.
      std::vector<CfnInterface> all;
      bool varies = false;
      for (const Node& item : list->items()) {
        const auto branches = tree_.branches(item);
        varies |= branches.size() != 1 || cfn_call(item).has_value();
        for (const Node* one : branches) {
          const auto types = strings_at(tree_, *one, "InterfaceType");
          const bool absent = one->find("InterfaceType") == nullptr;
          all.push_back({one, number_of(tree_, *one, "NetworkCardIndex", 0),
                         number_of(tree_, *one, "DeviceIndex", std::nullopt),
                         absent              ? "interface"
                         : types.size() == 1 ? types[0]
                                             : ""});
        }
      }
      if (all.empty()) continue;
      groups(data, *list, all);
      slots(all, varies);
      for (const std::string& type : types_of_launch(tree_, data, name))
        layout(type, *list, all, varies);
    }
  }

 private:
  static bool is_efa(const CfnInterface& one) { return one.type.starts_with("efa"); }

  // With interfaces, EC2 takes security groups at each of them only, and several of them can't get
  // a public address.
  void groups(const Node& data, const Node& list, const std::vector<CfnInterface>& all) {
    for (const char* key : {"SecurityGroupIds", "SecurityGroups"}) {
      const Node* top = data.find(key);
      if (top == nullptr || tree_.branches(*top).empty()) continue;
      check_.wrong(top->where(), "cfn-interface-groups",
                   fmt::format("{} beside NetworkInterfaces: EC2 refuses both", key),
                   "Groups of each interface");
    }
    for (const CfnInterface& one : all) {
      const Node* address = one.node->find("AssociatePublicIpAddress");
      if (list.items().size() > 1 && address != nullptr && address->as_bool() == true)
        check_.wrong(address->where(), "cfn-interface-groups",
                     "EC2 gives no public address to a launch with several interfaces",
                     "an elastic address, or a private subnet with NAT");
      if (is_efa(one) && one.node->find("Groups") == nullptr &&
          one.node->find("GroupSet") == nullptr)
        check_.warn(one.node->where(), "cfn-interface-groups",
                    "an EFA interface without Groups takes the network's default group, which "
                    "EFA can't use");
    }
  }

  // One interface a slot; the first is card 0 device 0.
  void slots(const std::vector<CfnInterface>& all, bool varies) {
    std::map<std::pair<std::int64_t, std::int64_t>, const Node*> taken;
    bool first = false, known = true;
    for (const CfnInterface& one : all) {
      if (one.node->find("DeviceIndex") == nullptr)
        check_.wrong(one.node->where(), "cfn-interfaces", "an interface without DeviceIndex");
      if (!one.card || !one.device) {
        known = false;
        continue;
      }
      first |= *one.card == 0 && *one.device == 0;
      const auto [other, fresh] = taken.try_emplace({*one.card, *one.device}, one.node);
      if (!fresh && !varies)
        check_.wrong(one.node->where(), "cfn-interfaces",
                     fmt::format("card {} device {} is taken already", *one.card, *one.device),
                     fmt::format("by the interface at {}", to_string(other->second->where())));
    }
    if (!first && known)
      check_.wrong(all.front().node->where(), "cfn-interfaces",
                   "no interface is the primary one: card 0, device 0");
  }

  void layout(const std::string& type, const Node& list, const std::vector<CfnInterface>& all,
              bool varies) {
    const auto instance = facts::find_instance(check_.known.instances, type);
    if (!instance) return;
    const auto& right = instance->network.interfaces;
    const auto efa = static_cast<int>(std::count_if(all.begin(), all.end(), is_efa));
    const auto most = instance->network.efa_count;
    if (most && efa > 0 && *most == 0) {
      return check_.wrong(list.where(), "cfn-interfaces",
                          fmt::format("{} has no EFA", instance->name));
    }
    if (most && efa > *most && !varies) {
      check_.wrong(list.where(), "cfn-interfaces",
                   fmt::format("{} EFA interfaces: {} has {}", efa, instance->name, *most));
    } else if (most && efa > 0 && efa < *most && !varies) {
      check_.warn(list.where(), "cfn-interfaces",
                  fmt::format("{} of the {} EFA interfaces of {}: the others' bandwidth is unused",
                              efa, *most, instance->name),
                  words_for(right));
    }
    if (right.empty() || efa == 0) return;
    for (const CfnInterface& one : all) {
      if (!one.card || !one.device || one.type.empty()) continue;
      const auto same_card = [&](const facts::Interface& i) { return i.card == *one.card; };
      const auto found = std::find_if(right.begin(), right.end(), same_card);
      const Node& where = *one.node;
      if (found == right.end()) {
        check_.wrong(where.where(), "cfn-interfaces",
                     fmt::format("{} has no network card {}", instance->name, *one.card),
                     words_for(right));
      } else if (found->type == "interface" && is_efa(one)) {
        check_.wrong(where.where(), "cfn-interfaces",
                     fmt::format("card {} of {} carries no EFA", *one.card, instance->name),
                     words_for(right));
      } else if (found->device != *one.device && !tolerated(*instance, one)) {
        check_.wrong(where.where(), "cfn-interfaces",
                     fmt::format("card {} of {} takes device index {}, not {}", *one.card,
                                 instance->name, found->device, *one.device),
                     words_for(right));
      }
    }
  }

  // Cards 1 to 3 of p4d and p4de are launched with their own number or with 1.
  static bool tolerated(const facts::Instance& instance, const CfnInterface& one) {
    return instance.name.starts_with("p4d") && *one.card > 0 &&
           (*one.device == 1 || *one.device == *one.card);
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
};

}  // namespace

void check_cfn_interfaces(CfnCheck& check) {
  InterfaceCheck rules(check);
  for (const Node::Entry* entry : check.tree.resources_of("AWS::EC2::LaunchTemplate")) {
    for (const Node* data :
         check.tree.at(CfnTemplate::properties(entry->value), "LaunchTemplateData"))
      rules.launch(*data, entry->key);
  }
  for (const Node::Entry* entry : check.tree.resources_of("AWS::EC2::Instance"))
    rules.launch(CfnTemplate::properties(entry->value), entry->key);
}

}  // namespace muster::lint
