// Manifests: documents with apiVersion and kind. Every kind that the project knows is described
// here once.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "base/schema.h"
#include "facts/facts.h"

namespace muster::catalog {

inline constexpr const char* kApiVersion = "muster/v1";

struct ManifestKind {
  const char* name;         ///< as `kind:` spells it
  const char* schema_file;  ///< name of its JSON Schema in docs/schema
  const char* title;
  const Schema& (*schema)();
  /// What the schema can't say: rules between fields. `expected_name` is the folder that the
  /// manifest must be named for, or empty.
  Findings (*rules)(const Node& manifest, const std::string& expected_name,
                    const facts::Facts& known);
};

/// All kinds, by name.
const std::vector<ManifestKind>& manifest_kinds();

/// The kind of a parsed document. Failures: no mapping or no kind ("not a manifest (no kind)"), an
/// unknown kind, a missing or different apiVersion.
Result<const ManifestKind*> identify(const Node& document);

/// identify, schema, rules: everything wrong with a manifest.
Findings check_manifest(const Node& document, const std::string& expected_name,
                        const facts::Facts& known);

/// The JSON Schema of a kind as it is committed: two spaces, a final line break.
std::string json_schema_text(const ManifestKind& kind);

}  // namespace muster::catalog
