#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "metrics/collectors.h"

namespace muster::metrics {
namespace {

TEST(Exposition, WritesWhatTheFormatAsksFor) {
  Exposition metrics;
  metrics.add("a_bytes", Type::kCounter, "back\\slash\nline", {{"device", "x\"y\\z\n"}}, 1e15);
  metrics.add("b", Type::kGauge, "b", {}, std::numeric_limits<double>::infinity());
  metrics.add("a_bytes", Type::kCounter, "other help", {{"device", "second"}}, 0.5);
  metrics.add("b", Type::kGauge, "b", {}, std::nan(""));  // replaces
  EXPECT_EQ(metrics.text(),
            "# HELP a_bytes back\\\\slash\\nline\n"
            "# TYPE a_bytes counter\n"
            "a_bytes{device=\"second\"} 0.5\n"
            "a_bytes{device=\"x\\\"y\\\\z\\n\"} 1000000000000000\n"
            "# HELP b b\n"
            "# TYPE b gauge\n"
            "b NaN\n");
  EXPECT_EQ(metrics.samples(), 3U);
  EXPECT_TRUE(check_exposition(metrics.text(), "m").empty());
}

TEST(Exposition, FindsWhatIsWrong) {
  for (const char* wrong :
       {"a 1", "a{b=\"c\"} one\n", "1a 2\n", "a{b=c} 1\n", "a{b=\"c} 1\n", "a\n", "a 1\na 2\n",
        "a 1\nb 1\na{x=\"1\"} 2\n", "# TYPE a counter\n# TYPE a gauge\na 1\n",
        "# TYPE a sum\na 1\n", "# HELP a x\n# HELP a y\na 1\n", "a{b=\"1\",b=\"1\"} 1\n", "a 1\r\n",
        "a 1 2 3\n", "a 1\n# TYPE a gauge\n", "a{b=\"1\" 2\n", "a 1 x\n"}) {
    EXPECT_FALSE(check_exposition(wrong, "m").empty()) << wrong;
  }
  EXPECT_TRUE(check_exposition("# a comment\n\na{b=\"}\",c=\"\\\"\"} +Inf 17\n", "m").empty());
}

RC_GTEST_PROP(Exposition, WhateverIsAddedIsValid, ()) {
  Exposition metrics;
  const auto rows =
      *rc::gen::container<std::vector<std::tuple<std::string, std::string, std::string, double>>>(
          rc::gen::arbitrary<std::tuple<std::string, std::string, std::string, double>>());
  for (const auto& [name, help, label, value] : rows) {
    if (label.find('\r') != std::string::npos || help.find('\r') != std::string::npos) continue;
    metrics.add(metric_name(name), Type::kGauge, help, {{"l", label}}, value);
  }
  const Findings findings = check_exposition(metrics.text(), "m");
  RC_LOG(metrics.text());
  RC_ASSERT(findings.empty());
}

class Efa : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.write("/host/sys/class/infiniband" + path, text).ok());
  }
  std::string collected() {
    Exposition metrics;
    collect_efa(health::TreeView(files_, "/host"), metrics);
    const std::string text = metrics.text();
    EXPECT_TRUE(check_exposition(text, "m").empty()) << text;
    return text;
  }
  MemoryFileSystem files_;
};

TEST_F(Efa, CountersOfPortAndDeviceAreTold) {
  put("/rdmap0s6/ports/1/hw_counters/tx_bytes", "123\n");
  put("/rdmap0s6/ports/1/hw_counters/lifespan", "10\n");
  put("/rdmap0s6/ports/1/hw_counters/brand_new", "7\n");
  put("/rdmap0s6/hw_counters/keep_alive_rcvd", "9\n");
  put("/rdmap0s7/ports/1/hw_counters/tx_bytes", "5\n");
  const std::string text = collected();
  for (const char* line : {"node_amazonefa_tx_bytes{device=\"rdmap0s6\",port=\"1\"} 123\n",
                           "node_amazonefa_tx_bytes{device=\"rdmap0s7\",port=\"1\"} 5\n",
                           "node_amazonefa_brand_new{device=\"rdmap0s6\",port=\"1\"} 7\n",
                           "node_amazonefa_keep_alive_rcvd{device=\"rdmap0s6\"} 9\n",
                           "node_amazonefa_info{device=\"rdmap0s6\"} 1\n",
                           "muster_efa_unreadable{device=\"rdmap0s6\"} 0\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_EQ(text.find("lifespan"), std::string::npos);
}

TEST_F(Efa, OneBadFileOrDeviceDoesNotFailTheRest) {
  put("/rdmap0s6/ports/1/hw_counters/tx_bytes", "banana\n");
  put("/rdmap0s6/ports/1/hw_counters/rx_bytes", "4\n");
  put("/rdmap0s7/node_type", "no ports\n");
  const std::string text = collected();
  EXPECT_NE(text.find("node_amazonefa_rx_bytes{device=\"rdmap0s6\",port=\"1\"} 4\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("node_amazonefa_tx_bytes"), std::string::npos) << text;
  for (const char* device : {"rdmap0s6", "rdmap0s7"}) {
    EXPECT_NE(text.find(fmt::format("muster_efa_unreadable{{device=\"{}\"}} 1\n", device)),
              std::string::npos)
        << text;
  }
}

TEST_F(Efa, AHostWithoutTheClassHasNoSeries) {
  EXPECT_EQ(collected(), "");
}

TEST(HealthMetrics, ASeriesClearsWhenTheFaultDoes) {
  health::CheckResult bad("gpu"), good("gpu");
  bad.add(health::Health::kReset, "r", "", "x");
  bad.add(health::Health::kFlag, "r", "", "y");
  good.add(health::Health::kOk, "r", "", "z");
  Exposition first, second;
  collect_health({bad}, 1.5, first);
  collect_health({good}, 2.5, second);
  const std::string line = "muster_health{check=\"gpu\",outcome=\"reset\"} ";
  EXPECT_NE(first.text().find(line + "1\n"), std::string::npos);
  EXPECT_NE(second.text().find(line + "0\n"), std::string::npos);
  EXPECT_NE(first.text().find("muster_health_findings{check=\"gpu\",outcome=\"flag\"} 1\n"),
            std::string::npos);
  EXPECT_NE(second.text().find("muster_health_timestamp_seconds{check=\"gpu\"} 2.5\n"),
            std::string::npos);
  EXPECT_TRUE(check_exposition(first.text(), "m").empty());
}

}  // namespace
}  // namespace muster::metrics
