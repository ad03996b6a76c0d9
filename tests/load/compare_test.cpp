#include "load/compare.h"

#include <gtest/gtest.h>

using namespace muster;
using namespace muster::load;
using nlohmann::json;

namespace {

json result(int concurrency, double rate, double ttft) {
  return {{"workload", {{"api", "chat"}, {"output", "64"}}},
          {"levels",
           {{{"concurrency", concurrency},
             {"rate", 0},
             {"output_tokens_per_second", rate},
             {"ttft_ms", {{"p50", ttft}, {"p99", ttft * 2}}}}}}};
}

}  // namespace

TEST(LoadCompare, FindsWhatGotWorse) {
  const auto same = compare_loads(result(8, 100, 50), result(8, 95, 52), 0.1);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->verdict.outcome(), Outcome::kPass);
  EXPECT_EQ(same->changes.size(), 3U);
  const auto slower = compare_loads(result(8, 100, 50), result(8, 80, 50), 0.1);
  EXPECT_EQ(slower->verdict.outcome(), Outcome::kFail);
  EXPECT_EQ(compare_loads(result(8, 100, 50), result(8, 100, 60), 0.1)->verdict.outcome(),
            Outcome::kFail);
}

TEST(LoadCompare, UnlikeLoadsAreNotCompared) {
  json other = result(8, 100, 50);
  other["workload"]["output"] = "128";
  const auto comparison = compare_loads(result(8, 100, 50), other, 0.1);
  EXPECT_EQ(comparison->verdict.outcome(), Outcome::kUnknown);
  EXPECT_NE(comparison->verdict.checks()[0].evidence.find("output (\"64\" and \"128\")"),
            std::string::npos);
  EXPECT_EQ(compare_loads(result(8, 100, 50), result(16, 100, 50), 0.1)->verdict.outcome(),
            Outcome::kUnknown);
  EXPECT_FALSE(compare_loads(json::object(), json::object(), 0.1).ok());
}
