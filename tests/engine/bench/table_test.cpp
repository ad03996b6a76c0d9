#include "engine/bench/table.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster::measure {
namespace {

Row row() {
  Row row;
  row.bytes = 4294967296;
  row.count = 1073741824;
  row.reduction = Reduction::kSum;
  row.out_of_place = {15791, 271.98, 475.97, 0};
  row.in_place = {15773, 272.29, 476.51, std::nullopt};
  return row;
}

TEST(Table, ARowReadsAsNcclTestsPrintsIt) {
  EXPECT_EQ(
      line(row()),
      "  4294967296    1073741824     float     sum      -1    15791  271.98  475.97       0    "
      "15773  272.29  476.51     N/A\n");
}

TEST(Table, TimesLoseDecimalsAsTheyGrow) {
  EXPECT_EQ(time_text(12.345), "  12.35");
  EXPECT_EQ(time_text(4253), " 4253.0");
  EXPECT_EQ(time_text(15791), "  15791");
  EXPECT_EQ(time_text(12345678), "1.2e+07");
}

TEST(Table, TheSummaryAddsUpBothHalves) {
  Row bad = row();
  bad.in_place.wrong = 7;
  const Summary summary = summarise({row(), bad});
  EXPECT_EQ(summary.out_of_bounds, 7U);
  EXPECT_TRUE(summary.checked);
  EXPECT_DOUBLE_EQ(summary.average_busbw, (475.97 + 476.51) / 2);
  Sweep sweep;
  EXPECT_NE(footer(sweep, summary).find("# Out of bounds values : 7 FAILED\n"), std::string::npos);
  EXPECT_NE(footer(sweep, summarise({row()})).find("values : 0 OK\n"), std::string::npos);
}

TEST(Table, NothingCheckedIsNotOk) {
  Row unchecked = row();
  unchecked.out_of_place.wrong.reset();
  const Summary summary = summarise({unchecked});
  EXPECT_FALSE(summary.checked);
  EXPECT_NE(footer(Sweep(), summary).find("0 unchecked"), std::string::npos);
}

TEST(Table, JsonHasNcclTestsKeysAndNoEnvironment) {
  const std::string text = to_json(Sweep(), {"muster-bench", "all_reduce"}, {{0, 11, "n1"}},
                                   "mpi: x", "CPU", {row()}, "start", "end");
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["version"], 3);
  EXPECT_FALSE(json.contains("env"));
  EXPECT_EQ(json["results"][0]["root"], "-1");
  EXPECT_EQ(json["results"][0]["out_of_place"]["nwrong"], 0);
  EXPECT_TRUE(json["results"][0]["in_place"]["nwrong"].is_null());
  EXPECT_EQ(json["devices"][0]["hostname"], "n1");
}

}  // namespace
}  // namespace muster::measure
