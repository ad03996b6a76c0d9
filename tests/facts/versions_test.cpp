// The catalog of versions: what the file may hold, and which versions go together.
#include "facts/versions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/version.h"
#include "facts/compatibility.h"
#include "facts/facts.h"
#include "testing.h"

namespace muster::facts {
namespace {

VersionCatalog committed() {
  auto catalog = load_versions(real_file_system(), testing::source_dir());
  EXPECT_TRUE(catalog);
  return catalog ? *catalog : VersionCatalog();
}

Selection with(const VersionCatalog& catalog, const std::map<std::string, std::string>& versions) {
  Selection selection = everything(catalog);
  for (const auto& [name, version] : versions) selection.versions[name].version = version;
  return selection;
}

std::vector<std::string> messages(const Findings& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) texts.push_back(to_string(finding));
  return texts;
}

TEST(Versions, TheCatalogHasNoClashForAnyGpu) {
  const VersionCatalog catalog = committed();
  Selection selection = everything(catalog);
  for (const Gpu& gpu : catalog.gpus) selection.gpus.push_back(gpu.name);
  EXPECT_EQ(messages(check_compatibility(selection, catalog)), std::vector<std::string>());
}

TEST(Versions, EveryGpuOfTheInstancesIsThere) {
  const VersionCatalog catalog = committed();
  const auto instances = load_instances(real_file_system(), testing::source_dir());
  ASSERT_TRUE(instances);
  for (const Instance& instance : *instances) {
    if (!instance.accelerators || instance.accelerators->kind != "gpu") continue;
    EXPECT_TRUE(catalog.find_gpu(instance.accelerators->model)) << instance.accelerators->model;
  }
}

// The Dockerfiles of the cases are made from blocks; their pins are the catalog's.
TEST(Versions, TheBlocksOfTheCasesPinTheSame) {
  const VersionCatalog catalog = committed();
  const auto folder = std::filesystem::path(testing::source_dir()) / "test_cases/common";
  const std::map<std::string, std::string> pins = {
      {"EFA_INSTALLER_VERSION", catalog.find("efa")->version},
      {"EFA_VERSION", catalog.find("efa")->version},
      {"NCCL_VERSION", catalog.find("nccl")->tag},
      {"GDRCOPY_VERSION", catalog.find("gdrcopy")->tag}};
  int seen = 0;
  for (const char* block : {"efa-nccl.block", "efa-gdrcopy-nccl.block"}) {
    const auto text = real_file_system().read(folder / block);
    ASSERT_TRUE(text);
    for (const auto& [argument, version] : pins) {
      if (text->find("ARG " + argument + "=") == std::string::npos) continue;
      EXPECT_NE(text->find("ARG " + argument + "=" + version + "\n"), std::string::npos)
          << argument;
      ++seen;
    }
  }
  EXPECT_EQ(seen, 5);
}

// One version of a good set is turned back (or on) at a time: the rule that breaks is named.
TEST(Versions, EachClashNamesBothRows) {
  const VersionCatalog catalog = committed();
  struct Sample {
    std::map<std::string, std::string> versions;
    std::vector<std::string> gpus;
    std::string says;
  };
  const std::vector<Sample> samples = {
      {{{"nvidia_driver", "570.86.15"}, {"fabric_manager", "570.86.15"}}, {}, "cuda 13.0.2"},
      {{{"cuda", "12.4.1"}, {"nvidia_driver", "470.1"}, {"fabric_manager", "470.1"}},
       {},
       "cuda 12.4.1"},
      {{{"fabric_manager", "580.95.05"}}, {}, "is not nvidia_driver 580.126.20"},
      {{{"cuda", "12.6"}}, {"B200"}, "GPU B200 needs cuda >=12.8, not 12.6"},
      {{{"cuda", "12.8"}}, {"B300"}, "GPU B300 needs cuda >=12.9, not 12.8"},
      {{{"dcgm", "4.3.1"}, {"dcgm_exporter", "4.5.0"}}, {"B300"}, "GPU B300 needs dcgm >=4.4"},
      {{{"cuda", "11.8"}, {"nvidia_driver", "580.1"}, {"fabric_manager", "580.1"}},
       {"H100"},
       "GPU H100 needs cuda >=12.0"},
      {{{"dcgm", "4.7.0"}}, {}, "dcgm_exporter 4.8.3"},
      {{{"dcgm_exporter", "4.9.0"}}, {}, "dcgm_exporter 4.9.0"},
      {{{"dcgm_exporter", "3.3.5"}}, {}, "needs dcgm >=3,<4, not 4.6.0"},
      {{{"efa", "1.51.0"}}, {}, "needs libfabric 2.7, not 2.4.0"},
      {{{"efa", "1.43.2"}}, {}, "needs ofi_nccl 1.16.3, not 1.19.0"},
      {{{"libfabric", "1.18.1"}}, {}, "ofi_nccl 1.19.0"},
      {{{"nccl", "2.16.5"}}, {}, "needs nccl >=2.17.1, not 2.16.5"},
      {{{"cuda", "14.0"}}, {}, "nccl 2.30.4"},
      {{{"neuron_driver", "2.20.1"}}, {}, "neuron_runtime 2.30.51.0"},
  };
  for (const Sample& sample : samples) {
    Selection selection = with(catalog, sample.versions);
    selection.gpus = sample.gpus;
    bool said = false;
    for (const Finding& finding : check_compatibility(selection, catalog)) {
      EXPECT_EQ(finding.rule, "version-clash");
      EXPECT_GT(finding.where.line, 0);  // where the version is written,
      EXPECT_NE(finding.hint.find("versions.yaml:"), std::string::npos);  // and where the rule is
      said |= finding.message.find(sample.says) != std::string::npos;
    }
    EXPECT_TRUE(said) << sample.says;
  }
}

TEST(Versions, WhatIsNotChosenIsNotJudged) {
  const VersionCatalog catalog = committed();
  Selection selection;
  selection.versions["cuda"] = {"13.0.2", {}};
  EXPECT_TRUE(check_compatibility(selection, catalog).empty());
}

TEST(Versions, WhatCannotBeComparedIsSaid) {
  const VersionCatalog catalog = committed();
  const Findings findings = check_compatibility(
      with(catalog, {{"nvidia_driver", "latest"}, {"fabric_manager", "latest"}}), catalog);
  ASSERT_FALSE(findings.empty());
  for (const Finding& finding : findings) EXPECT_EQ(finding.rule, "version-unverified");
}

TEST(Versions, RangesHold) {
  EXPECT_EQ(in_range("2.4.0", "2.4"), true);
  EXPECT_EQ(in_range("2.4", "2.4.0"), true);
  EXPECT_EQ(in_range("2.40", "2.4"), false);
  EXPECT_EQ(in_range("580.126.20", ">=580,<590"), true);
  EXPECT_EQ(in_range("590", ">=580,<590"), false);
  EXPECT_EQ(in_range("2.4.0", ">2.4"), false);
  EXPECT_EQ(in_range("2.4.0", "<=2.4"), true);
  EXPECT_EQ(in_range("main", ">=1"), std::nullopt);
  for (const char* none : {"", ">=", ">= 5", "5,", "~5", "a"}) EXPECT_FALSE(is_range(none)) << none;
}

RC_GTEST_PROP(Versions, PropertyRangesFollowTheOrderOfVersions, ()) {
  const auto part = rc::gen::inRange(0, 40);
  const auto version = [&] { return fmt::format("{}.{}.{}", *part, *part, *part); };
  const std::string one = version(), low = version(), high = version();
  const int to_low = *compare_versions(one, low), to_high = *compare_versions(one, high);
  RC_ASSERT(*in_range(one, ">=" + low + ",<" + high) == (to_low >= 0 && to_high < 0));
  RC_ASSERT(*in_range(one, ">" + low) == !*in_range(one, "<=" + low));
  RC_ASSERT(*in_range(one, one));
}

std::string document(const std::string& rows) {
  return "apiVersion: muster/v1\nkind: Versions\nfloors: []\n" + rows;
}

TEST(Versions, WrongRowsAreLocated) {
  const std::string component =
      "components:\n  - {name: cuda, title: t, version: 13.0.2, source: s, date: 2026-12-01}\n";
  EXPECT_TRUE(parse_versions(document(component), "v.yaml"));
  struct Sample {
    std::string rows, rule;
    int line;
  };
  const std::string row = "compatibility:\n  - {name: a, reason: r, source: s, date: 2026-12-01, ";
  const std::vector<Sample> samples = {
      {component + row + "needs: {cudda: '13'}}\n", "facts-unknown-component", 7},
      {component + row + "needs: {cuda: '~13'}}\n", "facts-range", 7},
      {component + row + "when: {cuda: '13'}}\n", "facts-range", 7},
      {component + row + "gpus: [H100], needs: {cuda: '13'}}\n", "facts-unknown-component", 7},
      {component + row + "needs: {cuda: '12'}}\n", "version-clash", 5},
      {component + "  - {name: cuda, title: t, source: s, date: 2026-12-01}\n", "facts-repeated",
       6},
      {"components:\n  - {name: a, title: t, sha256: {x86_64: abc}, source: s, date: 2026-12-01}\n",
       "facts-form", 5},
      {"components:\n  - {name: a, title: t, source: s, date: yesterday}\n", "facts-form", 5},
  };
  for (const Sample& sample : samples) {
    const auto catalog = parse_versions(document(sample.rows), "v.yaml");
    ASSERT_FALSE(catalog) << sample.rows;
    EXPECT_EQ(catalog.findings().front().rule, sample.rule)
        << to_string(catalog.findings().front());
    EXPECT_EQ(catalog.findings().front().where.line, sample.line);
  }
}

TEST(Versions, NothingIsBelowItsFloor) {
  const std::string text =
      "apiVersion: muster/v1\nkind: Versions\n"
      "floors: [{name: cuda, version: '13.0', source: s, date: 2026-12-01}]\n"
      "components:\n  - {name: cuda, title: t, version: '12.9', source: s, date: 2026-12-01}\n";
  const auto catalog = parse_versions(text, "v.yaml");
  ASSERT_FALSE(catalog);
  EXPECT_EQ(catalog.findings().front().rule, "facts-below-floor");
}

}  // namespace
}  // namespace muster::facts
