#include "lint/cloudformation_conditions.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lint/cloudformation_rules.h"

namespace muster::lint {

std::string cfn_text(const Node& node) {
  if (node.is_scalar()) return node.tag() + " " + node.text();
  std::string text = node.tag() + "(";
  for (const Node& item : node.items()) text += cfn_text(item) + ",";
  for (const Node::Entry& entry : node.entries())
    text += entry.key + ":" + cfn_text(entry.value) + ",";
  return text + ")";
}

// One try of choices: three-valued, each condition worked out once.
struct CfnConditions::Search {
  using Truth = std::optional<bool>;

  const CfnConditions& of;
  const CfnGiven& given;
  std::vector<std::optional<std::size_t>> chosen;  ///< by variable; the number of values: another
  int steps = 0;

  struct Worked {
    bool open = false;  ///< being worked out: a condition that uses itself
    Truth truth;
  };
  std::map<std::string_view, Worked> worked = {};
  std::optional<std::size_t> undecided = {};

  Truth condition(std::string_view name) {
    const auto [found, fresh] = worked.try_emplace(name);
    if (!fresh) return found->second.open ? Truth() : found->second.truth;
    const auto formula = of.formulas_.find(name);
    if (formula == of.formulas_.end()) return {};
    found->second.open = true;
    const Truth truth = value(formula->second);
    found->second.open = false;
    found->second.truth = truth;
    return truth;
  }

  Truth value(const Formula& formula) {
    using Kind = Formula::Kind;
    ++steps;
    switch (formula.kind) {
      case Kind::kTrue:
        return true;
      case Kind::kFalse:
        return false;
      case Kind::kChoice:
        if (!chosen[formula.variable]) {
          if (!undecided) undecided = formula.variable;
          return {};
        }
        return *chosen[formula.variable] == formula.value;
      case Kind::kCondition:
        return condition(formula.name);
      case Kind::kNot: {
        const Truth inner = value(formula.parts[0]);
        return inner ? Truth(!*inner) : Truth();
      }
      case Kind::kAnd:
      case Kind::kOr: {
        const bool decides = formula.kind == Kind::kOr;
        bool open = false;
        for (const Formula& part : formula.parts) {
          const Truth inner = value(part);
          if (inner && *inner == decides) return decides;
          open |= !inner;
        }
        return open ? Truth() : Truth(!decides);
      }
      default:
        return {};
    }
  }

  // Whether the choices so far can be completed: nothing when steps run out, or when what is left
  // open is no choice.
  Truth solve() {
    if (steps > kCfnConditionSteps) return {};
    worked.clear();
    undecided.reset();
    bool open = false;
    for (const auto& [name, holds] : given) {
      const Truth truth = condition(name);
      if (truth && *truth != holds) return false;
      open |= !truth;
    }
    if (!open) {
      undecided.reset();
      for (const Formula& rule : of.rules_) {
        const Truth truth = value(rule);
        if (truth == Truth(false)) return false;
      }
      if (!undecided) return true;
    }
    if (!undecided) return {};
    const std::size_t number = *undecided;
    const Variable& variable = of.variables_[number];
    bool unknown = false;
    const std::size_t count = variable.values.size() + (variable.others ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) {
      chosen[number] = i;
      const Truth truth = solve();
      if (truth == Truth(true)) return true;
      unknown |= !truth;
    }
    chosen[number].reset();
    return unknown ? Truth() : Truth(false);
  }
};

CfnConditions::CfnConditions(const CfnTemplate& tree) : tree_(tree) {
  for (const auto& [name, entry] : tree.section("Conditions")) formulas_[name] = read(entry->value);
  read_rules();
}

void CfnConditions::read_rules() {
  for (const auto& [name, entry] : tree_.section("Rules")) {
    const Node* assertions = entry->value.find("Assertions");
    if (assertions == nullptr) continue;
    const Node* when = entry->value.find("RuleCondition");
    for (const Node& assertion : assertions->items()) {
      const Node* claim = assertion.find("Assert");
      if (claim == nullptr) continue;
      Formula rule;
      rule.kind = Formula::Kind::kOr;
      rule.parts.push_back(read(*claim));
      if (when != nullptr) {
        Formula otherwise;
        otherwise.kind = Formula::Kind::kNot;
        otherwise.parts.push_back(read(*when));
        rule.parts.push_back(std::move(otherwise));
      }
      rules_.push_back(std::move(rule));
    }
  }
}

// One of several literal values.
CfnConditions::Formula CfnConditions::read_contains(const Node& list, const Node& value) {
  Formula any;
  any.kind = Formula::Kind::kOr;
  for (const Node& item : list.items()) any.parts.push_back(read_equals(value, item));
  return any;
}

std::size_t CfnConditions::variable(const Node& node, const std::string& text) {
  const auto [found, fresh] = numbers_.try_emplace(text, variables_.size());
  if (!fresh) return found->second;
  Variable added;
  const Node::Entry* parameter = tree_.find("Parameters", tree_.parameter_of(node));
  const Node* allowed = parameter ? parameter->value.find("AllowedValues") : nullptr;
  if (allowed != nullptr && allowed->is_sequence()) {
    for (const Node& value : allowed->items()) added.values.push_back(value.text());
    added.others = false;
  }
  variables_.push_back(std::move(added));
  return found->second;
}

CfnConditions::Formula CfnConditions::read_equals(const Node& left, const Node& right) {
  const auto is_text = [](const Node& node) { return node.is_scalar() && !cfn_call(node); };
  Formula formula;
  if (is_text(left) && is_text(right)) {
    formula.kind = left.text() == right.text() ? Formula::Kind::kTrue : Formula::Kind::kFalse;
    return formula;
  }
  const std::string first = cfn_text(left), second = cfn_text(right);
  if (first == second) {
    formula.kind = Formula::Kind::kTrue;
    return formula;
  }
  formula.kind = Formula::Kind::kChoice;
  if (!is_text(left) && !is_text(right)) {
    // Two computed values: equal or not, the same each time these two are compared.
    formula.variable =
        variable(Node::null({}), std::min(first, second) + "=" + std::max(first, second));
    Variable& both = variables_[formula.variable];
    both.values = {"equal"};
    formula.value = 0;
    return formula;
  }
  const Node& computed = is_text(left) ? right : left;
  const std::string& literal = is_text(left) ? left.text() : right.text();
  formula.variable = variable(computed, is_text(left) ? second : first);
  Variable& choice = variables_[formula.variable];
  const auto found = std::find(choice.values.begin(), choice.values.end(), literal);
  formula.value = static_cast<std::size_t>(found - choice.values.begin());
  if (found == choice.values.end()) {
    if (!choice.others) {
      formula.kind = Formula::Kind::kFalse;  // AllowedValues has no such value
      return formula;
    }
    choice.values.push_back(literal);
  }
  return formula;
}

CfnConditions::Formula CfnConditions::read(const Node& node) {
  Formula formula;
  const auto call = cfn_call(node);
  if (!call) return formula;
  const auto& items = call->items();
  if (call->is("Condition")) {
    formula.kind = Formula::Kind::kCondition;
    const Node::Entry* entry = tree_.find("Conditions", call->text());
    if (entry == nullptr) return {};
    formula.name = entry->key;
  } else if (call->is("Fn::Equals") && items.size() == 2) {
    return read_equals(items[0], items[1]);
  } else if (call->is("Fn::Contains") && items.size() == 2 && items[0].is_sequence() &&
             items[0].tag().empty()) {
    return read_contains(items[0], items[1]);
  } else if (call->is("Fn::Not") || call->is("Fn::And") || call->is("Fn::Or")) {
    if (items.empty()) return {};
    formula.kind = call->is("Fn::Not")   ? Formula::Kind::kNot
                   : call->is("Fn::And") ? Formula::Kind::kAnd
                                         : Formula::Kind::kOr;
    for (const Node& item : items) formula.parts.push_back(read(item));
  }
  return formula;
}

std::optional<bool> CfnConditions::possible(const CfnGiven& given) const {
  Search search{*this, given, std::vector<std::optional<std::size_t>>(variables_.size())};
  return search.solve();
}

namespace {

std::string closest_condition(const CfnTemplate& tree, const std::string& name) {
  std::vector<std::string> right;
  for (const auto& [known, entry] : tree.section("Conditions")) right.emplace_back(known);
  const auto near = did_you_mean(name, right);
  return near ? fmt::format("did you mean {}?", *near) : std::string();
}

// Conditions that use each other in a circle.
void check_condition_circles(CfnCheck& check) {
  std::map<std::string_view, std::vector<const CfnUse*>> needs;
  for (const CfnUse& use : check.tree.uses()) {
    if (use.section == "Conditions" && use.kind == CfnUse::Kind::kCondition)
      needs[use.owner].push_back(&use);
  }
  std::set<std::string_view> done;
  std::vector<std::string_view> path;
  const auto visit = [&](const auto& self, std::string_view name) -> void {
    if (done.count(name) > 0) return;
    path.push_back(name);
    for (const CfnUse* use : needs[name]) {
      if (std::find(path.begin(), path.end(), use->name) != path.end()) {
        check.wrong(use->where, "cfn-circle", fmt::format("condition {} needs itself", use->name));
      } else if (const Node::Entry* next = check.tree.find("Conditions", use->name)) {
        self(self, next->key);
      }
    }
    path.pop_back();
    done.insert(name);
  };
  for (const auto& [name, entry] : check.tree.section("Conditions")) visit(visit, name);
}

// A use of a resource that may not be there while its user is.
void check_conditional_use(CfnCheck& check, const CfnConditions& conditions, const CfnUse& use) {
  const Node::Entry* target = check.tree.find("Resources", use.name);
  const Node* condition = target != nullptr ? target->value.find("Condition") : nullptr;
  if (condition == nullptr || !condition->is_scalar() ||
      check.tree.find("Conditions", condition->text()) == nullptr)
    return;
  for (const auto& [name, holds] : use.given) {
    if (name == condition->text() && holds) return;
  }
  CfnGiven given = use.given;
  given.emplace_back(condition->text(), false);
  if (conditions.possible(given) != std::optional<bool>(true)) return;
  check.wrong(
      use.where, "cfn-conditional",
      fmt::format("{} is there only if {}, and this use of it does not ask that", use.name,
                  condition->text()),
      fmt::format("!If [{}, …, !Ref AWS::NoValue], or the same condition here", condition->text()));
}

}  // namespace

void check_cfn_conditions(CfnCheck& check) {
  const CfnTemplate& tree = check.tree;
  for (const CfnUse& use : tree.uses()) {
    if (use.kind == CfnUse::Kind::kCondition && tree.find("Conditions", use.name) == nullptr &&
        use.name.find("${") == std::string::npos)
      check.wrong(use.where, "cfn-condition", fmt::format("no condition {}", use.name),
                  closest_condition(tree, use.name));
  }
  check_condition_circles(check);
  const CfnConditions conditions(tree);
  for (const auto& [name, entry] : tree.section("Conditions")) {
    if (name.starts_with("Fn::ForEach::")) continue;
    const auto call = cfn_call(entry->value);
    if (!call) {
      check.wrong(entry->where, "cfn-condition",
                  fmt::format("{} is no condition: Fn::Equals, Fn::And, Fn::Or, Fn::Not", name));
      continue;
    }
    const std::string own(name);
    if (conditions.possible({{own, true}}) == std::optional<bool>(false)) {
      check.warn(entry->where, "cfn-condition", fmt::format("condition {} never holds", name));
    } else if (conditions.possible({{own, false}}) == std::optional<bool>(false)) {
      check.warn(entry->where, "cfn-condition", fmt::format("condition {} always holds", name));
    }
  }
  for (const CfnUse& use : tree.uses()) {
    const bool needs = use.kind == CfnUse::Kind::kRef || use.kind == CfnUse::Kind::kGetAtt;
    // DependsOn of what is not there is left out by CloudFormation.
    if (needs && use.section != "Conditions" && use.section != "Rules")
      check_conditional_use(check, conditions, use);
  }
}

}  // namespace muster::lint
