// Findings, verdicts, results, clocks, progress, hashes.
#include <gtest/gtest.h>

#include <sstream>

#include "base/clock.h"
#include "base/finding.h"
#include "base/hash.h"
#include "base/progress.h"
#include "base/result.h"
#include "base/verdict.h"
#include "testing.h"

namespace muster {
namespace {

TEST(FindingTest, TextStartsWithThePlace) {
  EXPECT_EQ(to_string(error_at({"a.yaml", 3, 7}, "rule", "wrong", "right")),
            "a.yaml:3:7: error: wrong; right [rule]");
  EXPECT_EQ(to_string(warning_at({"a.yaml", 0, 0}, "rule", "odd")), "a.yaml: warning: odd [rule]");
  EXPECT_EQ(to_string(error_at({}, "", "no place")), "error: no place");
  EXPECT_EQ(to_string(Position{"", 3, 0}), "3");
}

TEST(FindingTest, WarningsAreNoErrors) {
  EXPECT_FALSE(has_errors({warning_at({}, "r", "m")}));
  EXPECT_TRUE(has_errors({warning_at({}, "r", "m"), error_at({}, "r", "m")}));
}

TEST(VerdictTest, NothingCheckedIsNoPass) {
  Verdict verdict;
  EXPECT_EQ(verdict.outcome(), Outcome::kUnknown);
  EXPECT_EQ(exit_code(verdict.outcome()), 4);
}

TEST(VerdictTest, ALaterMilderCheckHidesNothing) {
  Verdict verdict;
  verdict.add("a", Outcome::kPass, "1");
  EXPECT_EQ(verdict.outcome(), Outcome::kPass);
  verdict.add("b", Outcome::kFail, "2");
  verdict.add("c", Outcome::kUnknown, "3");
  verdict.add("d", Outcome::kFail, "4");
  EXPECT_EQ(verdict.outcome(), Outcome::kFail);
  std::string order;
  for (const Check& check : verdict.worst_first()) order += check.name;
  EXPECT_EQ(order, "bdca");
}

TEST(ResultTest, HoldsAValueOrFindings) {
  const Result<int> good = 5;
  EXPECT_TRUE(good);
  EXPECT_EQ(*good, 5);
  EXPECT_TRUE(good.findings().empty());
  const Result<int> bad = failure("rule", "message");
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error().findings[0].message, "message");
}

TEST(ClockTest, WritesRfc3339) {
  using namespace std::chrono;
  EXPECT_EQ(to_rfc3339(system_clock::time_point(milliseconds(0))), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(system_clock::time_point(milliseconds(1796032080123))),
            "2026-11-30T09:48:00.123Z");
  EXPECT_EQ(to_rfc3339(system_clock::time_point(milliseconds(951782399999))),
            "2000-02-28T23:59:59.999Z");
}

TEST(ClockTest, ManualTimeMovesWhenSomebodySleeps) {
  ManualClock clock;
  const auto before = clock.steady();
  clock.sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(clock.steady() - before, std::chrono::milliseconds(1500));
}

TEST(ProgressTest, DrawsOneLineAndTakesItAway) {
  std::ostringstream err;
  ManualClock clock;
  {
    Progress progress(err, clock, true);
    progress.update("step", 0.5, "loss 2.0");
    progress.update("step", 0.6, "too soon");
    clock.advance(std::chrono::milliseconds(200));
    progress.update("step", 7.0, "a\x1b[2Jb");
  }
  EXPECT_EQ(err.str(),
            "\r\x1b[Kstep [############............]  50 %  loss 2.0"
            "\r\x1b[Kstep [########################] 100 %  a\\x1b[2Jb"
            "\r\x1b[K");
}

TEST(ProgressTest, SaysNothingWhereNobodyWatches) {
  std::ostringstream err;
  ManualClock clock;
  {
    Progress progress(err, clock, false);
    progress.update("step", 0.5);
    progress.clear();
  }
  EXPECT_EQ(err.str(), "");
}

TEST(HashTest, KnowsThePublishedValues) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(HashTest, OfFiles) {
  const testing::TemporaryDirectory directory;
  EXPECT_FALSE(sha256_of_file(directory.path() / "nothing"));
  EXPECT_FALSE(sha256_of_file(directory.path()));
}

}  // namespace
}  // namespace muster
