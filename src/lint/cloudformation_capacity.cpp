// How capacity is bought: reservations, capacity blocks, placement groups, and conditions that say
// the opposite of what they are asked.
#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/words.h"
#include "lint/cloudformation_conditions.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

bool is_no_value(const Node& node) {
  const auto call = cfn_call(node);
  return call && call->is("Ref") && call->text() == "AWS::NoValue";
}

// The condition `!Equals [!Ref P, value]` that this is, or nothing.
struct CfnSwitch {
  std::string parameter, value;
};

std::optional<CfnSwitch> switch_of(const CfnTemplate& tree, std::string_view condition) {
  const Node::Entry* entry = tree.find("Conditions", condition);
  const auto call = entry ? cfn_call(entry->value) : std::nullopt;
  if (!call || !call->is("Fn::Equals") || call->items().size() != 2) return std::nullopt;
  const Node* left = &call->items()[0];
  const Node* right = &call->items()[1];
  if (!cfn_call(*left)) std::swap(left, right);
  const std::string parameter = tree.parameter_of(*left);
  if (parameter.empty() || !right->is_scalar() || cfn_call(*right)) return std::nullopt;
  return CfnSwitch{parameter, right->text()};
}

// A parameter that asks for something by its name.
bool asks_for(std::string_view parameter) {
  static constexpr std::array<std::string_view, 5> kStarts = {"Create", "Enable", "Use", "Deploy",
                                                              "With"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return parameter.starts_with(start); });
}

// A value under a condition that only holds when the parameter it takes is empty; a thing that is
// left out when it is asked for.
void check_inverted(CfnCheck& check) {
  const CfnTemplate& tree = check.tree;
  const std::function<void(const Node&)> walk = [&](const Node& node) {
    const auto call = cfn_call(node);
    if (call && call->is("Fn::If") && call->items().size() == 3 && call->items()[0].is_scalar()) {
      const auto& items = call->items();
      const std::string& name = items[0].text();
      if (const auto asked = switch_of(tree, name); asked && asked->value == "true" &&
                                                    asks_for(asked->parameter) &&
                                                    is_no_value(items[1]) && !is_no_value(items[2]))
        check.wrong(
            items[0].where(), "cfn-inverted",
            fmt::format("{}=true leaves this out, and another value brings it", asked->parameter),
            "the branches of Fn::If the other way round");
    }
    for (const Node& item : node.items()) walk(item);
    for (const Node::Entry& entry : node.entries()) walk(entry.value);
  };
  for (const char* section : {"Resources", "Outputs"}) {
    if (const Node* found = tree.root().find(section)) walk(*found);
  }
  for (const CfnUse& use : tree.uses()) {
    if (use.kind != CfnUse::Kind::kRef || use.section == "Conditions") continue;
    for (const auto& [name, holds] : use.given) {
      const auto chosen = switch_of(tree, name);
      if (!holds || !chosen || chosen->parameter != use.name || !chosen->value.empty()) continue;
      check.wrong(
          use.where, "cfn-inverted",
          fmt::format("{} holds only when {} is empty, so this is always empty", name, use.name),
          "the branches of Fn::If the other way round");
    }
  }
}

// `AWS::EC2::KeyPair::KeyName` compared with '': the comparison can't hold.
void check_never_empty(CfnCheck& check) {
  const CfnTemplate& tree = check.tree;
  for (const auto& [name, entry] : tree.section("Conditions")) {
    const std::function<void(const Node&)> walk = [&](const Node& node) {
      const auto call = cfn_call(node);
      if (call && call->is("Fn::Equals") && call->items().size() == 2) {
        for (int i : {0, 1}) {
          const Node& literal = call->items()[static_cast<std::size_t>(1 - i)];
          const std::string parameter =
              tree.parameter_of(call->items()[static_cast<std::size_t>(i)]);
          const std::string& type = tree.parameter_type(parameter);
          const bool id = type.starts_with("AWS::EC2::") || type.starts_with("AWS::Route53::");
          const Node::Entry* about = tree.find("Parameters", parameter);
          // An empty default is told where the parameter is.
          const Node* preset = about ? about->value.find("Default") : nullptr;
          const bool told = preset != nullptr && preset->text().empty();
          if (id && !told && literal.is_scalar() && literal.text().empty() && !cfn_call(literal))
            check.wrong(
                node.where(), "cfn-empty-default",
                fmt::format("{} is a {}, which can't be empty: this never holds", parameter, type),
                "type String with an empty default");
        }
      }
      for (const Node& item : node.items()) walk(item);
      for (const Node::Entry& inner : node.entries()) walk(inner.value);
    };
    walk(entry->value);
  }
}

class CapacityCheck {
 public:
  explicit CapacityCheck(CfnCheck& check) : check_(check), tree_(check.tree) {}

  void launch(const Node::Entry& entry, const Node& data) {
    markets(entry, data);
    for (const Node* specification : tree_.at(data, "CapacityReservationSpecification")) {
      for (const Node* target : tree_.at(*specification, "CapacityReservationTarget")) {
        if (target->is_mapping()) judge_target(*target);
      }
    }
    placement(data);
  }

 private:
  // A target that may come to nothing: EC2 refuses an empty one.
  void judge_target(const Node& target) {
    const CfnConditions conditions(tree_);
    CfnGiven none;
    for (const Node::Entry& entry : target.entries()) {
      const auto call = cfn_call(entry.value);
      if (call && call->is("Fn::If") && call->items().size() == 3) {
        const auto& items = call->items();
        if (is_no_value(items[1]) == is_no_value(items[2])) return;
        none.emplace_back(items[0].text(), is_no_value(items[1]));
      } else if (const std::string parameter = tree_.parameter_of(entry.value);
                 parameter.empty() || !may_be_empty(parameter)) {
        return;
      } else if (!stands_under_condition(entry.value)) {
        check_.wrong(
            entry.value.where(), "cfn-reservation",
            fmt::format("{} may be empty: EC2 refuses a reservation target without one", parameter),
            "!If on whether it is given, around the whole specification");
        return;
      }
    }
    if (none.empty() && !target.entries().empty()) return;
    if (!target.entries().empty() && conditions.possible(none) != std::optional<bool>(true)) return;
    check_.wrong(target.where(), "cfn-reservation",
                 "the reservation target can be empty, which EC2 refuses",
                 "!If around the whole CapacityReservationSpecification");
  }

  bool may_be_empty(const std::string& parameter) const {
    const Node::Entry* entry = tree_.find("Parameters", parameter);
    const Node* preset = entry != nullptr ? entry->value.find("Default") : nullptr;
    return preset != nullptr && preset->text().empty();
  }

  bool stands_under_condition(const Node& node) const {
    for (const CfnUse& use : tree_.uses()) {
      if (use.where == node.where() || (use.where.line == node.where().line &&
                                        use.kind == CfnUse::Kind::kRef && !use.given.empty()))
        return !use.given.empty();
    }
    return false;
  }

  // The market of capacity blocks needs a reservation of that kind, always.
  void markets(const Node::Entry& entry, const Node& data) {
    const Node* options = data.find("InstanceMarketOptions");
    if (options == nullptr) return;
    const bool always = !cfn_call(*options);
    for (const Node* branch : tree_.branches(*options)) {
      const Node* market = branch->find("MarketType");
      if (market == nullptr || market->text() != "capacity-block") continue;
      if (data.find("CapacityReservationSpecification") == nullptr) {
        check_.wrong(market->where(), "cfn-reservation",
                     fmt::format("{} buys from capacity blocks and names none", entry.key),
                     "CapacityReservationSpecification.CapacityReservationTarget");
        continue;
      }
      if (!always) continue;
      for (const CfnUse& use : tree_.uses()) {
        if (use.owner != entry.key || use.kind != CfnUse::Kind::kRef) continue;
        const Node::Entry* parameter = tree_.find("Parameters", use.name);
        if (parameter == nullptr || use.name.find("Reservation") == std::string::npos) continue;
        const Node* about = parameter->value.find("Description");
        const std::string words = about != nullptr ? lower_case(about->text()) : "";
        if (lower_case(use.name).find("block") == std::string::npos &&
            words.find("block") == std::string::npos)
          check_.warn(parameter->where, "cfn-reservation",
                      fmt::format("{} takes capacity blocks only, which its name and "
                                  "description do not say",
                                  use.name));
      }
    }
  }

  // A reservation has its place already: a capacity block can't be launched in a placement group.
  void placement(const Node& data) {
    const Node* placed = data.find("Placement");
    if (placed == nullptr) return;
    for (const Node* options : tree_.at(data, "InstanceMarketOptions")) {
      const Node* market = options->find("MarketType");
      if (market == nullptr || market->text() != "capacity-block") continue;
      for (const Node* placement : tree_.branches(*placed)) {
        for (const char* key : {"GroupName", "GroupId"}) {
          const Node* group = placement->find(key);
          if (group == nullptr) continue;
          if (apart(data, *placed)) continue;
          check_.wrong(group->where(), "cfn-placement-group",
                       "capacity blocks are placed by EC2: they can't join a placement group",
                       "no group where the market is capacity-block");
        }
      }
    }
  }

  // Whether the market and the group are never both there.
  bool apart(const Node& data, const Node& placed) const {
    const Node* market = data.find("InstanceMarketOptions");
    const auto first = given_of(*market, true), second = given_of(placed, true);
    CfnGiven both = first;
    both.insert(both.end(), second.begin(), second.end());
    if (both.empty()) return false;
    return CfnConditions(tree_).possible(both) == std::optional<bool>(false);
  }

  // Under which conditions the value of an Fn::If is there at all.
  static CfnGiven given_of(const Node& node, bool present) {
    const auto call = cfn_call(node);
    if (!call || !call->is("Fn::If") || call->items().size() != 3) return {};
    const auto& items = call->items();
    if (is_no_value(items[2]) == is_no_value(items[1])) return {};
    return {{items[0].text(), is_no_value(items[2]) == present}};
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
};

// A reservation is of one zone: what starts in it must be in a subnet of that zone.
void check_reservation_zone(CfnCheck& check) {
  const CfnTemplate& tree = check.tree;
  for (const Node::Entry* reservation : tree.resources_of("AWS::EC2::CapacityReservation")) {
    const Node& properties = CfnTemplate::properties(reservation->value);
    const Node* zone = properties.find("AvailabilityZone");
    if (zone == nullptr) zone = properties.find("AvailabilityZoneId");
    if (zone == nullptr) continue;
    // The launch templates that aim at it, what starts from those, and the subnets of that.
    for (const CfnUse& aim : tree.uses()) {
      if (aim.name != reservation->key || aim.section != "Resources") continue;
      for (const CfnUse& start : tree.uses()) {
        const bool itself = start.owner == aim.owner;
        const bool from = start.section == "Resources" && start.name == aim.owner;
        if (!itself && !from) continue;
        for (const CfnUse& place : tree.uses()) {
          if (place.owner != start.owner || tree.type_of(place.name) != "AWS::EC2::Subnet")
            continue;
          const Node& subnet = CfnTemplate::properties(tree.find("Resources", place.name)->value);
          for (const char* key : {"AvailabilityZone", "AvailabilityZoneId"}) {
            const Node* other = subnet.find(key);
            const bool same_key = properties.find(key) == zone;
            if (other == nullptr || !same_key || cfn_text(*other) == cfn_text(*zone)) continue;
            check.wrong(place.where, "cfn-reservation-zone",
                        fmt::format("{} is in another zone than the reservation {}", place.name,
                                    reservation->key),
                        fmt::format("the zones are at {} and {}", to_string(other->where()),
                                    to_string(zone->where())));
          }
        }
      }
    }
  }
}

}  // namespace

void check_cfn_capacity(CfnCheck& check) {
  check_inverted(check);
  check_never_empty(check);
  CapacityCheck rules(check);
  for (const Node::Entry* entry : check.tree.resources_of("AWS::EC2::LaunchTemplate")) {
    for (const Node* data :
         check.tree.at(CfnTemplate::properties(entry->value), "LaunchTemplateData"))
      rules.launch(*entry, *data);
  }
  check_reservation_zone(check);
}

}  // namespace muster::lint
