// The RFC's map: its rules give the directories that are listed beside it, and each of these is
// here or listed as not carried, with why.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/file_system.h"
#include "reorg/move_map.h"
#include "reorg/moves.h"
#include "reorg/plan.h"
#include "testing.h"

namespace muster::reorg {
namespace {

std::vector<std::string> columns(const std::string& line) {
  std::vector<std::string> result(1);
  for (const char c : line) {
    if (c == '\t') {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

Plan plan(const char* name) {
  const auto path = muster::testing::source_dir() / "docs/reorg" / name;
  const auto text = real_file_system().read(path);
  EXPECT_TRUE(text.ok());
  auto read = read_plan(*text, name);
  EXPECT_TRUE(read.ok()) << to_string(read.findings().front());
  return std::move(*read);
}

TEST(Rfc, EveryDirectoryIsHereOrSaidNotToBe) {
  const Plan rfc = plan("rfc.yaml");
  const Rules first(rfc.repository.rules), second(rfc.merged.at(0).rules);
  std::ifstream in(muster::testing::source_dir() / "docs/reorg/rfc-directories.tsv");
  std::size_t rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    ++rows;
    const auto row = columns(line);
    ASSERT_EQ(row.size(), 5U) << line;
    Findings findings;
    const Rules& rules = row[0].empty() ? first : second;
    EXPECT_EQ(rules.decide(row[1] + "/f", findings).to, std::optional(row[2] + "/f")) << line;
    if (row[3].empty()) {
      EXPECT_FALSE(row[4].empty()) << "not carried, and not said why: " << line;
      EXPECT_FALSE(std::filesystem::exists(muster::testing::source_dir() / row[2]))
          << "here, and said not to be: " << line;
    } else {
      EXPECT_TRUE(std::filesystem::is_directory(muster::testing::source_dir() / row[3])) << line;
      EXPECT_TRUE(row[3] == row[2] || !row[4].empty()) << "differs, and not said why: " << line;
    }
  }
  EXPECT_GT(rows, 50U);
}

TEST(Rfc, TheOtherLayoutIsAPlanToo) {
  Findings findings;
  const Plan other = plan("examples-layout.yaml");
  const Rules rules(other.repository.rules);
  EXPECT_EQ(rules.decide("3.test_cases/pytorch/trl/README.md", findings).to,
            std::optional<std::string>("examples/training/trl/README.md"));
  EXPECT_EQ(rules.decide("0.docs/a.png", findings).to, std::optional<std::string>("assets/a.png"));
}

TEST(Rfc, NumberedFilesKeepTheirNumbers) {
  Findings findings;
  const Plan rfc = plan("rfc.yaml");
  const Rules rules(rfc.repository.rules);
  EXPECT_EQ(rules.decide("1.architectures/1.vpc_network/1.vpc-multi-az.yaml", findings).to,
            std::optional<std::string>("architectures/vpc_network/1.vpc-multi-az.yaml"));
  EXPECT_EQ(rules
                .decide("4.validation_and_observability/4.prometheus-grafana/"
                        "1click-dashboards-deployment/x",
                        findings)
                .to,
            std::optional<std::string>(
                "validation_and_observability/prometheus-grafana/1click-dashboards-deployment/x"));
}

// 1,325 moves of the first repository fit in 30 rules, and these say what the plan says.
TEST(Rfc, TheMapIsShort) {
  const Plan rfc = plan("rfc.yaml");
  const Rules rules(rfc.repository.rules);
  std::ifstream in(muster::testing::source_dir() / "docs/reorg/rfc-directories.tsv");
  std::vector<MapLine> lines;
  Findings findings;
  for (std::string line; std::getline(in, line);) {
    const auto row = columns(line);
    if (row.size() != 5 || !row[0].empty()) continue;
    for (int i = 0; i < 25; ++i) {
      const std::string from = row[1] + "/" + std::to_string(i) + ".step.sh";
      lines.push_back({"", from, rules.decide(from, findings).to});
    }
  }
  ASSERT_GE(lines.size(), 1325U);
  const auto few = shortest_rules(lines, {"README.md"});
  EXPECT_LE(few.size(), 30U);
  for (const MapLine& line : lines) EXPECT_EQ(map_path(few, line.from), line.to) << line.from;
}

}  // namespace
}  // namespace muster::reorg
