// docs/defects.md: every rule that it names exists, and so does every test.
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file_system.h"
#include "testing.h"

namespace muster::lint {
namespace {

std::string text_of_all(const std::vector<std::filesystem::path>& folders) {
  std::string all;
  for (const auto& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(testing::source_dir()) / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      if (auto text = real_file_system().read(entry.path())) all += *text;
    }
  }
  return all;
}

// The last part of rules about identities is the finder's: "sbatch-" + "site-path".
bool is_rule(const std::string& source, const std::string& rule) {
  if (source.find('"' + rule + '"') != std::string::npos) return true;
  const std::string last = rule.substr(rule.find('-') + 1);
  const bool composed =
      last == "identity" || last == "region" || last == "site-path" || last == "numbered-path";
  return composed && source.find('"' + last + '"') != std::string::npos;
}

TEST(Defects, EachRowHasARuleAndATest) {
  const auto page =
      real_file_system().read(std::filesystem::path(testing::source_dir()) / "docs/defects.md");
  ASSERT_TRUE(page.ok());
  const std::string source = text_of_all({"src/lint", "src/catalog"});
  const std::string tests = text_of_all({"tests/lint", "tests/catalog"});
  static const std::regex kRow(R"(\| `([a-z-]+)` \| `(\w+)\.(\w+)` \|)");
  int rows = 0;
  for (std::sregex_iterator row(page->begin(), page->end(), kRow), end; row != end; ++row, ++rows) {
    const std::string rule = (*row)[1], suite = (*row)[2], name = (*row)[3];
    EXPECT_TRUE(is_rule(source, rule)) << rule;
    EXPECT_NE(tests.find("(" + suite + ", " + name + ")"), std::string::npos)
        << suite << "." << name;
    // The test speaks of the rule.
    const bool told = tests.find('"' + rule + '"') != std::string::npos ||
                      tests.find("[" + rule + "]") != std::string::npos;
    EXPECT_TRUE(told) << rule << " is in no test";
  }
  EXPECT_GE(rows, 70);
}

}  // namespace
}  // namespace muster::lint
