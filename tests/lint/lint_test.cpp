#include "lint/lint.h"

#include <gtest/gtest.h>

#include "base/verdict.h"
#include "lint/shellcheck.h"
#include "testing.h"

namespace muster::lint {
namespace {

const char kCase[] = R"(apiVersion: muster/v1
kind: Case
name: training/native/llama/tiny
description: A case
case: {framework: native, library: llama, model: tiny}
topology: {nodes: 1, accelerators_per_node: 2}
data: {name: kjv, tokenizer: "bpe:2048"}
)";

class Lint : public ::testing::Test {
 protected:
  void add(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.write(path, text).ok());
  }
  Report check(const std::string& path) { return validate(files_, "/p", {path}); }
  MemoryFileSystem files_;
};

TEST_F(Lint, ExitCodesFollowWhatWasFound) {
  add("/p/test_cases/training/native/llama/tiny/case.yaml", kCase);
  add("/p/bad/case.yaml", std::string(kCase) + "bogus: 1\n");
  add("/p/broken.yaml", "a: [\n");
  add("/p/other.yaml", "foo: bar\n");
  add("/p/notes/readme.md", "# Text\n");
  EXPECT_EQ(check("/p/test_cases").exit_code(), kExitOk);
  EXPECT_EQ(check("/p/bad/case.yaml").exit_code(), kExitFailed);
  EXPECT_EQ(check("/p/other.yaml").exit_code(), kExitFailed);
  EXPECT_EQ(check("/p/broken.yaml").exit_code(), kExitBadInput);
  EXPECT_EQ(check("/p/missing.yaml").exit_code(), kExitBadInput);
  EXPECT_EQ(check("/p/notes").exit_code(), kExitUnverified);
  EXPECT_EQ(check("/p/notes/readme.md").exit_code(), kExitUnverified);
  EXPECT_EQ(validate(files_, "/p", {}).exit_code(), kExitUnverified);
  // The worst of several decides.
  EXPECT_EQ(
      validate(files_, "/p", {"/p/test_cases", "/p/bad/case.yaml", "/p/broken.yaml"}).exit_code(),
      kExitBadInput);
}

TEST_F(Lint, NamedYamlMustBeAManifest) {
  add("/p/other.yaml", "foo: bar\n");
  const Report report = check("/p/other.yaml");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(
      to_string(report.findings[0]).rfind("/p/other.yaml:1:1: error: not a manifest (no kind)", 0),
      0u);
}

TEST_F(Lint, DirectoriesTakeWhatIsTheirs) {
  add("/p/test_cases/training/native/llama/tiny/case.yaml", kCase);
  add("/p/test_cases/training/native/llama/tiny/compose.yaml", "services: {}\n");
  add("/p/test_cases/.git/case.yaml", "foo: bar\n");
  add("/p/test_cases/x/build/case.yaml", "foo: bar\n");
  const Report report = check("/p/test_cases");
  ASSERT_EQ(report.checked.size(), 1u);
  EXPECT_EQ(report.checked[0].second, std::string("manifest"));
}

TEST_F(Lint, FilesThatACaseNamesAreThere) {
  const std::string path = "/p/test_cases/training/native/llama/tiny/case.yaml";
  add(path, std::string(kCase) + "image: {dockerfile: Dockerfile}\n");
  const Report report = check(path);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].rule, "case-file");
  add("/p/test_cases/training/native/llama/tiny/Dockerfile", "FROM x:1\n");
  EXPECT_TRUE(check(path).findings.empty());
}

TEST_F(Lint, AFileIsCheckedOnce) {
  add("/p/test_cases/training/native/llama/tiny/case.yaml", kCase);
  const Report report = validate(
      files_, "/p", {"/p/test_cases", "/p/test_cases/training/native/llama/tiny/case.yaml"});
  EXPECT_EQ(report.checked.size(), 1u);
}

TEST_F(Lint, FoldersWithoutEndAreGivenUpAndSaid) {
  std::string path = "/p/deep";
  for (int i = 0; i < 40; ++i) path += "/a";
  add(path + "/case.yaml", kCase);
  const Report report = check("/p/deep");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].rule, "file-unreadable");
  EXPECT_EQ(report.exit_code(), kExitBadInput);
}

TEST(Shellcheck, ErrorsAndWarningsAreFindingsNotesAreNot) {
  const auto found = parse_shellcheck(R"({"comments": [
    {"file": "a.sh", "line": 3, "column": 5, "level": "error", "code": 1009, "message": "m"},
    {"file": "a.sh", "line": 4, "column": 1, "level": "warning", "code": 86, "message": "n"},
    {"file": "a.sh", "line": 5, "column": 1, "level": "style", "code": 2006, "message": "o"}]})");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(to_string((*found)[0]), "a.sh:3:5: error: m [shellcheck-SC1009]");
  EXPECT_EQ(to_string((*found)[1]), "a.sh:4:1: warning: n [shellcheck-SC0086]");
  for (const char* text : {"", "[]", "{}", R"({"comments": 1})"})
    EXPECT_FALSE(parse_shellcheck(text)) << text;
}

TEST_F(Lint, NameFollowsThePlaceInTheProject) {
  add("/p/test_cases/training/native/llama/moved/case.yaml", kCase);
  const Report report = check("/p/test_cases");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].rule, "case-name");
  EXPECT_EQ(report.findings[0].where.line, 3);
}

TEST_F(Lint, BrokenFactsAreAnErrorOfTheirOwnOnce) {
  add("/p/facts/instances.yaml", "foo: bar\n");
  add("/p/test_cases/training/native/llama/tiny/case.yaml", kCase);
  const Report report = validate_all(files_, "/p");
  EXPECT_EQ(report.exit_code(), kExitFailed);
  int about_facts = 0;
  for (const Finding& finding : report.findings)
    about_facts += finding.where.file.str().find("instances.yaml") != std::string::npos;
  EXPECT_GE(about_facts, 1);
}

TEST_F(Lint, FindingsComeInOrderOfTheirPlace) {
  add("/p/b/case.yaml", "foo: bar\n");
  add("/p/a/case.yaml", "apiVersion: muster/v1\nkind: Case\nx: 1\ny: 2\n");
  const Report report = validate(files_, "/p", {"/p/b", "/p/a"});
  ASSERT_GT(report.findings.size(), 2u);
  for (std::size_t i = 1; i < report.findings.size(); ++i)
    EXPECT_LE(report.findings[i - 1].where, report.findings[i].where);
}

TEST(LintProject, TheCheckoutPasses) {
  const Report report = validate_all(real_file_system(), testing::source_dir());
  for (const Finding& finding : report.findings) ADD_FAILURE() << to_string(finding);
  EXPECT_GE(report.checked.size(), 6u);
  EXPECT_EQ(report.exit_code(), kExitOk);
}

}  // namespace
}  // namespace muster::lint
