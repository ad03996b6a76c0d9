// What binds a template to one account, Region or partition, and values that nobody filled in.
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "base/words.h"
#include "catalog/identities.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

// Properties that name one zone; a Region's name with a letter is a zone.
bool is_zone(std::string_view text) {
  Regex::Match match;
  const Regex& name = pattern("^[a-z]{2}(-[a-z]+)+-\\d[a-z]$");
  const Regex& id = pattern("^[a-z]{2,4}\\d-az\\d$");
  return finds(name, text, match) || finds(id, text, match);
}

bool is_region(std::string_view text) {
  Regex::Match match;
  const Regex& name = pattern("^(us|eu|ap|sa|ca|me|af|il|mx|cn)(-gov|-iso[a-z]?)?-[a-z]+-\\d$");
  return finds(name, text, match);
}

class IdentityCheck {
 public:
  explicit IdentityCheck(CfnCheck& check) : check_(check) {}

  void run() {
    for (const char* section : {"Resources", "Outputs", "Conditions"}) {
      if (const Node* found = check_.tree.root().find(section)) walk(*found, {});
    }
    for (const auto& [name, entry] : check_.tree.section("Parameters")) preset(*entry);
    mappings();
  }

 private:
  void walk(const Node& node, std::string_view key) {
    // What a function takes is no value of the property, but for the branches of Fn::If.
    const auto call = cfn_call(node);
    const bool choice = call && call->is("Fn::If") && call->items().size() == 3;
    for (std::size_t i = 0; i < node.items().size(); ++i)
      walk(node.items()[i], !call || (choice && i > 0) ? key : std::string_view());
    for (const Node::Entry& entry : node.entries())
      walk(entry.value, call ? (choice ? key : std::string_view()) : entry.key);
    if (node.is_scalar()) text(node, key);
  }

  void text(const Node& node, std::string_view key) {
    const std::string& value = node.text();
    arns(node);
    identities(node);
    placeholders(node);
    const bool zone_key = key.starts_with("AvailabilityZone") && key.find("Name") == key.npos;
    if (zone_key && node.tag().empty() && is_zone(value)) tell_zone(node);
    if (key == "S3Bucket" || key == "BucketName" || key == "TemplateURL") bucket(node, key);
  }

  void tell_zone(const Node& node) {
    check_.wrong(node.where(), "cfn-identity", fmt::format("a fixed zone: {}", node.text()),
                 "a parameter without default, or !Select of !GetAZs");
  }

  // The partition of an ARN is the account's: aws, aws-cn, aws-us-gov.
  void arns(const Node& node) {
    const std::string& value = node.text();
    for (std::size_t at = value.find("arn:aws"); at != std::string::npos;
         at = value.find("arn:aws", at + 1)) {
      const std::size_t colon = value.find(':', at + 4);
      if (colon == std::string::npos) return;
      // A pattern or a document speaks of any partition.
      const std::string_view partition = std::string_view(value).substr(at + 4, colon - at - 4);
      if (partition.find_first_of("*[({|") != std::string_view::npos) continue;
      const bool whole_text = at == 0;
      check_.warn(node.where(), "cfn-partition",
                  fmt::format("the partition \"{}\" is fixed: in China and GovCloud it is another",
                              partition),
                  whole_text ? "!Sub arn:${AWS::Partition}:…" : "${AWS::Partition} by Fn::Sub");
      return;
    }
  }

  void identities(const Node& node) {
    for (const auto& bound : catalog::find_identities(node.text(), check_.known.public_accounts)) {
      const std::string_view rule = bound.rule;
      if (rule != "identity") continue;
      check_.wrong(node.where(), "cfn-identity", bound.message, bound.hint);
      return;
    }
  }

  // What someone meant to fill in.
  void placeholders(const Node& node) {
    const std::string& value = node.text();
    if (value.size() > 120 || value.find('\n') != std::string::npos) return;
    Regex::Match match;
    const Regex& placeholder = pattern(
        "^<[A-Za-z][^<>]*>$|PLACEHOLDER_|\\b(YOUR|INSERT|REPLACE)[_-][A-Z]|^(cr|vpc|subnet|sg|ami)-"
        "x{3,}$|^CHANGE_?ME$");
    if (!finds(placeholder, value, match)) return;
    check_.wrong(node.where(), "cfn-placeholder",
                 fmt::format("\"{}\" is a placeholder that nobody filled in", value),
                 "a parameter without default");
  }

  void bucket(const Node& node, std::string_view key) {
    if (!node.tag().empty() || node.text().empty()) return;
    if (key == "TemplateURL") {
      if (node.text().find("amazonaws.com") != std::string::npos)
        check_.wrong(node.where(), "cfn-identity", fmt::format("a fixed bucket: {}", node.text()),
                     "a parameter for where templates are, or a path beside this one");
      return;
    }
    if (node.text().starts_with("{{resolve:")) return;
    check_.wrong(node.where(), "cfn-identity", fmt::format("a fixed bucket: {}", node.text()),
                 "a parameter, or a name made by CloudFormation");
  }

  // A default is a value too: it binds everyone who leaves it.
  void preset(const Node::Entry& entry) {
    const Node* value = entry.value.find("Default");
    if (value == nullptr || !value->is_scalar() || value->text().empty()) return;
    const std::string name = lower_case(entry.key);
    const bool zone =
        name.find("az") != std::string::npos || name.find("zone") != std::string::npos ||
        entry.value.find("Type")->text().find("AvailabilityZone") != std::string::npos;
    if (is_zone(value->text()) && zone) {
      check_.wrong(
          value->where(), "cfn-identity",
          fmt::format("the default of {} is one Region's zone: {}", entry.key, value->text()),
          "no default, type AWS::EC2::AvailabilityZone::Name where it is a name");
    } else if (is_region(value->text())) {
      check_.warn(value->where(), "cfn-identity",
                  fmt::format("the default of {} is one Region: {}", entry.key, value->text()),
                  "AWS::Region is the stack's own");
    }
    identities(*value);
    placeholders(*value);
    arns(*value);
  }

  // A table of Regions with images or buckets: every other Region is left out.
  void mappings() {
    for (const auto& [name, entry] : check_.tree.section("Mappings")) {
      for (const Node::Entry& top : entry->value.entries()) {
        if (!is_region(top.key)) continue;
        for (const Node::Entry& value : top.value.entries()) {
          const std::string key = lower_case(value.key);
          const bool image = value.value.text().starts_with("ami-");
          if (!image && key.find("bucket") == std::string::npos) continue;
          check_.wrong(value.value.where(), "cfn-identity",
                       fmt::format("{} of one Region each: {}", image ? "images" : "buckets",
                                   value.value.text()),
                       image ? "an SSM parameter: {{resolve:ssm:…}}" : "a parameter");
          break;
        }
      }
    }
  }

  CfnCheck& check_;
};

}  // namespace

void check_cfn_identity(CfnCheck& check) {
  IdentityCheck(check).run();
}

}  // namespace muster::lint
