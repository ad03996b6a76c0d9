#include "runs/trace.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "runs/profile_fixture.h"

namespace muster::runs {
namespace {

using namespace testing;  // NOLINT: the fixture of these tests
using Kind = TraceSpan::Kind;

TEST(Trace, IsReadBackAsItWasWritten) {
  RankTrace trace = one_step(1, 2, 5'000'123, 1'000, 3'000, 4'000'001);
  trace.clock_offset = -77;
  trace.clock_uncertainty = 12;
  trace.spans.push_back(span(Kind::kOperation, "all_gather", 2'000, 6'000'000, 2));
  trace.spans.push_back(span(Kind::kPhase, "forward", 500, 2'500));
  sort_spans(trace.spans);
  const auto read = parse_trace(trace_text(trace), "t.json");
  ASSERT_TRUE(read) << to_string(read.findings().front());
  EXPECT_EQ(read->spans, trace.spans);
  EXPECT_EQ(read->rank, 1);
  EXPECT_EQ(read->world, 2);
  EXPECT_EQ(read->host, "node-1");
  EXPECT_EQ(read->clock_offset, -77);
}

TEST(Trace, OperationsUnderWayTogetherHaveTracksOfTheirOwn) {
  RankTrace trace;
  trace.spans = {span(Kind::kOperation, "a", 0, 10, 1), span(Kind::kOperation, "b", 5, 15, 2),
                 span(Kind::kOperation, "c", 10, 20, 3)};
  const auto document = nlohmann::json::parse(trace_text(trace));
  std::vector<int> tracks;
  for (const auto& event : document.at("traceEvents")) {
    if (event.at("ph") == "X") tracks.push_back(event.at("tid").get<int>());
  }
  EXPECT_EQ(tracks, (std::vector<int>{10, 11, 10}));
}

std::string with_event(const std::string& event) {
  return R"({"otherData":{"tool":"muster-train","schema_version":1,"rank":0,"world":1},"traceEvents":[)"
         R"({"ph":"X","pid":0,"tid":1,"cat":"step","name":"step 1","ts":0,"dur":10,"args":{"step":1}},)" +
         event + "]}";
}

std::string problem_of(const std::string& text) {
  const auto read = parse_trace(text, "t.json");
  return read ? std::string() : read.findings().front().message;
}

TEST(Trace, WhatCantBeIsRefused) {
  EXPECT_EQ(problem_of(with_event(
                R"({"ph":"X","pid":0,"tid":1,"cat":"phase","name":"f","ts":1,"dur":-2})")),
            "event 1: its duration is -2000 ns");
  EXPECT_EQ(problem_of(with_event(
                R"({"ph":"X","pid":0,"tid":1,"cat":"phase","name":"f","ts":8,"dur":4})")),
            "on track 1 \"f\" ends after \"step 1\", in which it began");
  EXPECT_EQ(problem_of(with_event(
                R"({"ph":"X","pid":0,"tid":1,"cat":"step","name":"step 2","ts":8,"dur":1})")),
            "\"step 2\" begins within \"step 1\"");
  EXPECT_EQ(problem_of(with_event(R"({"ph":"B","pid":0,"tid":1,"name":"f","ts":8})")),
            "event 1: its phase \"B\" is neither X nor M");
  EXPECT_EQ(problem_of(with_event(
                R"({"ph":"X","pid":0,"tid":1,"cat":"phase","name":"f","ts":1e300,"dur":1})")),
            "event 1: it has no time, or none that can be");
  EXPECT_EQ(problem_of("{\"traceEvents\":[]}"), "this is no trace of muster-train");
}

TEST(Trace, CutShortItIsNoTrace) {
  const std::string whole = trace_text(one_step(0, 1, 100, 10, 20, 30));
  for (std::size_t size = 0; size + 2 < whole.size(); ++size)
    EXPECT_FALSE(parse_trace(whole.substr(0, size), "t.json")) << size;
}

RC_GTEST_PROP(Trace, AnyNestedSpansComeBack, ()) {
  RankTrace trace;
  std::int64_t at = *rc::gen::inRange<std::int64_t>(-5'000, 5'000);
  for (int step = *rc::gen::inRange(0, 5); step > 0; --step) {
    const auto length = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    trace.spans.push_back(span(Kind::kStep, "step", at, at + length));
    trace.spans.push_back(span(Kind::kOperation, "o", at, at + 2 * length, 1));
    trace.spans.push_back(span(Kind::kWait, "w", at + length / 3, at + length / 2, 1));
    at += length + *rc::gen::inRange<std::int64_t>(0, 1000);
  }
  sort_spans(trace.spans);
  const auto read = parse_trace(trace_text(trace), "t.json");
  RC_ASSERT(static_cast<bool>(read));
  RC_ASSERT(read->spans == trace.spans);
}

}  // namespace
}  // namespace muster::runs
