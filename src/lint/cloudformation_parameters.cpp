// Parameters: their types, what their defaults must obey, and which can't be left empty.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/regex.h"
#include "base/words.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

const std::vector<std::string> kParameterKeys = {
    "Type",        "Default",   "AllowedValues", "AllowedPattern", "ConstraintDescription",
    "Description", "MaxLength", "MinLength",     "MaxValue",       "MinValue",
    "NoEcho"};

const std::vector<std::string> kIdTypes = {"AWS::EC2::AvailabilityZone::Name",
                                           "AWS::EC2::Image::Id",
                                           "AWS::EC2::Instance::Id",
                                           "AWS::EC2::KeyPair::KeyName",
                                           "AWS::EC2::SecurityGroup::GroupName",
                                           "AWS::EC2::SecurityGroup::Id",
                                           "AWS::EC2::Subnet::Id",
                                           "AWS::EC2::Volume::Id",
                                           "AWS::EC2::VPC::Id",
                                           "AWS::Route53::HostedZone::Id"};

std::vector<std::string> all_parameter_types() {
  std::vector<std::string> all = {"String",
                                  "Number",
                                  "List<Number>",
                                  "List<String>",
                                  "CommaDelimitedList",
                                  "AWS::SSM::Parameter::Name"};
  const auto value = [](std::string_view type) {
    return fmt::format("AWS::SSM::Parameter::Value<{}>", type);
  };
  for (const char* plain : {"String", "List<String>", "CommaDelimitedList"})
    all.push_back(value(plain));
  for (const std::string& id : kIdTypes) {
    all.push_back(id);
    const std::string list = fmt::format("List<{}>", id);
    all.push_back(list);
    all.push_back(value(id));
    all.push_back(value(list));
  }
  return all;
}

bool is_id_type(const std::string& type) {
  return std::any_of(kIdTypes.begin(), kIdTypes.end(), [&](const std::string& id) {
    return type == id || type == "List<" + id + ">";
  });
}

struct CfnParameter {
  const Node::Entry& entry;
  const Node& about;
  std::string type;
  const Node* preset;

  const Node* find(std::string_view key) const { return about.find(key); }
};

// Of a list each item is judged for itself.
std::vector<std::string> items_of(const CfnParameter& parameter, const std::string& value) {
  const bool list = parameter.type == "CommaDelimitedList" || parameter.type.starts_with("List<");
  if (!list) return {value};
  std::vector<std::string> items;
  for (std::size_t start = 0; start <= value.size();) {
    const std::size_t comma = std::min(value.find(',', start), value.size());
    items.emplace_back(trimmed(std::string_view(value).substr(start, comma - start)));
    start = comma + 1;
  }
  return items;
}

bool check_item(CfnCheck& check, const CfnParameter& parameter, const std::string& value) {
  const Position& where = parameter.preset->where();
  if (const Node* allowed = parameter.find("AllowedValues"); allowed != nullptr) {
    std::vector<std::string> values;
    for (const Node& item : allowed->items()) values.push_back(item.text());
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      const auto near = did_you_mean(value, values);
      check.wrong(where, "cfn-parameter",
                  fmt::format("the default of {} is none of its AllowedValues: \"{}\"",
                              parameter.entry.key, value),
                  near ? fmt::format("did you mean \"{}\"?", *near)
                       : fmt::format("one of {}", fmt::join(values, ", ")));
      return false;
    }
  }
  const Node* pattern = parameter.find("AllowedPattern");
  if (pattern == nullptr || !pattern->is_scalar()) return true;
  const auto regex = Regex::compile("^(?:" + pattern->text() + ")$");
  Regex::Match match;
  if (!regex || regex->search(value, 0, match) != Regex::Found::kNo) return true;
  check.wrong(where, "cfn-parameter",
              fmt::format("the default of {} does not match its AllowedPattern: \"{}\"",
                          parameter.entry.key, value));
  return false;
}

void check_default(CfnCheck& check, const CfnParameter& parameter) {
  const Node& preset = *parameter.preset;
  const std::string& value = preset.text();
  const auto tell = [&](std::string message, std::string hint = {}) {
    check.wrong(preset.where(), "cfn-parameter", std::move(message), std::move(hint));
  };
  if (!preset.is_scalar() && !preset.is_null())
    return tell(fmt::format("the default of {} is no text", parameter.entry.key));
  if (value.empty()) {
    if (is_id_type(parameter.type)) {
      check.wrong(preset.where(), "cfn-empty-default",
                  fmt::format("{} is a {}: it can't be empty, so no stack takes this default",
                              parameter.entry.key, parameter.type),
                  "type String with an empty default, or no default");
      return;
    }
    if (parameter.type.starts_with("AWS::SSM::Parameter::"))
      return tell(fmt::format("{} is the name of an SSM parameter: it can't be empty",
                              parameter.entry.key));
  }
  if (parameter.type == "Number" && !Node::scalar(value, false, {}).as_double())
    return tell(fmt::format("the default of {} is no number: \"{}\"", parameter.entry.key, value));
  for (const std::string& item : items_of(parameter, value)) {
    if (!check_item(check, parameter, item)) return;
  }
  struct Limit {
    const char* key;
    bool of_length, least;
  };
  constexpr std::array<Limit, 4> kLimits = {{{"MinLength", true, true},
                                             {"MaxLength", true, false},
                                             {"MinValue", false, true},
                                             {"MaxValue", false, false}}};
  for (const Limit& limit : kLimits) {
    const Node* bound = parameter.find(limit.key);
    if (bound == nullptr) continue;
    const auto number = Node::scalar(bound->text(), false, {}).as_double();
    const auto has = limit.of_length ? std::optional<double>(static_cast<double>(value.size()))
                                     : Node::scalar(value, false, {}).as_double();
    if (!number || !has) continue;
    if (limit.least ? *has < *number : *has > *number)
      tell(fmt::format("the default of {} is outside of its {} {}: \"{}\"", parameter.entry.key,
                       limit.key, bound->text(), value));
  }
}

void check_bounds(CfnCheck& check, const CfnParameter& parameter) {
  const bool number = parameter.type == "Number" || parameter.type == "List<Number>";
  for (const char* key : {"MinLength", "MaxLength", "MinValue", "MaxValue"}) {
    const Node* bound = parameter.find(key);
    if (bound == nullptr) continue;
    if (!Node::scalar(bound->text(), false, {}).as_double())
      check.wrong(bound->where(), "cfn-parameter", fmt::format("{} is no number", key));
    const bool of_value = std::string_view(key).ends_with("Value");
    if (of_value != number)
      check.wrong(bound->where(), "cfn-parameter",
                  fmt::format("{} does not apply to the type {}", key, parameter.type));
  }
  if (const Node* allowed = parameter.find("AllowedValues");
      allowed != nullptr && (!allowed->is_sequence() || allowed->items().empty())) {
    check.wrong(allowed->where(), "cfn-parameter", "AllowedValues is no list of values");
  }
  if (const Node* pattern = parameter.find("AllowedPattern");
      pattern != nullptr && !Regex::compile(pattern->text())) {
    check.wrong(pattern->where(), "cfn-parameter", "AllowedPattern is no regular expression");
  }
}

}  // namespace

void check_cfn_parameters(CfnCheck& check) {
  static const std::vector<std::string> kTypes = all_parameter_types();
  for (const auto& [name, entry] : check.tree.section("Parameters")) {
    if (!entry->value.is_mapping()) {
      check.wrong(entry->where, "cfn-parameter", fmt::format("parameter {} is no mapping", name));
      continue;
    }
    for (const Node::Entry& part : entry->value.entries()) {
      if (std::find(kParameterKeys.begin(), kParameterKeys.end(), part.key) !=
          kParameterKeys.end()) {
        if (cfn_call(part.value))
          check.wrong(part.value.where(), "cfn-parameter", "parameters can't call functions");
        continue;
      }
      const auto near = did_you_mean(part.key, kParameterKeys);
      check.wrong(part.where, "cfn-parameter",
                  fmt::format("\"{}\" is no key of a parameter", part.key),
                  near ? fmt::format("did you mean \"{}\"?", *near) : "");
    }
    const Node* type = entry->value.find("Type");
    if (type == nullptr) {
      check.wrong(entry->where, "cfn-parameter", fmt::format("parameter {} has no Type", name));
      continue;
    }
    if (std::find(kTypes.begin(), kTypes.end(), type->text()) == kTypes.end()) {
      const auto near = did_you_mean(type->text(), kTypes);
      check.wrong(type->where(), "cfn-parameter",
                  fmt::format("no type of parameters: \"{}\"", type->text()),
                  near ? fmt::format("did you mean \"{}\"?", *near) : "");
      continue;
    }
    const CfnParameter parameter{*entry, entry->value, type->text(), entry->value.find("Default")};
    check_bounds(check, parameter);
    if (parameter.preset != nullptr) check_default(check, parameter);
  }
}

}  // namespace muster::lint
