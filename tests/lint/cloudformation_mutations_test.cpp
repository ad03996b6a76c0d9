// Single faults in templates (cloudformation_mutations.yaml): each is told by its rule on its line,
// and the templates without them have no finding.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/schema.h"
#include "findings_text.h"
#include "lint/lint.h"
#include "testing.h"

namespace muster::lint {
namespace {

Findings check(const std::string& file, const std::string& text) {
  static const auto kKnown = facts::load_facts(real_file_system(), muster::testing::source_dir());
  bool unreadable = false;
  return kCloudFormationChecker.check({muster::testing::source_dir() / file,
                                       muster::testing::source_dir(), text, &real_file_system()},
                                      *kKnown, unreadable);
}

int line_of(const std::string& text, std::size_t offset) {
  return static_cast<int>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n') + 1);
}

TEST(CloudFormationMutations, EachIsFoundOnItsLineAndNoneWithoutIt) {
  const std::string table =
      (muster::testing::source_dir() / "tests/lint/cloudformation_mutations.yaml").string();
  const auto text = real_file_system().read(table);
  ASSERT_TRUE(text.ok());
  const auto rows = parse_yaml(*text, table);
  ASSERT_TRUE(rows.ok()) << testing::text_of_findings(rows.findings());
  std::map<std::string, std::string> clean;
  for (const Node& row : rows->items()) {
    const std::string file = text_at(row, "file");
    SCOPED_TRACE(to_string(row.where()));
    if (clean.count(file) == 0) {
      const auto original = real_file_system().read(muster::testing::source_dir() / file);
      ASSERT_TRUE(original.ok()) << file;
      clean[file] = *original;
      EXPECT_EQ(testing::text_of_findings(check(file, *original)), "") << file;
    }
    const std::string find = text_at(row, "find"), replace = text_at(row, "replace");
    const std::string rule = text_at(row, "rule"), at = text_at(row, "at");
    std::string mutated = clean[file];
    const std::size_t start = mutated.find(find);
    ASSERT_NE(start, std::string::npos) << file << " has no " << find;
    mutated.replace(start, find.size(), replace);
    const std::size_t told = at.empty() ? start : mutated.find(at);
    ASSERT_NE(told, std::string::npos) << "no " << at;
    const int line = line_of(mutated, told);
    const Findings all = check(file, mutated);
    EXPECT_TRUE(std::any_of(
        all.begin(), all.end(),
        [&](const Finding& finding) { return finding.rule == rule && finding.where.line == line; }))
        << rule << " on line " << line << " of " << replace << "; found:\n"
        << testing::text_of_findings(all);
  }
  EXPECT_GE(rows->items().size(), 100U);
}

}  // namespace
}  // namespace muster::lint
