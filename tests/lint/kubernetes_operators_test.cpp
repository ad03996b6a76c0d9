// What the operators refuse and their resource definitions don't: operators/*.yaml, objects which
// the suite kube-operators puts before the operators' own code.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/schema.h"
#include "facts/facts.h"
#include "lint/kubernetes_rules.h"
#include "lint/lint.h"
#include "testing.h"

namespace muster::lint {
namespace {

/// Findings on each document of a file.
std::vector<std::pair<Node, Findings>> judged(const std::filesystem::path& path) {
  const auto known = facts::load_facts(real_file_system(), muster::testing::source_dir());
  const std::string text = *real_file_system().read(path);
  bool unreadable = false;
  const Findings all = kKubernetesChecker.check(
      {path.filename(), muster::testing::source_dir(), text, nullptr}, *known, unreadable);
  EXPECT_FALSE(unreadable) << path;
  std::vector<std::pair<Node, Findings>> documents;
  const auto parsed = parse_yaml_stream(text, path.filename().string());
  for (const Node& document : *parsed) documents.emplace_back(document, Findings());
  for (const Finding& finding : all) {
    auto of = documents.rbegin();
    while (std::next(of) != documents.rend() && of->first.where().line > finding.where.line) ++of;
    of->second.push_back(finding);
  }
  return documents;
}

TEST(KubernetesOperators, WhatAnOperatorRefusesIsFoundOffline) {
  std::map<std::string, int> refused, sound;
  for (const auto& entry : std::filesystem::directory_iterator(muster::testing::source_dir() /
                                                               "tests/lint/operators")) {
    for (const auto& [object, findings] : judged(entry.path())) {
      const std::string kind = text_at(object, "kind");
      const std::string rule = annotation_of(object, "muster.test/rule");
      const std::string what = kind + " " + text_at(object, "metadata.name");
      ++(rule.empty() ? sound : refused)[kind];
      if (rule.empty()) {
        for (const Finding& finding : findings) ADD_FAILURE() << what << ": " << to_string(finding);
        continue;
      }
      ASSERT_EQ(findings.size(), 1u) << what << (findings.empty() ? "" : to_string(findings[1]));
      EXPECT_EQ(findings[0].rule, rule) << what << ": " << to_string(findings[0]);
      // What a feature gate of the operator allows is no error.
      const bool gate = rule == "kubernetes-ray-gate";
      EXPECT_EQ(findings[0].severity, gate ? Severity::kWarning : Severity::kError) << what;
    }
  }
  EXPECT_EQ(refused.size(), 9u);
  EXPECT_GE(sound.size(), 9u);
}

}  // namespace
}  // namespace muster::lint
