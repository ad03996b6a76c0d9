// What templates refer to: resources, attributes, mappings; and that no reference goes in a circle.
#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

constexpr std::array<std::string_view, 8> kPseudo = {
    "AWS::AccountId", "AWS::NoValue",   "AWS::NotificationARNs", "AWS::Partition",
    "AWS::Region",    "AWS::StackName", "AWS::StackId",          "AWS::URLSuffix"};

bool is_pseudo(std::string_view name) {
  return std::find(kPseudo.begin(), kPseudo.end(), name) != kPseudo.end();
}

std::string nearest(std::string_view word, const std::vector<std::string>& right) {
  for (const std::string& other : right) {
    if (lower_case(other) == lower_case(word)) return fmt::format("did you mean {}?", other);
  }
  const auto near = did_you_mean(word, right);
  return near ? fmt::format("did you mean {}?", *near) : std::string();
}

std::vector<std::string> cfn_names(const CfnTemplate& tree,
                                   std::initializer_list<const char*> sections) {
  std::vector<std::string> all;
  for (const char* section : sections) {
    for (const auto& [name, entry] : tree.section(section)) all.emplace_back(name);
  }
  return all;
}

// Whether transforms make resources whose names only CloudFormation knows.
bool makes_resources(const CfnTemplate& tree) {
  return std::any_of(tree.resources().begin(), tree.resources().end(),
                     [&](const Node::Entry& entry) {
                       return entry.key.starts_with("Fn::ForEach::") ||
                              tree.type_of(entry.key).starts_with("AWS::Serverless::");
                     });
}

void check_reference(CfnCheck& check, const CfnUse& use) {
  const CfnTemplate& tree = check.tree;
  if (use.name.find("${") != std::string::npos || use.name.find("&{") != std::string::npos) return;
  if (tree.find("Parameters", use.name) != nullptr) return;
  if (is_pseudo(use.name)) return;
  const bool resource = tree.find("Resources", use.name) != nullptr;
  const bool early = use.section == "Conditions" || use.section == "Rules";
  if (resource && !early) {
    // A resource that refers to itself is told as a circle.
    return;
  }
  if (resource) {
    return check.wrong(
        use.where, "cfn-reference",
        fmt::format("{} refers to the resource {}, which is made later", use.section, use.name));
  }
  std::vector<std::string> right = cfn_names(tree, {"Parameters"});
  if (!early) {
    const auto more = cfn_names(tree, {"Resources"});
    right.insert(right.end(), more.begin(), more.end());
  }
  if (use.name.find(':') != std::string::npos) right.assign(kPseudo.begin(), kPseudo.end());
  check.wrong(use.where, "cfn-reference", fmt::format("no parameter or resource {}", use.name),
              nearest(use.name, right));
}

void check_attribute(CfnCheck& check, const CfnUse& use) {
  const CfnTemplate& tree = check.tree;
  if (use.name.find("${") != std::string::npos) return;
  const Node::Entry* resource = tree.find("Resources", use.name);
  if (resource == nullptr) {
    return check.wrong(use.where, "cfn-reference", fmt::format("no resource {}", use.name),
                       tree.find("Parameters", use.name) != nullptr
                           ? "it is a parameter, which has no attributes"
                           : nearest(use.name, cfn_names(tree, {"Resources"})));
  }
  const std::string& type = tree.type_of(use.name);
  const CfnResourceType* known = check.types.find(type);
  if (use.attribute.empty() || known == nullptr || type == "AWS::CloudFormation::CustomResource")
    return;
  if (known->attributes.count(use.attribute) > 0) return;
  if (type == "AWS::CloudFormation::Stack" && use.attribute.starts_with("Outputs.")) return;
  std::vector<std::string> right;
  for (const auto& [name, of] : known->attributes) right.emplace_back(name);
  const std::string near = nearest(use.attribute, right);
  if (!near.empty()) {
    return check.wrong(use.where, "cfn-attribute",
                       fmt::format("{} has no attribute {}", type, use.attribute), near);
  }
  check.warn(use.where, "cfn-attribute",
             fmt::format("{} has no attribute {} in the data of {}; a newer one is unknown to it",
                         type, use.attribute, check.types.date()),
             right.empty() ? "" : fmt::format("it has {}", fmt::join(right, ", ")));
}

void check_mapping(CfnCheck& check, const CfnUse& use) {
  if (check.tree.find("Mappings", use.name) != nullptr) return;
  check.wrong(use.where, "cfn-mapping", fmt::format("no mapping {}", use.name),
              nearest(use.name, cfn_names(check.tree, {"Mappings"})));
}

void check_depends(CfnCheck& check, const CfnUse& use) {
  if (check.tree.find("Resources", use.name) != nullptr) return;
  check.wrong(use.where, "cfn-reference", fmt::format("no resource {}", use.name),
              nearest(use.name, cfn_names(check.tree, {"Resources"})));
}

// A mapping has two levels, and every Fn::FindInMap of known keys finds something.
void check_mapping_keys(CfnCheck& check) {
  for (const auto& [name, entry] : check.tree.section("Mappings")) {
    if (name.starts_with("Fn::")) continue;
    if (!entry->value.is_mapping() || entry->value.entries().empty()) {
      check.wrong(entry->where, "cfn-mapping", fmt::format("mapping {} is empty", name));
      continue;
    }
    for (const Node::Entry& top : entry->value.entries()) {
      if (!top.value.is_mapping() || top.value.entries().empty()) {
        check.wrong(top.where, "cfn-mapping",
                    fmt::format("{}.{} is no mapping of values", name, top.key));
        continue;
      }
      for (const Node::Entry& value : top.value.entries()) {
        if (value.value.is_mapping() || value.value.is_null() || cfn_call(value.value))
          check.wrong(value.where, "cfn-mapping",
                      fmt::format("{}.{}.{} is no text or list", name, top.key, value.key));
      }
    }
  }
  const std::function<void(const Node&)> walk = [&](const Node& node) {
    const auto call = cfn_call(node);
    if (call && call->is("Fn::FindInMap") && call->items().size() == 3) {
      const auto& items = call->items();
      const Node::Entry* mapping =
          items[0].tag().empty() ? check.tree.find("Mappings", items[0].text()) : nullptr;
      const auto literal = [](const Node& item) { return item.is_scalar() && item.tag().empty(); };
      if (mapping != nullptr) {
        std::vector<std::string> tops, keys;
        for (const Node::Entry& top : mapping->value.entries()) {
          tops.push_back(top.key);
          for (const Node::Entry& key : top.value.entries()) keys.push_back(key.key);
        }
        const Node* top = literal(items[1]) ? mapping->value.find(items[1].text()) : nullptr;
        if (literal(items[1]) && top == nullptr)
          check.wrong(items[1].where(), "cfn-mapping",
                      fmt::format("{} has no key {}", mapping->key, items[1].text()),
                      nearest(items[1].text(), tops));
        const bool found = top != nullptr
                               ? top->find(items[2].text()) != nullptr
                               : std::find(keys.begin(), keys.end(), items[2].text()) != keys.end();
        if (literal(items[2]) && !found && (top != nullptr || !literal(items[1])))
          check.wrong(items[2].where(), "cfn-mapping",
                      fmt::format("{} has no key {} below", mapping->key, items[2].text()),
                      nearest(items[2].text(), keys));
      }
    }
    for (const Node& item : node.items()) walk(item);
    for (const Node::Entry& entry : node.entries()) walk(entry.value);
  };
  for (const char* section : {"Conditions", "Resources", "Outputs"}) {
    if (const Node* found = check.tree.root().find(section)) walk(*found);
  }
}

// Resources that need each other: each circle is told once, where its first use stands.
class CircleCheck {
 public:
  explicit CircleCheck(CfnCheck& check) : check_(check) {
    for (const CfnUse& use : check.tree.uses()) {
      if (use.section != "Resources" || use.kind == CfnUse::Kind::kCondition ||
          use.kind == CfnUse::Kind::kMapping)
        continue;
      if (check.tree.find("Resources", use.name) != nullptr) needs_[use.owner].push_back(&use);
    }
  }

  void run() {
    for (const Node::Entry& entry : check_.tree.resources()) visit(entry.key);
  }

 private:
  void visit(std::string_view name) {
    if (done_.count(name) > 0) return;
    path_.push_back(name);
    for (const CfnUse* use : needs_[name]) {
      const auto back = std::find(path_.begin(), path_.end(), std::string_view(use->name));
      if (back == path_.end()) {
        const Node::Entry* next = check_.tree.find("Resources", use->name);
        visit(next->key);
        continue;
      }
      std::vector<std::string> circle(back, path_.end());
      circle.push_back(use->name);
      std::set<std::string> members(circle.begin(), circle.end());
      if (!told_.insert(members).second) continue;
      check_.wrong(use->where, "cfn-circle",
                   circle.size() == 2
                       ? fmt::format("{} needs itself", use->name)
                       : fmt::format("resources need each other: {}", fmt::join(circle, " -> ")));
    }
    path_.pop_back();
    done_.insert(name);
  }

  CfnCheck& check_;
  std::map<std::string_view, std::vector<const CfnUse*>> needs_;
  std::vector<std::string_view> path_;
  std::set<std::string_view> done_;
  std::set<std::set<std::string>> told_;
};

}  // namespace

void check_cfn_references(CfnCheck& check) {
  const bool made = makes_resources(check.tree);
  for (const CfnUse& use : check.tree.uses()) {
    if (made && check.tree.find("Resources", use.name) == nullptr) continue;
    switch (use.kind) {
      case CfnUse::Kind::kRef:
        check_reference(check, use);
        break;
      case CfnUse::Kind::kGetAtt:
        check_attribute(check, use);
        break;
      case CfnUse::Kind::kMapping:
        check_mapping(check, use);
        break;
      case CfnUse::Kind::kDependsOn:
        check_depends(check, use);
        break;
      case CfnUse::Kind::kCondition:
        break;  // where conditions are judged
    }
  }
  check_mapping_keys(check);
  CircleCheck(check).run();
}

void check_cfn_unused(CfnCheck& check) {
  std::set<std::string_view> used, conditions, mappings;
  bool any_mapping = false;
  for (const CfnUse& use : check.tree.uses()) {
    if (use.kind == CfnUse::Kind::kRef) used.insert(use.name);
    if (use.kind == CfnUse::Kind::kCondition &&
        !(use.section == "Conditions" && use.owner == use.name))
      conditions.insert(use.name);
    if (use.kind == CfnUse::Kind::kMapping) mappings.insert(use.name);
  }
  const std::function<void(const Node&)> walk = [&](const Node& node) {
    const auto call = cfn_call(node);
    // The name of the mapping is computed, or the Transform takes what it likes.
    if (call && ((call->is("Fn::FindInMap") && !call->items().empty() &&
                  !(call->items()[0].is_scalar() && call->items()[0].tag().empty())) ||
                 call->is("Fn::Transform")))
      any_mapping = true;
    for (const Node& item : node.items()) walk(item);
    for (const Node::Entry& entry : node.entries()) walk(entry.value);
  };
  walk(check.tree.root());
  const auto tell = [&](const char* section, const std::set<std::string_view>& of,
                        const char* what) {
    for (const auto& [name, entry] : check.tree.section(section)) {
      if (of.count(name) == 0 && !name.starts_with("Fn::"))
        check.warn(entry->where, "cfn-unused", fmt::format("{} {} is never used", what, name));
    }
  };
  tell("Parameters", used, "parameter");
  tell("Conditions", conditions, "condition");
  if (!any_mapping) tell("Mappings", mappings, "mapping");
}

}  // namespace muster::lint
