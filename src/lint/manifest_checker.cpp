// Manifests of cases and facts.
#include <fmt/format.h>

#include "base/document.h"
#include "base/schema.h"
#include "catalog/case.h"
#include "catalog/manifest.h"
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
// absolute in the image, from the project's or its own.
void check_files(const Source& source, const Node& manifest, Findings& findings) {
  const auto folder = source.path.parent_path();
  const auto missing = [&](const char* key, const std::vector<std::filesystem::path>& from) {
    const Node* node = node_at(manifest, key);
    if (!node || !node->is_scalar()) return;
    const std::filesystem::path named(node->text());
    if (named.empty() || named.is_absolute() || node->text().find('$') != std::string::npos) return;
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
    if (profile.value.is_mapping()) check_files(source, profile.value, findings);
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
  Findings findings =
      catalog::check_manifest(*document, catalog::case_name_of(source.path, source.root), known);
  if (source.files && document->is_mapping() && !has_errors(findings))
    check_files(source, *document, findings);
  return findings;
}

}  // namespace

const Checker kManifestChecker{"manifest", claims, check};

}  // namespace muster::lint
