// What conditions of a template imply of each other.
//
// A condition is a formula over choices: `!Equals [!Ref Nat, none]` is the choice "none" of Nat.
// Whether one can hold while another does not is decided by trying the choices, one variable after
// the other, and leaving a branch as soon as it is decided; each condition is worked out once per
// try, so that conditions that use each other cost no more than they are many. What is not decided
// within kCfnConditionSteps steps is not told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lint/cloudformation_template.h"

namespace muster::lint {

inline constexpr int kCfnConditionSteps = 4000;

class CfnConditions {
 public:
  explicit CfnConditions(const CfnTemplate& tree);

  /// Whether some choice of parameters makes all of these hold: nothing when that is not decided.
  std::optional<bool> possible(const CfnGiven& given) const;

 private:
  struct Formula {
    enum class Kind { kTrue, kFalse, kUnknown, kChoice, kSame, kCondition, kNot, kAnd, kOr };
    Kind kind = Kind::kUnknown;
    std::size_t variable = 0;    ///< of kChoice
    std::size_t value = 0;       ///< of kChoice
    std::string_view name;       ///< of kCondition
    std::vector<Formula> parts;  ///< of kNot, kAnd, kOr
  };
  struct Variable {
    std::vector<std::string> values;  ///< that are spoken of
    bool others = true;               ///< it can have another value than these
  };
  struct Search;

  Formula read(const Node& node);
  Formula read_equals(const Node& left, const Node& right);
  Formula read_contains(const Node& list, const Node& value);
  void read_rules();
  std::size_t variable(const Node& node, const std::string& text);

  const CfnTemplate& tree_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<Variable> variables_;
  std::map<std::string_view, Formula> formulas_;
  std::vector<Formula> rules_;  ///< what the section Rules asserts: CloudFormation refuses the rest
};

/// One text for a computed value, the same for the same computation.
std::string cfn_text(const Node& node);

}  // namespace muster::lint
