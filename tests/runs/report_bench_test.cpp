// What the report shows of a benchmark.
#include "runs/report_bench.h"

#include <gtest/gtest.h>

#include "runs/report.h"

namespace muster::runs {
namespace {

using nlohmann::json;

const json kBench = json::parse(R"({"schema_version": 1,
  "logs": [{"records": [
    {"operation": "all_reduce", "series": "nccl-tests/all_reduce/float/in-place", "size": 1048576, "busbw": 16.0, "algbw": 8.5},
    {"operation": "all_reduce", "series": "nccl-tests/all_reduce/float/in-place", "size": 134217728, "busbw": 289.2},
    {"operation": "put_bw", "series": "nvshmem/put_bw", "size": 8, "busbw": null, "algbw": 1.5},
    {"operation": "all_reduce", "series": "nccl-tests/all_reduce/x", "size": null, "busbw": 3}]}],
  "references": [{"operation": "all_reduce", "label": "ceiling <b>", "points": [[1048576, 400], [134217728, 400]]}],
  "pairs": {"nodes": ["n1", "n2", "<n3>"], "rates": [[null, 24, 12], [24, null, 24], [12, 24, null]]}})");

TEST(BenchReport, ChartsOfEachOperationWithItsReferences) {
  const auto charts = bench_charts(kBench);
  ASSERT_EQ(charts.size(), 2U);
  const Chart& reduce = charts[0];
  EXPECT_EQ(reduce.title, "all_reduce");
  EXPECT_EQ(reduce.steps, (std::vector<long long>{1048576, 134217728}));
  EXPECT_TRUE(reduce.log_x);
  ASSERT_EQ(reduce.lines.size(), 2U);
  EXPECT_EQ(reduce.lines[0].label, "float/in-place");
  EXPECT_FALSE(reduce.lines[0].reference);
  EXPECT_EQ(reduce.lines[0].values[1], 289.2);
  EXPECT_EQ(reduce.lines[1].label, "ceiling <b>");
  EXPECT_TRUE(reduce.lines[1].reference);
  EXPECT_EQ(charts[1].lines.size(), 1U);
}

TEST(BenchReport, MatrixOfPairsIsColouredBelowTheMedian) {
  const std::string html = pair_matrix(kBench);
  EXPECT_NE(html.find("<td class=\"heat6\">12</td>"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"heat0\">24</td>"), std::string::npos);
  EXPECT_NE(html.find("&lt;n3&gt;"), std::string::npos);
  EXPECT_EQ(html.find("<n3>"), std::string::npos);
}

TEST(BenchReport, ForeignContentMakesNothing) {
  for (const char* text : {"{}", "[]", "null", "{\"logs\": 3, \"pairs\": []}",
                           "{\"pairs\": {\"nodes\": [1], \"rates\": [[null]]}}",
                           "{\"logs\": [{\"records\": [7, {\"size\": \"x\"}]}]}"}) {
    EXPECT_TRUE(bench_charts(json::parse(text)).empty()) << text;
    EXPECT_TRUE(pair_matrix(json::parse(text)).empty()) << text;
  }
}

TEST(BenchReport, PageOfABenchmarkHasNoStepsOfTraining) {
  ReportRun run;
  run.record.id = "r";
  run.bench = kBench;
  const std::string page = render_report({run});
  EXPECT_NE(page.find("<h3>Bandwidth</h3>"), std::string::npos);
  EXPECT_NE(page.find("\"log_x\":true"), std::string::npos);
  EXPECT_EQ(page.find("ceiling <b>"), std::string::npos);
  EXPECT_EQ(page.find("<h3>Ranks</h3>"), std::string::npos);
}

}  // namespace
}  // namespace muster::runs
