// Sections of a template, and the keys of what is in them.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

const std::vector<std::string> kSections = {"AWSTemplateFormatVersion",
                                            "Description",
                                            "Metadata",
                                            "Parameters",
                                            "Rules",
                                            "Mappings",
                                            "Conditions",
                                            "Transform",
                                            "Resources",
                                            "Outputs",
                                            "Hooks"};
const std::vector<std::string> kResourceKeys = {
    "Type",           "Properties",          "Condition",      "DependsOn",   "Metadata",
    "CreationPolicy", "UpdateReplacePolicy", "DeletionPolicy", "UpdatePolicy"};
const std::vector<std::string> kOutputKeys = {"Description", "Value", "Export", "Condition"};
const std::vector<std::string> kPolicies = {"Delete", "Retain", "RetainExceptOnCreate", "Snapshot"};

// The most that a template may hold, by CloudFormation's quotas.
struct CfnQuota {
  const char* section;
  std::size_t most;
};
constexpr std::array<CfnQuota, 4> kQuotas = {
    {{"Parameters", 200}, {"Mappings", 200}, {"Resources", 500}, {"Outputs", 200}}};

bool is_cfn_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c); });
}

std::string meant(std::string_view word, const std::vector<std::string>& right) {
  const auto near = did_you_mean(word, right);
  return near ? fmt::format("did you mean \"{}\"?", *near) : std::string();
}

void check_keys(CfnCheck& check, const Node& node, const std::vector<std::string>& right,
                const char* what) {
  for (const Node::Entry& entry : node.entries()) {
    if (std::find(right.begin(), right.end(), entry.key) != right.end()) continue;
    std::string hint = meant(entry.key, right);
    if (hint.empty() && std::string_view(what) == "resource")
      hint = "properties belong under Properties";
    check.wrong(entry.where, "cfn-key", fmt::format("\"{}\" is no key of a {}", entry.key, what),
                std::move(hint));
  }
}

void check_resource(CfnCheck& check, const Node::Entry& entry) {
  const Node& resource = entry.value;
  if (!resource.is_mapping()) {
    return check.wrong(entry.where, "cfn-key", fmt::format("resource {} is no mapping", entry.key));
  }
  check_keys(check, resource, kResourceKeys, "resource");
  const Node* type = resource.find("Type");
  if (type == nullptr || !type->is_scalar() || type->text().empty())
    check.wrong(entry.where, "cfn-key", fmt::format("resource {} has no Type", entry.key));
  if (const Node* condition = resource.find("Condition");
      condition != nullptr && !condition->is_scalar()) {
    check.wrong(condition->where(), "cfn-key", "Condition of a resource is the name of one");
  }
  for (const char* key : {"DeletionPolicy", "UpdateReplacePolicy"}) {
    const Node* policy = resource.find(key);
    if (policy == nullptr || !policy->is_scalar() || cfn_call(*policy)) continue;
    if (std::find(kPolicies.begin(), kPolicies.end(), policy->text()) != kPolicies.end()) continue;
    std::string hint = meant(policy->text(), kPolicies);
    if (hint.empty()) hint = "Delete, Retain, RetainExceptOnCreate, Snapshot";
    check.wrong(policy->where(), "cfn-key", fmt::format("{} can't be {}", key, policy->text()),
                std::move(hint));
  }
}

void check_output(CfnCheck& check, const Node::Entry& entry) {
  if (!entry.value.is_mapping()) {
    return check.wrong(entry.where, "cfn-key", fmt::format("output {} is no mapping", entry.key));
  }
  check_keys(check, entry.value, kOutputKeys, "output");
  if (entry.value.find("Value") == nullptr)
    check.wrong(entry.where, "cfn-key", fmt::format("output {} has no Value", entry.key));
  const Node* exported = entry.value.find("Export");
  if (exported != nullptr && exported->find("Name") == nullptr)
    check.wrong(exported->where(), "cfn-key", fmt::format("the export {} has no Name", entry.key));
}

}  // namespace

void check_cfn_sections(CfnCheck& check) {
  const Node& root = check.tree.root();
  for (const Node::Entry& entry : root.entries()) {
    // The Serverless transform has a section of its own.
    if (entry.key == "Globals" && root.find("Transform") != nullptr) continue;
    if (std::find(kSections.begin(), kSections.end(), entry.key) == kSections.end()) {
      check.wrong(entry.where, "cfn-section",
                  fmt::format("\"{}\" is no section of a template", entry.key),
                  meant(entry.key, kSections));
    } else if (entry.key == "AWSTemplateFormatVersion") {
      if (entry.value.text() != "2010-09-09")
        check.wrong(entry.value.where(), "cfn-section",
                    fmt::format("AWSTemplateFormatVersion can't be \"{}\"", entry.value.text()),
                    "2010-09-09 is the only one");
    } else if (entry.key == "Description") {
      if (!entry.value.is_scalar() || entry.value.text().size() > 1024)
        check.wrong(entry.where, "cfn-section", "Description is text of at most 1024 bytes");
    } else if (entry.key != "Transform" && entry.key != "Metadata" && !entry.value.is_mapping()) {
      check.wrong(entry.where, "cfn-section", fmt::format("{} is no mapping", entry.key),
                  entry.value.is_null() ? "leave an empty section out" : "");
    }
  }
  const Node* resources = root.find("Resources");
  if (resources == nullptr || resources->entries().empty())
    check.wrong(root.where(), "cfn-section", "the template has no Resources");
  for (const CfnQuota& quota : kQuotas) {
    const auto& table = check.tree.section(quota.section);
    if (table.size() > quota.most) {
      const Node* section = root.find(quota.section);
      check.wrong(
          section->where(), "cfn-section",
          fmt::format("{} {}: CloudFormation takes {}", table.size(), quota.section, quota.most));
    }
    for (const auto& [name, entry] : table) {
      if (!is_cfn_name(name) && !name.starts_with("Fn::ForEach::"))
        check.wrong(entry->where, "cfn-key",
                    fmt::format("\"{}\" is no name: letters and digits only", name));
    }
  }
  for (const Node::Entry& entry : check.tree.resources()) {
    if (!entry.key.starts_with("Fn::ForEach::")) check_resource(check, entry);
  }
  for (const auto& [name, entry] : check.tree.section("Outputs")) {
    if (!name.starts_with("Fn::ForEach::")) check_output(check, *entry);
  }
}

}  // namespace muster::lint
