#include "facts/datasets.h"

#include <gtest/gtest.h>

#include "facts/facts.h"
#include "testing.h"

namespace muster::facts {
namespace {

TEST(Datasets, KjvSaysWhatMakesItAndHowToKnowIt) {
  const auto datasets = load_datasets(real_file_system(), testing::source_dir());
  ASSERT_TRUE(datasets.ok()) << to_string(datasets.findings()[0]);
  const auto kjv = find_dataset(*datasets, "kjv");
  ASSERT_TRUE(kjv.ok());
  EXPECT_EQ(kjv->package, "bible-kjv");
  EXPECT_EQ(kjv->command, (std::vector<std::string>{"bible", "gen1:1-rev22:21"}));
  EXPECT_EQ(kjv->bytes, 4298239u);
  EXPECT_EQ(kjv->sha256.size(), 64u);
}

TEST(Datasets, ADataSetIsATextOrADirectory) {
  const auto datasets = load_datasets(real_file_system(), testing::source_dir());
  ASSERT_TRUE(datasets.ok());
  const auto pictures = find_dataset(*datasets, "fashion-mnist");
  ASSERT_TRUE(pictures.ok());
  EXPECT_EQ(pictures->files.size(), 4u);
  const std::string head =
      "apiVersion: muster/v1\nkind: Datasets\ndatasets:\n  - {name: a, description: b, package: c, "
      "licence: e, source: f, date: g";
  for (const char* wrong : {"}", ", command: [d]}", ", directory: /d}", ", files: []}"}) {
    EXPECT_FALSE(parse_datasets(head + wrong + "\n", "d.yaml").ok()) << wrong;
  }
}

TEST(Datasets, ChecksumMustLookLikeOne) {
  const std::string text =
      "apiVersion: muster/v1\nkind: Datasets\ndatasets:\n"
      "  - {name: a, description: b, package: c, command: [d], bytes: 1, sha256: abc, licence: e, "
      "source: f, date: g}\n";
  const auto datasets = parse_datasets(text, "d.yaml");
  ASSERT_FALSE(datasets.ok());
  EXPECT_EQ(datasets.findings()[0].rule, "facts-form");
  EXPECT_EQ(datasets.findings()[0].where.line, 4);
}

TEST(Facts, AProjectWithoutFactsHasNone) {
  const MemoryFileSystem files;
  const auto facts = load_facts(files, "/nowhere");
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->instances.empty());
  EXPECT_TRUE(facts->floors.empty());
}

TEST(Facts, EveryBrokenFileIsReported) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.write("/p/facts/instances.yaml", "foo: bar\n").ok());
  ASSERT_TRUE(files.write("/p/facts/models.yaml", "a: [\n").ok());
  const auto facts = load_facts(files, "/p");
  ASSERT_FALSE(facts.ok());
  bool instances = false, models = false;
  for (const Finding& finding : facts.findings()) {
    instances |= finding.where.file.str().find("instances.yaml") != std::string::npos;
    models |= finding.where.file.str().find("models.yaml") != std::string::npos;
  }
  EXPECT_TRUE(instances && models);
}

}  // namespace
}  // namespace muster::facts
