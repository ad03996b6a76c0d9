// CloudFormation templates: what is one, and every rule applied to it.
#include <algorithm>
#include <iterator>
#include <memory>

#include "base/document.h"
#include "lint/cloudformation_rules.h"
#include "lint/lint.h"

namespace muster::lint {

void CfnCheck::wrong(const Position& where, const char* rule, std::string message,
                     std::string hint) {
  findings.push_back(error_at(where, rule, std::move(message), std::move(hint)));
}

void CfnCheck::warn(const Position& where, const char* rule, std::string message,
                    std::string hint) {
  findings.push_back(warning_at(where, rule, std::move(message), std::move(hint)));
}

namespace {

bool has(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

bool is_cfn_template(const Source& source) {
  const auto extension = source.path.extension();
  const bool json = extension == ".json";
  if (!json && extension != ".yaml" && extension != ".yml" && extension != ".template")
    return false;
  const std::string& text = source.text;
  const bool aws = has(text, "AWS::");
  if (json || (extension == ".template" && text.find_first_not_of(" \r\n\t") != std::string::npos &&
               text[text.find_first_not_of(" \r\n\t")] == '{'))
    return has(text, "\"AWSTemplateFormatVersion\"") || (has(text, "\"Resources\"") && aws);
  const auto line = [&](const char* start) {
    return text.rfind(start, 0) == 0 || has(text, (std::string("\n") + start).c_str());
  };
  return line("AWSTemplateFormatVersion") || line("'AWSTemplateFormatVersion") ||
         line("\"AWSTemplateFormatVersion") || (line("Resources:") && aws);
}

// A file's own text may be YAML or JSON whatever it is called.
Result<Node> parse_cfn(const Source& source) {
  const std::size_t first = source.text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && source.text[first] == '{' &&
                    source.path.extension() != ".yaml" && source.path.extension() != ".yml";
  return json ? parse_json(source.text, source.path.string())
              : parse_yaml(source.text, source.path.string());
}

using CfnRule = void (*)(CfnCheck&);

constexpr CfnRule kCfnRules[] = {
    check_cfn_sections,   check_cfn_parameters, check_cfn_functions,   check_cfn_properties,
    check_cfn_references, check_cfn_conditions, check_cfn_unused,      check_cfn_nested,
    check_cfn_groups,     check_cfn_interfaces, check_cfn_capacity,    check_cfn_storage,
    check_cfn_network,    check_cfn_retention,  check_cfn_permissions, check_cfn_identity,
    check_cfn_images,     check_cfn_jobs,       check_cfn_scripts,     check_cfn_clusters,
};

Findings check_cfn_template(const Source& source, const facts::Facts& known, bool& unreadable) {
  auto root = parse_cfn(source);
  if (!root) {
    unreadable = true;
    return root.findings();
  }
  const auto types = CfnTypes::load_once(source.files, source.root);
  if (!types) {
    unreadable = true;
    return types.findings();
  }
  if (!root->is_mapping()) {
    return {error_at(root->where(), "cfn-section", "a template is a mapping of sections")};
  }
  const CfnTemplate tree(std::move(*root), source.text, source.path.string());
  CfnCheck check{tree, **types, known, source};
  for (const CfnRule rule : kCfnRules) rule(check);
  return std::move(check.findings);
}

// Only imports make templates depend on each other.
Findings check_cfn_together(const std::vector<const Source*>& sources) {
  const bool any = std::any_of(sources.begin(), sources.end(), [](const Source* source) {
    return has(source->text, "ImportValue");
  });
  if (!any) return {};
  std::vector<std::unique_ptr<CfnTemplate>> trees;
  std::vector<const CfnTemplate*> templates;
  for (const Source* source : sources) {
    if (!has(source->text, "ImportValue") && !has(source->text, "Export")) continue;
    auto root = parse_cfn(*source);
    if (!root || !root->is_mapping()) continue;
    trees.push_back(
        std::make_unique<CfnTemplate>(std::move(*root), source->text, source->path.string()));
    templates.push_back(trees.back().get());
  }
  return check_cfn_set(templates);
}

}  // namespace

const Checker kCloudFormationChecker{"cloudformation", is_cfn_template, check_cfn_template,
                                     check_cfn_together};

}  // namespace muster::lint
