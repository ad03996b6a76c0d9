// Manifests of cases and facts.
#include "base/document.h"
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

Findings check(const Source& source, const facts::Facts& known, bool& unreadable) {
  const std::string file = source.path.string();
  const auto document = source.path.extension() == ".json" ? parse_json(source.text, file)
                                                           : parse_yaml(source.text, file);
  if (!document) {
    unreadable = true;
    return document.findings();
  }
  return catalog::check_manifest(*document, catalog::case_name_of(source.path, source.root), known);
}

}  // namespace

const Checker kManifestChecker{"manifest", claims, check};

}  // namespace muster::lint
