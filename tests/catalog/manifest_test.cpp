#include "catalog/manifest.h"
#include "catalog/case_schema.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace muster::catalog {
namespace {

TEST(Manifest, AnyOtherYamlIsNotAManifest) {
  for (const char* text : {"foo: bar\n", "[1, 2]\n", "just text\n", "", "kind: [a]\n"}) {
    SCOPED_TRACE(text);
    const Findings findings = check_manifest(parsed(text), "", known_facts());
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].rule, "manifest-no-kind");
    EXPECT_EQ(findings[0].message, "not a manifest (no kind)");
  }
}

TEST(Manifest, AnotherProjectsKindIsUnknown) {
  const Findings findings =
      check_manifest(parsed("apiVersion: v1\nkind: Pod\n"), "", known_facts());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "manifest-kind");
}

// What editors are offered is what is checked: docs/schema is written by `muster render schemas
// --out docs/schema`.
TEST(Manifest, CommittedJsonSchemasAreInSync) {
  for (const ManifestKind& kind : manifest_kinds()) {
    const auto text =
        real_file_system().read(testing::source_dir() / "docs" / "schema" / kind.schema_file);
    ASSERT_TRUE(text.ok()) << kind.schema_file;
    EXPECT_TRUE(*text == json_schema_text(kind)) << kind.schema_file << " is out of date";
  }
}

TEST(Manifest, JsonSchemaRefusesUnknownKeysEverywhere) {
  const auto schema = nlohmann::json::parse(
      json_schema_text({"Case", "case.schema.json", "Muster case", case_schema, nullptr}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["batch"]["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["profiles"]["additionalProperties"]["additionalProperties"],
            false);
  EXPECT_FALSE(schema["properties"]["profiles"]["additionalProperties"].contains("required"));
  EXPECT_EQ(schema["properties"]["batch"]["properties"]["steps"]["minimum"], 1);
}

TEST(Manifest, EveryCommittedCaseAndFactPasses) {
  const auto entries = list_cases(real_file_system(), testing::source_dir());
  ASSERT_TRUE(entries.ok());
  EXPECT_GE(entries->size(), 2u);
  for (const CaseEntry& entry : *entries) {
    for (const Finding& finding : entry.problems) ADD_FAILURE() << to_string(finding);
    EXPECT_TRUE(real_file_system().exists(entry.file.parent_path() / "README.md")) << entry.name;
  }
}

}  // namespace
}  // namespace muster::catalog
