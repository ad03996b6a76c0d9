#include "runs/events.h"

#include <sys/resource.h>
#include <csignal>

#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include "testing.h"

namespace muster::runs {
namespace {

using muster::testing::TemporaryDirectory;
using nlohmann::json;

std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void spill(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

TEST(MetricsFile, HasFiveDigits) {
  EXPECT_EQ(metrics_file("run", 0), "run/metrics/rank-00000.jsonl");
  EXPECT_EQ(metrics_file("run", 12345), "run/metrics/rank-12345.jsonl");
}

TEST(EventWriter, WritesNumberedLinesThatReadBack) {
  TemporaryDirectory directory;
  const auto path = metrics_file(directory.path().string(), 3);
  {
    EventWriter writer(path);
    EXPECT_TRUE(writer.write({{"event", "start"}, {"rank", 3}}));
    EXPECT_TRUE(writer.write({{"event", "step"}, {"loss", 1.5}, {"message", "two\nlines"}}));
  }
  const auto events = parse_events(slurp(path), path);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ((*events)[0]["seq"], 0);
  EXPECT_EQ((*events)[1]["seq"], 1);
  EXPECT_EQ((*events)[1]["message"], "two\nlines");
}

TEST(EventWriter, SaysWhichFiguresAreNotFinite) {
  TemporaryDirectory directory;
  const auto path = (directory.path() / "m.jsonl").string();
  EventWriter(path).write({{"event", "step"},
                           {"loss", std::numeric_limits<double>::quiet_NaN()},
                           {"grad_norm", std::numeric_limits<double>::infinity()},
                           {"lr", 0.1},
                           {"parts", {1.0, -std::numeric_limits<double>::infinity()}}});
  const auto events = parse_events(slurp(path), path);
  ASSERT_TRUE(events.ok());
  const json& event = events->at(0);
  EXPECT_TRUE(event["loss"].is_null());
  EXPECT_TRUE(event["grad_norm"].is_null());
  EXPECT_EQ(event["lr"], 0.1);
  const json expected = {"grad_norm", "loss", "parts.1"};
  EXPECT_EQ(event["nonfinite"], expected);
}

TEST(EventWriter, TextThatIsNotUtf8StillMakesALine) {
  TemporaryDirectory directory;
  const auto path = (directory.path() / "m.jsonl").string();
  EXPECT_TRUE(EventWriter(path).write({{"event", "error"}, {"message", "bad \xff byte"}}));
  EXPECT_TRUE(parse_events(slurp(path), path).ok());
}

TEST(EventWriter, AnEmptyPathWritesNowhere) {
  EventWriter writer("");
  EXPECT_TRUE(writer.write({{"event", "start"}}));
}

TEST(EventWriter, AFolderThatCantBeMadeIsReported) {
  TemporaryDirectory directory;
  spill(directory.path() / "file", "");
  EventWriter writer((directory.path() / "file" / "m.jsonl").string());
  EXPECT_FALSE(writer.write({{"event", "start"}}));
}

// Cut a file of three lines at every byte, take it up again, write one more: only whole lines are
// left, numbered on.
TEST(EventWriter, TakesUpAFileTornAtAnyByte) {
  TemporaryDirectory directory;
  const auto path = directory.path() / "m.jsonl";
  {
    EventWriter writer(path.string());
    for (int i = 0; i < 3; ++i) {
      writer.write({{"event", "step"}, {"step", i}});
    }
  }
  const std::string whole = slurp(path);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    spill(path, whole.substr(0, size));
    EXPECT_TRUE(EventWriter(path.string()).write({{"event", "start"}}));
    const auto events = parse_events(slurp(path), path.string());
    ASSERT_TRUE(events.ok()) << "cut at " << size << ": " << to_string(events.findings().front());
    EXPECT_EQ(events->back()["event"], "start");
    EXPECT_EQ(events->back()["seq"], events->size() - 1);
  }
}

TEST(EventWriter, ALineThatTheDiskHasNoRoomForLeavesNothing) {
  TemporaryDirectory directory;
  const auto path = directory.path() / "m.jsonl";
  EventWriter writer(path.string());
  ASSERT_TRUE(writer.write({{"event", "start"}}));
  const std::string before = slurp(path);

  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{before.size() + 10, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const bool written = writer.write({{"event", "step"}, {"message", "longer than ten bytes"}});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);

  EXPECT_FALSE(written);
  EXPECT_EQ(slurp(path), before);
  EXPECT_TRUE(writer.write({{"event", "end"}}));
  EXPECT_TRUE(parse_events(slurp(path), path.string()).ok());
}

TEST(ParseEvents, ATornLastLineIsLeftOut) {
  const auto events = parse_events("{\"event\":\"start\"}\n{\"event\":\"st", "m");
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->size(), 1U);
}

TEST(ParseEvents, ALastLineWithoutItsNewlineCountsWhenItIsWhole) {
  const auto events = parse_events("{\"event\":\"start\"}\n{\"event\":\"end\"}", "m");
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->size(), 2U);
}

TEST(ParseEvents, NamesTheLineThatIsBad) {
  for (const std::string bad :
       {"garbage", "[]", "{}", "{\"event\": 3}", "", "{\"event\":\"a\"}{}"}) {
    const auto events =
        parse_events("{\"event\":\"start\"}\n" + bad + "\n{\"event\":\"end\"}\n", "m.jsonl");
    ASSERT_FALSE(events.ok()) << bad;
    ASSERT_EQ(events.findings().size(), 1U) << bad;
    EXPECT_EQ(events.findings()[0].where, (Position{"m.jsonl", 2, 1})) << bad;
  }
}

TEST(ParseEvents, NoticesALostLine) {
  const auto lines =
      read_event_lines("{\"event\":\"a\",\"seq\":0}\n{\"event\":\"c\",\"seq\":2}\n", "m");
  ASSERT_EQ(lines.findings.size(), 1U);
  EXPECT_EQ(lines.findings[0].rule, "events-sequence");
  EXPECT_EQ(lines.findings[0].where.line, 2);
  EXPECT_EQ(lines.events.size(), 1U);
}

TEST(ParseEvents, LinesWithoutNumbersAreRead) {
  EXPECT_TRUE(parse_events("{\"event\":\"a\"}\n{\"event\":\"c\"}\n", "m").ok());
}

RC_GTEST_PROP(ParseEvents, AnyBytesAreReadWithoutACrash, (const std::string& text)) {
  const auto lines = read_event_lines(text, "m");
  const auto newlines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  RC_ASSERT(lines.events.size() + lines.findings.size() <= newlines + 1);
  RC_ASSERT(lines.events.size() + lines.findings.size() >= newlines);
}

}  // namespace
}  // namespace muster::runs
