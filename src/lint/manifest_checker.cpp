// Manifests of cases and facts.
#include <algorithm>

#include <fmt/format.h>

#include "base/document.h"
#include "base/schema.h"
#include "catalog/case.h"
#include "catalog/image.h"
#include "catalog/manifest.h"
#include "lint/environment.h"
#include "lint/lint.h"

namespace muster::lint {
namespace {

bool is_yaml(const std::filesystem::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

bool claims(const Source& source) {
  if (!is_yaml(source.path)) return false;
  const bool is_case = source.path.filename() == "case.yaml";
  const bool is_fact = source.path.parent_path().filename() == "facts";
  return is_case || is_fact || source.text.find("apiVersion: muster/") != std::string::npos;
}

// Files of the project that a case names: its Dockerfile, from its own folder; a script that is not
// absolute in the image, from the project's or its own. mpirun starts any program, and looks for a
// plain name in PATH.
void check_files(const Source& source, const Node& manifest, bool any_program, Findings& findings) {
  const auto folder = source.path.parent_path();
  const auto missing = [&](const char* key, const std::vector<std::filesystem::path>& from) {
    const Node* node = node_at(manifest, key);
    if (!node || !node->is_scalar()) return;
    const std::filesystem::path named(node->text());
    if (named.empty() || named.is_absolute() || node->text().find('$') != std::string::npos) return;
    const bool is_plain = !named.has_parent_path() && !named.has_extension();
    if (any_program && is_plain && key == std::string("entrypoint.script")) return;
    for (const auto& base : from) {
      if (source.files->exists((base / named).lexically_normal())) return;
    }
    findings.push_back(error_at(node->where(), "case-file",
                                fmt::format("{} {} is not there", key, node->text()),
                                "beside the manifest, or the path from the project's root"));
  };
  missing("image.dockerfile", {folder});
  missing("entrypoint.script", {folder, source.root});
  const Node* profiles = node_at(manifest, "profiles");
  if (!profiles || !profiles->is_mapping()) return;
  for (const Node::Entry& profile : profiles->entries()) {
    if (profile.value.is_mapping()) check_files(source, profile.value, any_program, findings);
  }
}

// The variables that a case sets, by itself and under each of its profiles. What a profile repeats
// is told once.
void check_environment(const Node& manifest, const std::string& name, const facts::Facts& known,
                       Findings& findings) {
  std::vector<std::string> profiles = {""};
  bool any = node_at(manifest, "env.set") != nullptr;
  if (const Node* named = node_at(manifest, "profiles")) {
    for (const Node::Entry& profile : named->entries()) {
      profiles.push_back(profile.key);
      any |= node_at(profile.value, "env.set") != nullptr;
    }
  }
  if (!any) return;
  for (const std::string& profile : profiles) {
    const auto resolved = catalog::resolve(manifest, name, profile, {}, known);
    const Node* set = resolved ? node_at(resolved->manifest, "env.set") : nullptr;
    if (!set) continue;
    std::vector<EnvironmentEntry> entries;
    for (const Node::Entry& entry : set->entries())
      entries.push_back({entry.key, entry.value.text(), entry.where});
    const catalog::Case& values = resolved->values;
    facts::Circumstances circumstances;
    set_instance(circumstances, known, values.topology.instance_type);
    circumstances.accelerator = values.topology.accelerator;
    circumstances.versions = values.image.pins;
    circumstances.fabric = circumstances.fabric && values.env.profile == "efa";
    circumstances.forks = values.forks();
    circumstances.debug = values.env.debug;
    circumstances.several_nodes = values.topology.nodes > 1;
    for (Finding& found : check_environment_entries(entries, known.environment, circumstances)) {
      const bool told = std::any_of(findings.begin(), findings.end(), [&](const Finding& other) {
        return other.rule == found.rule && other.where == found.where;
      });
      if (!told) findings.push_back(std::move(found));
    }
  }
}

Findings check(const Source& source, const facts::Facts& known, bool& unreadable) {
  const std::string file = source.path.string();
  const auto document = source.path.extension() == ".json" ? parse_json(source.text, file)
                                                           : parse_yaml(source.text, file);
  if (!document) {
    unreadable = true;
    return document.findings();
  }
  const std::string image = catalog::image_name_of(source.path);
  const std::string name = image.empty() ? catalog::case_name_of(source.path, source.root) : image;
  Findings findings = catalog::check_manifest(*document, name, known);
  if (!document->is_mapping() || has_errors(findings)) return findings;
  if (source.files)
    check_files(source, *document, text_at(*document, "launcher") == "mpirun", findings);
  if (text_at(*document, "kind") == "Case") check_environment(*document, name, known, findings);
  return findings;
}

}  // namespace

const Checker kManifestChecker{"manifest", claims, check};

}  // namespace muster::lint
