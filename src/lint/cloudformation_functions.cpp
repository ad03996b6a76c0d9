// Intrinsic functions: which there are, what each takes, and where.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

enum class CfnArgument { kText, kValue, kList, kAny };

/// A function, how it is called, and how many items its list has.
struct CfnFunction {
  const char* name;
  CfnArgument argument;
  std::size_t least = 0, most = 0;
};

constexpr std::array<CfnFunction, 26> kFunctions = {{
    {"Ref", CfnArgument::kText},
    {"Condition", CfnArgument::kText},
    {"Fn::And", CfnArgument::kList, 2, 10},
    {"Fn::Base64", CfnArgument::kValue},
    {"Fn::Cidr", CfnArgument::kList, 2, 3},
    {"Fn::Contains", CfnArgument::kList, 2, 2},
    {"Fn::EachMemberEquals", CfnArgument::kList, 2, 2},
    {"Fn::EachMemberIn", CfnArgument::kList, 2, 2},
    {"Fn::Equals", CfnArgument::kList, 2, 2},
    {"Fn::FindInMap", CfnArgument::kList, 3, 4},
    {"Fn::GetAtt", CfnArgument::kAny},
    {"Fn::GetAZs", CfnArgument::kValue},
    {"Fn::GetStackOutput", CfnArgument::kAny},
    {"Fn::If", CfnArgument::kList, 3, 3},
    {"Fn::ImportValue", CfnArgument::kValue},
    {"Fn::Join", CfnArgument::kList, 2, 2},
    {"Fn::Length", CfnArgument::kAny},
    {"Fn::Not", CfnArgument::kList, 1, 1},
    {"Fn::Or", CfnArgument::kList, 2, 10},
    {"Fn::RefAll", CfnArgument::kText},
    {"Fn::Select", CfnArgument::kList, 2, 2},
    {"Fn::Split", CfnArgument::kList, 2, 2},
    {"Fn::Sub", CfnArgument::kAny},
    {"Fn::ToJsonString", CfnArgument::kAny},
    {"Fn::Transform", CfnArgument::kAny},
    {"Fn::ValueOf", CfnArgument::kList, 2, 2},
}};

const CfnFunction* function_of(std::string_view name) {
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [&](const CfnFunction& f) { return name == f.name; });
  return found == kFunctions.end() ? nullptr : &*found;
}

class FunctionCheck {
 public:
  explicit FunctionCheck(CfnCheck& check) : check_(check) {}

  void walk(const Node& node, bool in_conditions) {
    const auto call = cfn_call(node);
    if (!call) return children(node, in_conditions);
    called(node, *call, in_conditions);
  }

 private:
  void called(const Node& node, const CfnCall& call, bool in_conditions) {
    const CfnFunction* function = function_of(call.name);
    if (function == nullptr) {
      std::vector<std::string> names;
      names.reserve(kFunctions.size());
      for (const CfnFunction& known : kFunctions) names.emplace_back(known.name);
      const auto near = did_you_mean(call.name, names);
      tell(node, fmt::format("no function {}", call.name),
           near ? fmt::format("did you mean {}?", *near) : "");
      return children(node, in_conditions);
    }
    judge(node, call, *function, in_conditions);
    if (const auto inner = call.inner()) return called(*call.argument, *inner, in_conditions);
    children(*call.argument, in_conditions);
  }

  void children(const Node& node, bool in_conditions) {
    for (const Node& item : node.items()) walk(item, in_conditions);
    for (const Node::Entry& entry : node.entries()) {
      if (entry.key.starts_with("Fn::") && node.entries().size() > 1 &&
          !entry.key.starts_with("Fn::ForEach::") && entry.key != "Fn::Transform") {
        check_.wrong(entry.where, "cfn-function",
                     fmt::format("{} stands beside other keys: a call is alone", entry.key));
      }
      walk(entry.value, in_conditions);
    }
  }

  void tell(const Node& node, std::string message, std::string hint = {}) {
    check_.wrong(node.where(), "cfn-function", std::move(message), std::move(hint));
  }

  void judge(const Node& node, const CfnCall& call, const CfnFunction& function,
             bool in_conditions) {
    const bool nested = call.inner().has_value();
    // What Fn::Transform makes is known to CloudFormation only.
    if (nested && call.inner()->is("Fn::Transform")) return;
    const std::size_t count = call.items().size();
    if (function.argument == CfnArgument::kList) {
      // Fn::Cidr and Fn::If and their like take a list only, however it is spelt.
      if (nested || !call.argument->is_sequence())
        return tell(node, fmt::format("{} takes a list", call.name));
      if (count < function.least || count > function.most)
        return tell(node, fmt::format("{} takes {} item{}, not {}", call.name,
                                      function.least == function.most
                                          ? std::to_string(function.least)
                                          : fmt::format("{} to {}", function.least, function.most),
                                      function.most == 1 ? "" : "s", count));
    } else if (function.argument == CfnArgument::kText && call.text().empty()) {
      return tell(node, fmt::format("{} takes a name", call.name));
    } else if (function.argument == CfnArgument::kValue && !nested && !call.argument->is_scalar() &&
               !call.argument->is_null()) {
      // `!GetAZs` of nothing means the stack's Region; !Base64 of a list means nothing.
      return tell(node, fmt::format("{} takes one value", call.name));
    }
    if (call.is("Fn::Sub")) judge_sub(node, call);
    if (call.is("Fn::GetAtt")) judge_attribute(node, call);
    if (call.is("Fn::Select")) judge_select(node, call);
    if (call.is("Fn::If") && !call.items()[0].is_scalar())
      tell(call.items()[0], "the first item of Fn::If is the name of a condition");
    if (call.is("Fn::Join") || call.is("Fn::Split")) {
      const Node& by = call.items()[0];
      if (!by.is_scalar() && !by.is_null())
        tell(by, fmt::format("the first item of {} is the text between", call.name));
    }
    if (call.is("Fn::Join") && call.items()[1].is_scalar() && call.items()[1].tag().empty())
      tell(call.items()[1], "the second item of Fn::Join is a list");
    if (in_conditions) judge_condition(node, call);
  }

  void judge_sub(const Node& node, const CfnCall& call) {
    const Node* text = call.argument;
    const auto& items = call.items();
    if (call.argument->is_sequence()) {
      if (items.empty() || items.size() > 2 || !items[0].is_scalar() ||
          (items.size() == 2 && !items[1].is_mapping()))
        return tell(node, "Fn::Sub takes a text, or a text and a mapping of its variables");
      text = &items[0];
      if (items.size() == 2) {
        for (const Node::Entry& entry : items[1].entries()) {
          if (text->text().find("${" + entry.key + "}") == std::string::npos)
            check_.warn(entry.where, "cfn-unused",
                        fmt::format("the text of this Fn::Sub has no ${{{}}}", entry.key));
        }
      }
    } else if (!text->is_scalar()) {
      return tell(node, "Fn::Sub takes a text, or a text and a mapping of its variables");
    }
    for (std::size_t at = text->text().find("${"); at != std::string::npos;
         at = text->text().find("${", at + 2)) {
      if (text->text().find('}', at) == std::string::npos) return tell(*text, "${ without its }");
    }
    if (check_.tree.variables(call).empty() && items.size() < 2 &&
        text->text().find("${") == std::string::npos)
      check_.warn(node.where(), "cfn-sub", "Fn::Sub of a text without ${…}", "the text alone");
  }

  void judge_attribute(const Node& node, const CfnCall& call) {
    const auto& items = call.items();
    const bool text = !call.text().empty() && call.text().find('.') != std::string::npos &&
                      !call.text().ends_with('.');
    const bool list = items.size() >= 2 && items[0].is_scalar();
    if (!text && !list)
      tell(node, "Fn::GetAtt takes the name of a resource and of an attribute",
           "Resource.Attribute");
  }

  void judge_select(const Node& node, const CfnCall& call) {
    const Node& index = call.items()[0];
    const Node& list = call.items()[1];
    if (!index.tag().empty() || !index.is_scalar()) return;
    const auto number = Node::scalar(index.text(), false, {}).as_int();
    if (!number || *number < 0)
      return tell(index, "the first item of Fn::Select is an index from 0");
    if (list.is_sequence() && list.tag().empty() &&
        static_cast<std::size_t>(*number) >= list.items().size())
      tell(node,
           fmt::format("Fn::Select of item {} of a list of {}", *number, list.items().size()));
  }

  void judge_condition(const Node& node, const CfnCall& call) {
    static constexpr std::array<std::string_view, 9> kAllowed = {
        "Ref",    "Condition",     "Fn::And",    "Fn::Or", "Fn::Not",
        "Fn::If", "Fn::FindInMap", "Fn::Equals", "Fn::Sub"};
    static constexpr std::array<std::string_view, 4> kMore = {"Fn::Select", "Fn::Join", "Fn::Split",
                                                              "Fn::Length"};
    const auto is = [&](std::string_view name) { return call.is(name); };
    if (std::none_of(kAllowed.begin(), kAllowed.end(), is) &&
        std::none_of(kMore.begin(), kMore.end(), is))
      tell(node, fmt::format("{} can't be called in Conditions", call.name));
    const auto truth = [&](const Node& item) {
      const auto inner = cfn_call(item);
      static constexpr std::array<std::string_view, 5> kTruths = {"Condition", "Fn::And", "Fn::Or",
                                                                  "Fn::Not", "Fn::Equals"};
      return inner && std::any_of(kTruths.begin(), kTruths.end(),
                                  [&](std::string_view name) { return inner->is(name); });
    };
    if (call.is("Fn::And") || call.is("Fn::Or") || call.is("Fn::Not")) {
      for (const Node& item : call.items()) {
        if (!truth(item))
          tell(item, fmt::format("{} takes conditions", call.name),
               item.is_scalar() && check_.tree.find("Conditions", item.text()) != nullptr
                   ? "!Condition " + item.text()
                   : "");
      }
    }
  }

  CfnCheck& check_;
};

}  // namespace

void check_cfn_functions(CfnCheck& check) {
  FunctionCheck walk(check);
  for (const char* section : {"Conditions", "Resources", "Outputs"}) {
    const bool conditions = std::string_view(section) == "Conditions";
    if (const Node* found = check.tree.root().find(section); found && found->is_mapping()) {
      for (const Node::Entry& entry : found->entries()) {
        if (entry.key.starts_with("Fn::ForEach::")) continue;
        if (conditions || !entry.value.is_mapping()) {
          walk.walk(entry.value, conditions);
          continue;
        }
        for (const Node::Entry& part : entry.value.entries()) {
          if (part.key != "Condition") walk.walk(part.value, false);
        }
      }
    }
  }
}

}  // namespace muster::lint
