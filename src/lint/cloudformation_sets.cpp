// Templates against each other: what one exports and another imports, and nested stacks whose
// template is at hand.
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

// A computed name with what is only known later as a star: `${Network}-VPC` is "*-VPC". Empty when
// nothing of it is known.
std::string pattern_of(const Node& node) {
  const auto call = cfn_call(node);
  if (!call) return node.is_scalar() ? node.text() : std::string();
  if (call->is("Fn::Sub")) {
    const Node& text = call->items().empty() ? *call->argument : call->items()[0];
    if (!text.is_scalar()) return {};
    std::string made;
    const std::string& from = text.text();
    for (std::size_t at = 0; at < from.size();) {
      const std::size_t open = std::min(from.find("${", at), from.size());
      made += from.substr(at, open - at);
      if (open == from.size()) break;
      made += '*';
      at = std::min(from.find('}', open), from.size() - 1) + 1;
    }
    return made == "*" ? std::string() : made;
  }
  if (call->is("Fn::Join") && call->items().size() == 2) {
    std::string made;
    for (const Node& item : call->items()[1].items()) {
      if (!made.empty()) made += call->items()[0].text();
      made += cfn_call(item) ? "*" : item.text();
    }
    return made;
  }
  return {};
}

// The name without the star of the stack in front: what people mistype.
std::string suffix_of(const std::string& pattern) {
  return pattern.substr(pattern.rfind('*') == std::string::npos ? 0 : pattern.rfind('*') + 1);
}

void find_imports(const Node& node, std::vector<const Node*>& found) {
  if (const auto call = cfn_call(node); call && call->is("Fn::ImportValue")) {
    found.push_back(&node);
    return;
  }
  for (const Node& item : node.items()) find_imports(item, found);
  for (const Node::Entry& entry : node.entries()) find_imports(entry.value, found);
}

// What an import names: of the short form over a mapping that is a call, that call.
std::string imported(const Node& node) {
  const auto call = cfn_call(node);
  if (!call->short_form) return pattern_of(*call->argument);
  if (const auto inner = call->inner()) {
    const Node::Entry& only = call->argument->entries()[0];
    return pattern_of(Node::mapping({only}, only.where));
  }
  return call->text();
}

}  // namespace

Findings check_cfn_set(const std::vector<const CfnTemplate*>& templates) {
  Findings findings;
  std::map<std::string, Position> exports;
  for (const CfnTemplate* tree : templates) {
    for (const auto& [name, output] : tree->section("Outputs")) {
      const Node* exported = output->value.find("Export");
      const Node* named = exported != nullptr ? exported->find("Name") : nullptr;
      if (named == nullptr) continue;
      const std::string pattern = pattern_of(*named);
      if (pattern.empty()) continue;
      const auto [known, fresh] = exports.try_emplace(pattern, named->where());
      const bool same_file = known->second.file == named->where().file;
      if (!fresh && (same_file || pattern.find('*') == std::string::npos)) {
        findings.push_back(
            error_at(named->where(), "cfn-export", fmt::format("{} is exported twice", pattern),
                     fmt::format("also at {}: exports of a Region have one name each",
                                 to_string(known->second))));
      }
    }
  }
  if (exports.empty()) return findings;
  for (const CfnTemplate* tree : templates) {
    std::vector<const Node*> imports;
    find_imports(tree->root(), imports);
    for (const Node* node : imports) {
      const std::string pattern = imported(*node);
      if (pattern.empty() || exports.count(pattern) > 0) continue;
      const std::string suffix = suffix_of(pattern);
      std::vector<std::string> right;
      right.reserve(exports.size());
      for (const auto& [known, where] : exports) right.push_back(suffix_of(known));
      if (std::find(right.begin(), right.end(), suffix) != right.end()) continue;
      if (const auto near = did_you_mean(suffix, right)) {
        findings.push_back(error_at(node->where(), "cfn-import",
                                    fmt::format("no template here exports {}", pattern),
                                    fmt::format("did you mean …{}?", *near)));
      } else {
        findings.push_back(warning_at(node->where(), "cfn-import",
                                      fmt::format("no template here exports {}", pattern)));
      }
    }
  }
  return findings;
}

// A nested stack whose template is a path beside this one: its parameters and outputs.
void check_cfn_nested(CfnCheck& check) {
  const auto& source = check.source;
  for (const Node::Entry* entry : check.tree.resources_of("AWS::CloudFormation::Stack")) {
    const Node& properties = CfnTemplate::properties(entry->value);
    const Node* url = properties.find("TemplateURL");
    if (url == nullptr || !url->is_scalar() || cfn_call(*url) || source.files == nullptr) continue;
    const std::filesystem::path named = url->text();
    const bool file = named.extension() == ".yaml" || named.extension() == ".yml" ||
                      named.extension() == ".json" || named.extension() == ".template";
    if (!file || url->text().find("://") != std::string::npos) continue;
    const auto path = (source.path.parent_path() / named).lexically_normal();
    const auto text = source.files->read(path);
    if (!text) {
      check.wrong(url->where(), "cfn-nested", fmt::format("no template {}", path.string()));
      continue;
    }
    auto root = path.extension() == ".json" ? parse_json(*text, path.string())
                                            : parse_yaml(*text, path.string());
    if (!root || !root->is_mapping()) continue;  // told where that file is checked
    const CfnTemplate child(std::move(*root), *text, path.string());
    std::vector<std::string> names;
    for (const auto& [name, parameter] : child.section("Parameters")) names.emplace_back(name);
    const Node* given = properties.find("Parameters");
    if (given != nullptr && !cfn_call(*given)) {
      for (const Node::Entry& one : given->entries()) {
        if (child.find("Parameters", one.key) != nullptr) continue;
        const auto near = did_you_mean(one.key, names);
        check.wrong(one.where, "cfn-nested",
                    fmt::format("{} has no parameter {}", url->text(), one.key),
                    near ? fmt::format("did you mean {}?", *near) : "");
      }
    }
    for (const auto& [name, parameter] : child.section("Parameters")) {
      if (parameter->value.find("Default") != nullptr) continue;
      if (given == nullptr || (!cfn_call(*given) && given->find(name) == nullptr))
        check.wrong(entry->where, "cfn-nested",
                    fmt::format("{} needs the parameter {}", url->text(), name));
    }
    for (const CfnUse& use : check.tree.uses()) {
      if (use.kind != CfnUse::Kind::kGetAtt || use.name != entry->key ||
          !use.attribute.starts_with("Outputs."))
        continue;
      const std::string output = use.attribute.substr(8);
      if (child.find("Outputs", output) != nullptr) continue;
      std::vector<std::string> right;
      for (const auto& [name, of] : child.section("Outputs")) right.emplace_back(name);
      const auto near = did_you_mean(output, right);
      check.wrong(use.where, "cfn-nested", fmt::format("{} has no output {}", url->text(), output),
                  near ? fmt::format("did you mean {}?", *near) : "");
    }
  }
}

}  // namespace muster::lint
