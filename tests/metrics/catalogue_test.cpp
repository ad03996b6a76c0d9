// The table of metrics: every row can stand in an exposition, and what collectors write is in it.
#include "metrics/catalogue.h"

#include <set>

#include <gtest/gtest.h>

namespace muster::metrics {
namespace {

TEST(Catalogue, EveryRowCanStandInAnExposition) {
  std::set<std::string> names;
  for (const MetricRow& row : catalogue()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_STRNE(row.help, "") << row.name;
    const std::string name = row.name;
    if (name.back() != '*') {
      EXPECT_EQ(metric_name(name), name);
    }
    Exposition metrics;
    Labels labels;
    for (const std::string& label : label_names(row)) {
      EXPECT_EQ(metric_name(label), label) << row.name;
      labels.emplace_back(label, "x");
    }
    metrics.add(metric_name(name), row.type, row.help, labels, 1);
    EXPECT_TRUE(check_exposition(metrics.text(), "m").empty()) << metrics.text();
  }
  EXPECT_GT(names.size(), 150U);
}

TEST(Catalogue, ANameIsFoundByItselfBeforeAPattern) {
  EXPECT_STREQ(find_metric("node_amazonefa_tx_bytes")->unit, "bytes");
  EXPECT_STREQ(find_metric("node_amazonefa_brand_new")->name, "node_amazonefa_*");
  EXPECT_EQ(find_metric("node_load1"), nullptr);
  EXPECT_THROW(metric_row("node_load1"), std::logic_error);
}

TEST(Catalogue, LabelsAreNamedInOrder) {
  EXPECT_EQ(label_names({"a", Type::kGauge, "", "one,[two],three", "c", "h"}),
            (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_TRUE(label_names({"a", Type::kGauge, "", "", "c", "h"}).empty());
}

}  // namespace
}  // namespace muster::metrics
