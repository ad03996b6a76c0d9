#include "engine/bench/expert_table.h"

#include <gtest/gtest.h>

#include "bench/read.h"

namespace muster::measure {
namespace {

const std::vector<Seat> kSeats = {{0, 11, "a"}, {1, 12, "a"}, {2, 13, "b"}, {3, 14, "b"}};

ExpertPlan plan() {
  ExpertSettings settings;
  settings.payload = "fp8";
  settings.per_rank = true;
  return *make_plan(settings, 4, 2);
}

std::vector<ExpertRow> rows(std::optional<std::size_t> wrong) {
  return {{"dispatch", "f8e4m3", "local", 60359376, 8166, 19996, 19990, 20001, 1, wrong},
          {"dispatch", "f8e4m3", "across", 30277632, 8166, 19996, 19990, 20001, 1, wrong},
          {"dispatch", "f8e4m3", "rank 0", 60359376, 8166, 19990, 19990, 19990, 0, wrong},
          {"alltoallv", "uint8", "raw:dispatch", 60881968, 8166, 29251, 29166, 29336, 1, {}},
          {"combine", "bfloat16", "local", 117060608, 8166, 30307, 29711, 30903, 0, wrong}};
}

std::string text(std::optional<std::size_t> wrong) {
  std::string out = expert_header(plan(), kSeats, "mpi: test", "CPU");
  for (const ExpertRow& row : rows(wrong)) out += line(row);
  return out + expert_footer(rows(wrong));
}

TEST(ExpertTable, TextAndJsonAreReadAsTheSameRecords) {
  const auto table = bench::read_log(text(0), "ep.log");
  const auto json = bench::read_log(expert_json(plan(), kSeats, rows(0)), "ep.json");
  ASSERT_TRUE(table && json);
  EXPECT_TRUE(table->findings.empty());
  ASSERT_EQ(table->runs.size(), 1U);
  ASSERT_EQ(json->runs.size(), 1U);
  const bench::Run &a = table->runs[0], &b = json->runs[0];
  EXPECT_EQ(a.tool, "muster-bench");
  EXPECT_EQ(a.settings, b.settings);
  EXPECT_EQ(bench::hosts_of(a), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(bench::hosts_of(b), bench::hosts_of(a));
  EXPECT_TRUE(a.ended && a.has_summary && b.ended && b.has_summary);
  EXPECT_EQ(a.out_of_bounds, 0);
  ASSERT_EQ(a.records.size(), 5U);
  ASSERT_EQ(b.records.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const bench::Record &left = a.records[i], &right = b.records[i];
    EXPECT_EQ(bench::series_key(a, left), bench::series_key(b, right));
    EXPECT_EQ(left.variant, right.variant);
    EXPECT_EQ(left.size, right.size);
    EXPECT_EQ(left.count, right.count);
    EXPECT_EQ(left.time, right.time);
    EXPECT_NEAR(*left.algbw, *right.algbw, 0.001);
    EXPECT_EQ(left.wrong, right.wrong);
    EXPECT_EQ(left.ranks, 4);
    EXPECT_EQ(left.nodes, 2);
  }
  EXPECT_EQ(a.records[2].variant, "rank 0");
  EXPECT_FALSE(a.records[3].wrong.has_value());
}

TEST(ExpertTable, WrongValuesAreToldOnceAnOperation) {
  EXPECT_NE(text(3).find("# Out of bounds values : 6 FAILED"), std::string::npos) << text(3);
  EXPECT_NE(text({}).find("# Out of bounds values : 0 unchecked"), std::string::npos);
  const auto log = bench::read_log(text(3), "ep.log");
  ASSERT_TRUE(log);
  EXPECT_EQ(log->runs[0].wrong.size(), 4U);  // a row each
  EXPECT_EQ(log->runs[0].records[0].wrong, 3);
}

TEST(ExpertTable, ARowThatIsCutOffIsNotGuessed) {
  std::string cut = text(0);
  cut.resize(cut.find("   combine") + 40);
  const auto log = bench::read_log(cut, "ep.log");
  ASSERT_TRUE(log);
  EXPECT_EQ(log->runs[0].records.size(), 4U);
  EXPECT_FALSE(log->runs[0].ended);
  EXPECT_EQ(log->findings.size(), 1U);
}

}  // namespace
}  // namespace muster::measure
