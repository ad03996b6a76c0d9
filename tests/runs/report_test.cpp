#include "runs/report.h"

#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "runs/fixture.h"
#include "runs/report_fixture.h"
#include "runs/report_series.h"
#include "runs/run_view.h"
#include "testing.h"

namespace muster::runs {
namespace {

using testing::good_run;
using testing::sample_run;

TEST(EscapeHtml, LeavesNoMarkup) {
  EXPECT_EQ(escape_html("<a href=\"x\" o='y'>&amp;</a>"),
            "&lt;a href=&quot;x&quot; o=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;");
}

TEST(Series, HasTheCurvesAndFiguresOfARun) {
  const Series curves = series(good_run());
  std::vector<std::string> titles;
  for (const Chart& chart : curves.charts) {
    titles.push_back(chart.title);
    for (const Chart::Line& line : chart.lines) {
      EXPECT_EQ(line.values.size(), chart.steps.size()) << chart.title;
    }
  }
  EXPECT_EQ(titles, (std::vector<std::string>{"Loss", "Throughput", "Learning rate",
                                              "Gradient norm", "Waiting in collectives"}));
  EXPECT_EQ(curves.steps, 40);
  EXPECT_EQ(curves.eval_loss, 4.1);
  EXPECT_NEAR(*curves.tokens_per_second, 2048, 50);
  ASSERT_EQ(curves.ranks.size(), 2U);
  EXPECT_NEAR(*curves.ranks[1].own_seconds, 0.45, 0.02);
  EXPECT_EQ(curves.ranks[1].host, "node-b");
}

TEST(Series, OfNothingIsEmpty) {
  EXPECT_TRUE(series({}).charts.empty());
  EXPECT_TRUE(series({{0, "f", {}, {}}}).charts.empty());
}

TEST(Series, ALongRunIsThinned) {
  const Series curves = series(good_run({.steps = 5321}));
  for (const Chart& chart : curves.charts) {
    EXPECT_LE(chart.steps.size(), 1000U);
    EXPECT_EQ(chart.steps.back(), 5321);
    for (const Chart::Line& line : chart.lines) {
      EXPECT_EQ(line.values.size(), chart.steps.size());
    }
  }
}

TEST(Overlay, IsOverTheUnionOfSteps) {
  const Chart a{"Loss", "", {1, 2}, {{"l", {5.0, 4.0}, false}}};
  const Chart b{"Loss", "", {2, 3}, {{"l", {3.0, 2.0}, false}}};
  const Chart both = overlay("Loss", "", {{"a", &a}, {"b", &b}});
  EXPECT_EQ(both.steps, (std::vector<long long>{1, 2, 3}));
  ASSERT_EQ(both.lines.size(), 2U);
  EXPECT_EQ(both.lines[0].values, (std::vector<std::optional<double>>{5.0, 4.0, std::nullopt}));
  EXPECT_EQ(both.lines[1].values, (std::vector<std::optional<double>>{std::nullopt, 3.0, 2.0}));
}

TEST(Report, SaysTheVerdictFirstAndTheWorstCheckBeforeOthers) {
  const std::string page = render_report({sample_run()});
  const auto at = [&page](const std::string& text) { return page.find(text); };
  ASSERT_NE(at("class=\"verdict fail\""), std::string::npos);
  EXPECT_LT(at("class=\"verdict fail\""), at("<h3>Checks</h3>"));
  EXPECT_LT(at("<strong>stragglers</strong>"), at("<strong>completed</strong>"));
  EXPECT_LT(at("<h3>Checks</h3>"), at("<h3>Figures</h3>"));
  EXPECT_NE(at("<meta name=\"viewport\""), std::string::npos);
  EXPECT_NE(at("<title>fail: "), std::string::npos);
}

TEST(Report, IsTheSameForTheSameRun) {
  EXPECT_EQ(render_report({sample_run()}), render_report({sample_run()}));
}

TEST(Report, AsksForNothingFromOutside) {
  const std::string page = render_report({sample_run(), sample_run()});
  const std::regex request(
      R"((src|href|action|poster|data)\s*=\s*["']?(https?:)?//|url\s*\(|@import|<link|<iframe|<img)");
  std::smatch match;
  EXPECT_FALSE(std::regex_search(page, match, request)) << match.str();
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

// The same hostile text in every place that a run's text reaches; it must come out as text
// everywhere.
TEST(Report, ForeignTextStaysText) {
  const std::string evil = "</script><script>alert('x')</script>\"'&--><!--<b onload=y>";
  ReportRun run = sample_run();
  run.record.id = run.record.case_name = run.record.target = run.record.profile = run.record.note =
      evil;
  run.verdict.add(evil, Outcome::kFail, evil);
  run.manifest = evil;
  run.versions[evil] = evil;
  run.topology["nodes"] = {{{"host", evil}}};
  run.environment[evil] = evil;
  run.files.push_back({evil, evil});
  for (RankEvents& rank : run.ranks) {
    testing::event(rank, "start")["host"] = evil;
    testing::event(rank, "start")["transport"] = evil;
  }
  for (const std::string& page : {render_report({run}), render_report({run, sample_run()})}) {
    EXPECT_EQ(page.find("<script>alert"), std::string::npos);
    EXPECT_EQ(page.find("<b onload"), std::string::npos);
    EXPECT_EQ(page.find("<!--"), std::string::npos);
    EXPECT_NE(page.find("&lt;b onload=y&gt;"), std::string::npos);
  }
}

TEST(Report, ARunThatHasLeftNothingSaysSo) {
  ReportRun run;
  run.record.id = "x";
  const std::string page = render_report({run});
  EXPECT_NE(page.find("Not judged yet"), std::string::npos);
  EXPECT_NE(page.find("class=\"verdict unknown\""), std::string::npos);
  EXPECT_NE(page.find("No step was recorded"), std::string::npos);
  EXPECT_NE(render_report({}).find("<title>unknown"), std::string::npos);
}

TEST(LoadReport, ReadsWhatFinishWrote) {
  muster::testing::TemporaryDirectory directory;
  const ReportRun made = testing::write_sample_run(directory.path());
  const auto read = load_report_run(made.record);
  ASSERT_TRUE(read.ok()) << to_string(read.findings().front());
  EXPECT_EQ(read->verdict.outcome(), Outcome::kFail);
  EXPECT_EQ(read->verdict.checks().size(), made.verdict.checks().size());
  EXPECT_EQ(read->ranks.size(), made.ranks.size());
  EXPECT_GT(read->files.size(), 5U);
}

// Each file of the directory that is read, spoilt: the failure names it.
TEST(LoadReport, NamesTheFileThatCantBeRead) {
  for (const char* file :
       {"verdict.json", "versions.json", "topology.json", "environment.json", "checksums.sha256"}) {
    muster::testing::TemporaryDirectory directory;
    const ReportRun made = testing::write_sample_run(directory.path());
    for (const char* rubbish : {"{", "[1]", "\xff\xfe"}) {
      std::ofstream(directory.path() / file, std::ios::trunc) << rubbish;
      const auto read = load_report_run(made.record);
      ASSERT_FALSE(read.ok()) << file << " " << rubbish;
      EXPECT_EQ(read.findings()[0].where.file, (directory.path() / file).string());
    }
  }
}

TEST(RunDetails, HoldFiguresAndWhatWasChangedSince) {
  muster::testing::TemporaryDirectory directory;
  const ReportRun made = testing::write_sample_run(directory.path());
  auto details = run_details(made.record);
  ASSERT_TRUE(details.ok());
  EXPECT_EQ(details->data["name"], made.record.id);
  EXPECT_EQ(details->data["verdict"]["outcome"], "fail");
  EXPECT_EQ(details->data["figures"]["steps"], 40);
  EXPECT_TRUE(details->data["files"]["findings"].empty());
  EXPECT_NE(details->text.find("all as they were"), std::string::npos);
  std::ofstream(directory.path() / "manifest.yaml") << "another";
  details = run_details(made.record);
  ASSERT_EQ(details->data["files"]["findings"].size(), 1U);
  EXPECT_EQ(details->data["files"]["findings"][0]["rule"], "run-file-changed");
}

}  // namespace
}  // namespace muster::runs
