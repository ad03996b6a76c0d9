#include "facts/environment.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/version.h"
#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

constexpr VariableVerdict kVerdicts[] = {VariableVerdict::kNeeded, VariableVerdict::kOptional,
                                         VariableVerdict::kAutomatic, VariableVerdict::kNoOp,
                                         VariableVerdict::kHarmful};

Schema condition_schema() {
  const auto versions = [](const char* doc) { return Schema::map(doc, Schema::text("Version")); };
  return Schema::object(
             "When the rule holds; absent: always",
             {{"families", Schema::list("Instance families", Schema::text("Family, e.g. p5"))},
              {"targets", Schema::list("Where the job runs", Schema::text("Target"))},
              {"accelerator", Schema::text("Kind of accelerator").one_of({"gpu", "neuron", "cpu"})},
              {"below", versions("Every one of these libraries is older")},
              {"at_least", versions("Every one of these libraries is as new, or not stated")},
              {"forks", Schema::boolean("The program forks, as data loaders do")},
              {"debug", Schema::boolean("The job is to say what its libraries choose")},
              {"several_nodes", Schema::boolean("The job runs on more than one node")}})
      .optional_group();
}

Schema rule_schema() {
  return Schema::object(
      "One rule; the first of a variable whose conditions hold is the one that counts",
      {{"variable", Schema::text("Variable").form(kVariable).required()},
       {"value", Schema::text("What to set, or what is right")},
       {"given", Schema::text("The rule speaks only of a variable that has this value")},
       {"when", condition_schema()},
       {"verdict", Schema::text("What the rule says")
                       .one_of({"needed", "optional", "automatic", "no-op", "harmful"})
                       .required()},
       {"reason", Schema::text("Why").required()},
       {"source", Schema::text("Where it comes from; a name of the sources above").required()}});
}

std::map<std::string, std::string> versions_at(const Node& row, const char* key) {
  std::map<std::string, std::string> versions;
  if (const Node* node = node_at(row, key)) {
    for (const Node::Entry& entry : node->entries()) versions[entry.key] = entry.value.text();
  }
  return versions;
}

std::optional<std::string> written_at(const Node& row, const char* key) {
  const Node* node = node_at(row, key);
  return node ? std::optional<std::string>(node->text()) : std::nullopt;
}

VariableRule read_rule(const Node& row, const Node& sources) {
  VariableRule rule;
  rule.variable = text_at(row, "variable");
  rule.value = written_at(row, "value");
  rule.given = written_at(row, "given");
  for (const VariableVerdict verdict : kVerdicts) {
    if (text_at(row, "verdict") == to_string(verdict)) rule.verdict = verdict;
  }
  rule.reason = text_at(row, "reason");
  rule.source = text_at(sources, text_at(row, "source"));
  rule.where = row.find("variable")->where();
  rule.families = texts_at(row, "when.families");
  rule.targets = texts_at(row, "when.targets");
  rule.accelerator = text_at(row, "when.accelerator");
  rule.below = versions_at(row, "when.below");
  rule.at_least = versions_at(row, "when.at_least");
  rule.forks = boolean_at(row, "when.forks");
  rule.debug = boolean_at(row, "when.debug");
  rule.several_nodes = boolean_at(row, "when.several_nodes");
  return rule;
}

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool agrees(const std::optional<bool>& wanted, bool is) {
  return !wanted || *wanted == is;
}

bool is_of_fabric(const std::string& variable) {
  return variable.starts_with("FI_");
}

}  // namespace

const char* to_string(VariableVerdict verdict) {
  switch (verdict) {
    case VariableVerdict::kNeeded:
      return "needed";
    case VariableVerdict::kOptional:
      return "optional";
    case VariableVerdict::kAutomatic:
      return "automatic";
    case VariableVerdict::kNoOp:
      return "no-op";
    case VariableVerdict::kHarmful:
      return "harmful";
  }
  return "";
}

bool VariableRule::holds(const Circumstances& circumstances) const {
  if (!is_one_of(families, instance_family(circumstances.instance_type)) ||
      !is_one_of(targets, circumstances.target) ||
      (!accelerator.empty() && accelerator != circumstances.accelerator) ||
      !agrees(forks, circumstances.forks) || !agrees(debug, circumstances.debug) ||
      !agrees(several_nodes, circumstances.several_nodes)) {
    return false;
  }
  const auto order = [&](const std::string& library, const std::string& bound) {
    const auto stated = circumstances.versions.find(library);
    return stated == circumstances.versions.end() ? std::nullopt
                                                  : compare_versions(stated->second, bound);
  };
  return std::all_of(
             below.begin(), below.end(),
             [&](const auto& bound) { return order(bound.first, bound.second).value_or(1) < 0; }) &&
         std::all_of(at_least.begin(), at_least.end(), [&](const auto& bound) {
           return order(bound.first, bound.second).value_or(1) >= 0;
         });
}

const VariableRule* rule_for(const EnvironmentRules& rules, const std::string& variable,
                             const std::string& value, const Circumstances& circumstances) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const VariableRule& rule) {
    return rule.variable == variable && (!rule.given || *rule.given == value) &&
           rule.holds(circumstances);
  });
  return found == rules.end() ? nullptr : &*found;
}

std::vector<std::pair<std::string, std::string>> needed_environment(
    const EnvironmentRules& rules, const Circumstances& circumstances) {
  std::vector<std::pair<std::string, std::string>> needed;
  std::set<std::string> seen;
  for (const VariableRule& rule : rules) {
    if (rule.given || !rule.holds(circumstances) || !seen.insert(rule.variable).second) continue;
    if (is_of_fabric(rule.variable) && !circumstances.fabric) continue;
    if (rule.verdict == VariableVerdict::kNeeded)
      needed.emplace_back(rule.variable, rule.value.value_or(""));
  }
  return needed;
}

std::string instance_family(const std::string& instance_type) {
  const std::string plain =
      instance_type.starts_with("ml.") ? instance_type.substr(3) : instance_type;
  return plain.substr(0, plain.find('.'));
}

const Schema& environment_schema() {
  static const Schema kSchema = [] {
    auto fields = envelope("Environment");
    fields.push_back(
        {"sources",
         Schema::map("Where rules come from, by short name", Schema::text("Source")).required()});
    fields.push_back({"date", Schema::text("When they were read").required()});
    fields.push_back({"rules", Schema::list("Rules", rule_schema()).required()});
    return Schema::object("Environment variables of the fabric and of collective libraries",
                          std::move(fields));
  }();
  return kSchema;
}

Findings check_environment(const Node& document) {
  Findings findings;
  std::map<std::string, const Node*> always;  // variable -> its rule without conditions
  for (const Node& row : document.find("rules")->items()) {
    const Node& variable = *row.find("variable");
    const Node& source = *row.find("source");
    if (!document.find("sources")->find(source.text())) {
      findings.push_back(error_at(source.where(), "facts-source",
                                  fmt::format("unknown source \"{}\"", source.text()),
                                  "list it under sources"));
    }
    if (text_at(row, "verdict") == "needed" && !node_at(row, "value")) {
      findings.push_back(error_at(variable.where(), "facts-environment",
                                  variable.text() + " is needed, but has no value"));
    }
    const auto [earlier, first] = always.emplace(variable.text(), nullptr);
    if (earlier->second) {
      findings.push_back(
          error_at(variable.where(), "facts-environment",
                   fmt::format("never reached: the rule for {} in line {} always holds",
                               variable.text(), earlier->second->where().line),
                   "rules with conditions come first"));
    }
    if (!node_at(row, "when") && !node_at(row, "given")) earlier->second = &variable;
  }
  return findings;
}

Result<EnvironmentRules> parse_environment(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, environment_schema(), check_environment);
  if (!document) return document.error();
  EnvironmentRules rules;
  for (const Node& row : document->find("rules")->items())
    rules.push_back(read_rule(row, *document->find("sources")));
  return rules;
}

Result<EnvironmentRules> load_environment(const FileSystem& files,
                                          const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "environment.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_environment(*text, path.string());
}

}  // namespace muster::facts
