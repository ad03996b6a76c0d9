// What the report shows of a load.
#include "runs/report_serving.h"

#include <gtest/gtest.h>

namespace muster::runs {
namespace {

using nlohmann::json;

TEST(ServingReport, ASweepIsDrawnOverItsUsersInOrder) {
  const auto charts = load_charts(json::parse(R"({"levels": [
    {"concurrency": 4, "output_tokens_per_second": 300, "ttft_ms": {"p50": 20, "p99": 50}, "itl_ms": null},
    {"concurrency": 1, "output_tokens_per_second": 100, "ttft_ms": {"p50": 10, "p99": 12}, "itl_ms": null}]})"));
  ASSERT_EQ(charts.size(), 2U);  // no answer had two pieces: nothing to draw between them
  EXPECT_EQ(charts[0].steps, (std::vector<long long>{1, 4}));
  EXPECT_EQ(charts[0].lines[0].values, (std::vector<std::optional<double>>{100, 300}));
  EXPECT_EQ(charts[1].lines[1].label, "99 %");
  EXPECT_EQ(charts[1].lines[1].values[0], 12);
}

TEST(ServingReport, OneLoadIsDrawnOverItsSeconds) {
  const auto charts = load_charts(json::parse(R"({"levels": [{"concurrency": 4, "timeline": [
    {"tokens": 5, "complete": 1, "failed": 0, "ttft_p50_ms": 20},
    {"tokens": 0, "complete": 0, "failed": 2, "ttft_p50_ms": null}]}]})"));
  ASSERT_EQ(charts.size(), 3U);
  EXPECT_EQ(charts[0].steps, (std::vector<long long>{0, 1}));
  EXPECT_FALSE(charts[1].lines[0].values[1].has_value());
  EXPECT_EQ(charts[2].lines[1].values[1], 2);
}

TEST(ServingReport, ForeignContentMakesNothing) {
  for (const char* text : {"{}", "[]", "null", "{\"levels\": 3}", "{\"levels\": [7]}",
                           "{\"levels\": [{\"timeline\": 1}]}", "{\"levels\": [{}, {}]}"})
    EXPECT_TRUE(load_charts(json::parse(text)).empty()) << text;
}

}  // namespace
}  // namespace muster::runs
