// A manifest, a profile and options, settled into one case.
#include <algorithm>

#include <fmt/format.h>

#include "catalog/case.h"
#include "catalog/case_rules.h"
#include "catalog/case_schema.h"
#include "catalog/manifest.h"
#include "catalog/merge.h"
#include "catalog/references.h"

namespace muster::catalog {
namespace {

// Keys that name the manifest itself; no profile and no option changes them.
bool is_fixed(const std::string& key) {
  return key == "apiVersion" || key == "kind" || key == "name" || key == "default" ||
         key == "profiles";
}

Node without(const Node& mapping, const std::string& key) {
  std::vector<Node::Entry> entries;
  for (const Node::Entry& entry : mapping.entries()) {
    if (entry.key != key) entries.push_back(entry);
  }
  return Node::mapping(std::move(entries), mapping.where());
}

Result<Node> find_profile(const Node& manifest, const std::string& profile) {
  if (profile.empty()) return Node::mapping({}, manifest.where());
  const Node* profiles = node_at(manifest, "profiles");
  std::vector<std::string> names;
  if (profiles) {
    for (const Node::Entry& entry : profiles->entries()) {
      if (entry.key == profile) return entry.value;
      names.push_back(entry.key);
    }
  }
  const auto meant = did_you_mean(profile, names);
  const std::string hint = meant           ? fmt::format("did you mean \"{}\"?", *meant)
                           : names.empty() ? "the case has no profiles"
                                           : fmt::format("profiles: {}", fmt::join(names, ", "));
  return Failure(error_at(profiles ? profiles->where() : manifest.where(), "case-profile",
                          fmt::format("unknown profile \"{}\"", profile), hint));
}

// Places of options on the command line name the option instead of a line.
Position option_place(const std::string& key) {
  return {"--set " + key, 0, 0};
}

Node placed(const Node& node, const Position& where) {
  if (node.is_scalar()) return Node::scalar(node.text(), node.quoted(), where);
  if (node.is_sequence()) {
    std::vector<Node> items;
    for (const Node& item : node.items()) items.push_back(placed(item, where));
    return Node::sequence(std::move(items), where);
  }
  if (node.is_mapping()) {
    std::vector<Node::Entry> entries;
    for (const Node::Entry& entry : node.entries())
      entries.push_back({entry.key, where, placed(entry.value, where)});
    return Node::mapping(std::move(entries), where);
  }
  return Node::null(where);
}

// {"a.b", "1"} as {a: {b: 1}}.
Result<Node> option_layer(const Override& option) {
  const Position where = option_place(option.first);
  auto value = parse_yaml(option.second, where.file);
  if (!value) return value;
  Node node = placed(*value, where);
  std::string rest = option.first;
  while (!rest.empty()) {
    const auto dot = rest.rfind('.');
    const std::string key = dot == std::string::npos ? rest : rest.substr(dot + 1);
    rest = dot == std::string::npos ? std::string() : rest.substr(0, dot);
    if (rest.empty() && is_fixed(key)) {
      return Failure(error_at(where, "case-option",
                              fmt::format("{} can't be set from the command line", key)));
    }
    node = Node::mapping({{key, where, std::move(node)}}, where);
  }
  return node;
}

void lay(const Node& layer, Origin::Kind kind, Node& merged, Origins& origins) {
  merged = merge(merged, layer);
  forget_origins(layer, "", origins);
  set_origins(layer, kind, "", origins);
}

// The first option that makes the training another one: its length, its data, its arithmetic.
const Override* training_option(const std::vector<Override>& overrides) {
  static const std::vector<std::string> kParts = {"batch", "optimizer", "data",
                                                  "case",  "precision", "topology"};
  for (const Override& option : overrides) {
    const std::string part = option.first.substr(0, option.first.find('.'));
    if (std::find(kParts.begin(), kParts.end(), part) != kParts.end()) return &option;
  }
  return nullptr;
}

// The band of the evaluation loss holds for the training that it was measured on: an option that
// changes the training takes it away, unless another one gives it.
Findings drop_stale_band(const std::vector<Override>& overrides, Node& merged, Origins& origins) {
  const Override* changed = training_option(overrides);
  if (!changed || !node_at(merged, "expect.eval_loss")) return {};
  for (const Override& option : overrides) {
    if (option.first.rfind("expect.eval_loss", 0) == 0 || option.first == "expect") return {};
  }
  const Position where = option_place(changed->first);
  Node layer = Node::null(where);
  for (const char* key : {"eval_loss", "expect"})
    layer = Node::mapping({{key, where, std::move(layer)}}, where);
  lay(layer, Origin::Kind::kOption, merged, origins);
  return {warning_at(where, "case-band",
                     "the case's band of the evaluation loss does not hold for this training",
                     "it is not checked; set expect.eval_loss to check another")};
}

// A position for findings about a value that nobody wrote down: the manifest's own.
Findings in_file(Findings findings, const Node& manifest) {
  for (Finding& finding : findings) {
    if (finding.where.file.empty()) finding.where = manifest.where();
  }
  return findings;
}

}  // namespace

const char* to_string(Origin::Kind kind) {
  switch (kind) {
    case Origin::Kind::kDefault:
      return "default";
    case Origin::Kind::kManifest:
      return "manifest";
    case Origin::Kind::kProfile:
      return "profile";
    case Origin::Kind::kOption:
      return "option";
  }
  return "";
}

Result<ResolvedCase> resolve(const Node& manifest, const std::string& expected_name,
                             const std::string& profile, const std::vector<Override>& overrides,
                             const facts::Facts& known) {
  const auto kind = identify(manifest);
  if (!kind) return kind.error();
  if (std::string((*kind)->name) != "Case") {
    return Failure(error_at(manifest.where(), "manifest-kind",
                            fmt::format("a {} manifest, not a Case", (*kind)->name)));
  }
  const Schema& schema = case_schema();
  Findings findings = schema.check(manifest, "manifest");
  if (has_errors(findings)) return Failure(std::move(findings));

  const auto overlay = find_profile(manifest, profile);
  if (!overlay) return overlay.error();

  Node merged = without(manifest, "profiles");
  Origins origins;
  set_origins(merged, Origin::Kind::kManifest, "", origins);
  lay(*overlay, Origin::Kind::kProfile, merged, origins);
  for (const Override& option : overrides) {
    const auto layer = option_layer(option);
    if (!layer) return layer.error();
    const Findings wrong = schema.as_overlay().check(*layer, "option");
    if (has_errors(wrong)) return Failure(wrong);
    lay(*layer, Origin::Kind::kOption, merged, origins);
  }
  const Findings dropped = drop_stale_band(overrides, merged, origins);
  // A layer may have removed what is required.
  findings = in_file(schema.check(merged, "manifest"), manifest);
  if (has_errors(findings)) return Failure(std::move(findings));

  ResolvedCase resolved;
  resolved.profile = profile;
  resolved.manifest = schema.with_defaults(merged);
  resolved.values = read_case(resolved.manifest);
  findings =
      in_file(fill_references(resolved.manifest, resolved.values, resolved.referenced), manifest);
  if (has_errors(findings)) return Failure(std::move(findings));
  Origins complete;
  set_origins(resolved.manifest, Origin::Kind::kDefault, "", complete);
  for (auto& [key, origin] : complete) {
    const auto written = origins.find(key);
    origin = written != origins.end() ? written->second : Origin{Origin::Kind::kDefault, {}};
  }
  resolved.origins = std::move(complete);

  findings =
      in_file(check_case(resolved.values, resolved.manifest, expected_name, known), manifest);
  if (has_errors(findings)) return Failure(std::move(findings));
  findings.insert(findings.begin(), dropped.begin(), dropped.end());
  resolved.warnings = std::move(findings);
  return resolved;
}

std::string to_yaml(const ResolvedCase& resolved) {
  const std::string profile = resolved.profile.empty() ? "none" : resolved.profile;
  return fmt::format("# As resolved; profile: {}\n{}", profile, to_yaml(resolved.manifest));
}

}  // namespace muster::catalog
