// Queries: what the parser takes and refuses, and what the checks find in queries that Prometheus
// itself would take.
#include "metrics/query.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::metrics {
namespace {

const Position kHere = {"q", 3, 10};

facts::Exporters exporters() {
  facts::Exporters exporters;
  exporters.target_labels = {"cluster", "instance", "instance_type", "job"};
  facts::Exporter node;
  node.name = "node";
  node.metrics = {{"cpu_total", "counter", {"mode"}}, {"load", "gauge", {}}};
  facts::Exporter serving;
  serving.name = "serving";
  serving.labels = {"model"};
  serving.metrics = {{"wait_seconds", "histogram", {}}};
  facts::Exporter own;
  own.name = "prometheus";
  own.metrics = {{"up", "gauge", {}}};
  exporters.exporters = {node, serving, own};
  return exporters;
}

KnownMetrics known() {
  KnownMetrics known(exporters());
  known.add_record("m:gpus", {"instance_type"});
  return known;
}

/// The rule and column of the first finding; empty: none.
std::string found(const std::string& query) {
  const CheckedQuery checked = check_query(query, kHere, known());
  if (checked.findings.empty()) return {};
  const Finding& first = checked.findings.front();
  EXPECT_EQ(first.where.line, 3);
  return first.rule + " " + std::to_string(first.where.column - kHere.column);
}

TEST(Promql, ReadsTheLanguage) {
  for (const char* query : {"1",
                            "-1",
                            ".5e-3",
                            "Inf",
                            "load",
                            "load{instance=\"a\"}",
                            "load{instance=~'a|b',job!=\"x\",}",
                            "rate(cpu_total[5m])",
                            "rate(cpu_total{mode=\"idle\"}[$__rate_interval] offset 1h)",
                            "sum by (mode) (rate(cpu_total[1m]))",
                            "sum(rate(cpu_total[1m])) by (mode)",
                            "topk(3, load)",
                            "count(up == 0) or vector(0)",
                            "max_over_time(load[1h:5m])",
                            "max_over_time(rate(cpu_total[1m])[1h:])",
                            "2 ^ 3 ^ 2",
                            "-load ^ 2",
                            "load > bool 1",
                            "(load)",
                            "load @ 1600000000",
                            "histogram_quantile(0.9, sum by (le) (rate(wait_seconds_bucket[5m])))",
                            "up * on(instance_type) group_left() m:gpus",
                            "absent(up{job=\"x\"})",
                            "time() - load",
                            "label_replace(load, \"a\", \"$1\", \"instance\", \"(.*)\") unless "
                            "on(a) label_replace(load, \"a\", \"b\", \"\", \"\")"}) {
    EXPECT_EQ(found(query), "") << query;
  }
}

TEST(Promql, RefusesWhatIsNone) {
  for (const char* query :
       {"", "(", "load{", "load{a}", "load{a=b}", "load{a=\"b}", "load >> 1", "load +",
        "rate(cpu_total[5m]", "rate(cpu_total[])", "rate(cpu_total[x])", "{}", "sum by mode (load)",
        "rato(load)", "load load", "and load", "[5m]", "load[5m][5m]"}) {
    EXPECT_EQ(found(query).substr(0, 13), "promql-syntax") << query;
  }
}

TEST(Promql, StandsAPlaceInItsLine) {
  EXPECT_EQ(found("load + lod"), "query-metric 7");
  EXPECT_EQ(found("load{instanc=\"a\"}"), "query-label 5");
  EXPECT_EQ(found("1 + rato(load)"), "promql-syntax 4");
}

TEST(Promql, PowerBindsToTheRightAndSetsLoosest) {
  const auto power = parse_promql("2 ^ 3 ^ 4", kHere);
  ASSERT_TRUE(power.ok());
  EXPECT_EQ(power->operands[0].name, "2");
  EXPECT_EQ(power->operands[1].name, "^");
  const auto sets = parse_promql("a or b and c == 1 + 2 * 3", kHere);
  ASSERT_TRUE(sets.ok());
  EXPECT_EQ(sets->name, "or");
  EXPECT_EQ(sets->operands[1].name, "and");
  EXPECT_EQ(sets->operands[1].operands[1].name, "==");
}

TEST(Promql, DeepNestingIsRefusedNotFollowed) {
  EXPECT_FALSE(parse_promql(std::string(100000, '('), kHere).ok());
  EXPECT_FALSE(parse_promql(std::string(100000, '-'), kHere).ok());
}

RC_GTEST_PROP(Promql, AnyTextIsReadOrRefusedAtAPlaceWithinIt, (const std::string& text)) {
  const auto tree = parse_promql(text, {"q", 1, 1});
  if (tree) return;
  RC_ASSERT(!tree.findings().empty());
  RC_ASSERT(tree.findings()[0].where.column <= static_cast<int>(text.size()) + 1);
}

TEST(Query, NamesWhatNobodyExports) {
  EXPECT_EQ(found("sum(lod)"), "query-metric 4");
  EXPECT_EQ(found("{job=\"x\"}"), "query-metric 0");
  EXPECT_EQ(found("rate(cpu[5m])"), "query-metric 5");  // the name of another exporter's day
}

TEST(Query, LabelsHaveToBeThere) {
  EXPECT_EQ(found("load{mode=\"idle\"}"), "query-label 5");
  EXPECT_EQ(found("sum by (mode) (load)"), "query-label 8");
  EXPECT_EQ(found("sum without (mode) (load)"), "query-label 13");
  EXPECT_EQ(found("m:gpus{instance=\"a\"}"), "query-label 7");  // a rule's series has no target
  EXPECT_EQ(found("sum by (le, mode) (rate(wait_seconds_bucket[5m]))"), "query-label 12");
  EXPECT_EQ(found("up * on(mode) load"), "query-label 8");
  EXPECT_EQ(found("sum by (instance) (sum by (job) (load))"), "query-label 8");
}

TEST(Query, CountersAreShownAsRates) {
  EXPECT_EQ(found("cpu_total"), "query-counter 0");
  EXPECT_EQ(found("sum(cpu_total)"), "query-counter 4");
  EXPECT_EQ(found("rate(load[5m])"), "query-counter 5");
  EXPECT_EQ(found("absent(cpu_total)"), "");
  EXPECT_EQ(found("count(cpu_total)"), "");
}

// The public alert on GPU health: its right side has labels that the left has not, so that it
// removed nothing and could not fire.
TEST(Query, SidesThatNeverMatchAreFound) {
  EXPECT_EQ(found("load unless rate(cpu_total[5m]) > 0"), "query-matching 5");
  EXPECT_EQ(found("load unless on(instance) rate(cpu_total[5m]) > 0"), "");
  EXPECT_EQ(found("load / sum by (instance) (load)"), "query-matching 5");
  EXPECT_EQ(found("load / ignoring(job) load"), "");
  EXPECT_EQ(found("rate(cpu_total[5m]) / ignoring(mode) load"), "");
  EXPECT_EQ(found("load / up"), "");
}

TEST(Query, TellsWhatItsResultHas) {
  const auto labels = [](const std::string& query) {
    const CheckedQuery checked = check_query(query, kHere, known());
    return std::vector<std::string>(checked.shape.labels.begin(), checked.shape.labels.end());
  };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels("sum by (job, instance) (load)"), (Labels{"instance", "job"}));
  EXPECT_EQ(labels("sum(load)"), Labels{});
  EXPECT_EQ(labels("sum without (job) (load)"), (Labels{"cluster", "instance", "instance_type"}));
  EXPECT_EQ(labels("up / on(instance) load"), (Labels{"instance"}));
  EXPECT_EQ(labels("absent(up{job=\"x\",instance=~\"a\"})"), (Labels{"job"}));
  EXPECT_EQ(
      labels(
          "sum by (job) (up) * on(job) group_left(mode) sum by (job, mode) (rate(cpu_total[5m]))"),
      (Labels{"job", "mode"}));
  EXPECT_EQ(labels("histogram_quantile(0.5, sum by (le, model) (rate(wait_seconds_bucket[5m])))"),
            (Labels{"model"}));
}

TEST(Query, GrafanasVariablesAreNamed) {
  const CheckedQuery checked = check_query(
      "sum(rate(cpu_total{job=~\"$job\",instance=~\"${host:regex}\"}[$__rate_interval]))", kHere,
      known());
  EXPECT_EQ(checked.variables, (std::vector<std::string>{"job", "host"}));
  EXPECT_TRUE(checked.findings.empty());
}

}  // namespace
}  // namespace muster::metrics
