#include "runs/log_patterns.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing.h"

namespace muster::runs {
namespace {

std::vector<facts::LogPattern> rows() {
  auto read = facts::load_log_patterns(real_file_system(), muster::testing::source_dir());
  if (!read) throw std::runtime_error(to_string(read.findings().front()));
  return *read;
}

TEST(LogPatterns, EveryExampleIsReadAsItSays) {
  for (const facts::LogPattern& row : rows()) {
    const auto patterns = LogPatterns::make(rows(), row.framework, row.library);
    ASSERT_TRUE(patterns.ok());
    for (const facts::LogExample& example : row.examples) {
      LogFields fields;
      std::size_t end = 0;
      const auto* found = patterns->match(plain_line(example.line).text, 0, fields, end);
      ASSERT_NE(found, nullptr) << row.name << ": " << example.line;
      EXPECT_EQ(found->row.name, row.name) << example.line;
      EXPECT_EQ(fields, example.fields) << row.name;
      for (const auto& [name, value] : fields) {
        if (name == "path" || name == "transport") continue;
        EXPECT_TRUE(log_number(value).has_value()) << name << " " << value;
      }
    }
  }
}

TEST(LogPatterns, ALineOfOneLibraryIsReadUnderAnyOther) {
  const auto patterns = LogPatterns::make(rows(), "jax", "jax");
  LogFields fields;
  std::size_t end = 0;
  const auto* found =
      patterns->match("step:  3  loss: 2.5  memory: 1GiB  tps: 10  mfu: 1.0%", 0, fields, end);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->row.name, "torchtitan");
}

TEST(PlainLine, TakesAwayWhatLaunchersPutAround) {
  const std::pair<const char*, const char*> cases[] = {
      {"3: loss 1", "loss 1"},
      {" 13: loss 1", "loss 1"},
      {"[default0]:loss 1", "loss 1"},
      {"[rank12]:loss 1", "loss 1"},
      {"3: [default0]:loss 1", "loss 1"},
      {"[pod/fsdp-worker-0/pytorch] loss 1", "loss 1"},
      {"\x1b[31mloss\x1b[0m 1", "loss 1"},
      {"\x1b]0;title\aloss 1", "loss 1"},
      {"[RANK 1] Epoch", "[RANK 1] Epoch"},
      {"[2026-07-01 10:00:00] x", "[2026-07-01 10:00:00] x"},
      {"10:00:00 x", "10:00:00 x"},
      {"3:x", "3:x"},
      {"\x1b", ""},
      {"\x1b[", ""},
      {"[1,", "[1,"},
  };
  for (const auto& [line, text] : cases) EXPECT_EQ(plain_line(line).text, text) << line;
  const auto newer = plain_line("[node1:4211,3]<stdout>:loss 1");
  EXPECT_EQ(newer.text, "loss 1");
  EXPECT_EQ(newer.rank, 3);
  EXPECT_EQ(newer.source, "node1:4211,3");
  EXPECT_EQ(plain_line("[1,5]<stderr>:loss 1").source, plain_line("[1,5]<stdout>:loss 1").source);
  EXPECT_EQ(plain_line(" 12: loss 1").source, "12");
  EXPECT_EQ(plain_line("[pod/w-0/train] loss 1").source, "pod/w-0/train");
  EXPECT_TRUE(plain_line("loss 1").source.empty());
  EXPECT_EQ(plain_line("[a b:1,2]<stdout>:x").text, "[a b:1,2]<stdout>:x");
  const auto mpi = plain_line("[1,5]<stdout>:loss 1");
  EXPECT_EQ(mpi.text, "loss 1");
  EXPECT_EQ(mpi.rank, 5);
  EXPECT_FALSE(plain_line("3: loss 1").rank.has_value());
}

TEST(LogNumber, ReadsWhatLogsWrite) {
  EXPECT_EQ(log_number("22,938"), 22938);
  EXPECT_EQ(log_number("2.05K"), 2050);
  EXPECT_EQ(log_number("1.5M"), 1.5e6);
  EXPECT_EQ(log_number("1B"), 1e9);
  EXPECT_EQ(log_number("1.083E+01"), 10.83);
  EXPECT_EQ(log_number("-3"), -3);
  EXPECT_TRUE(std::isnan(*log_number("NaN")));
  EXPECT_EQ(log_number("-inf"), -INFINITY);
  EXPECT_EQ(log_number("1e999"), INFINITY);
  EXPECT_EQ(log_number("1e-999"), 0);
  for (const char* none : {"", "-", ".", "x", "1x", "1.2.3"})
    EXPECT_FALSE(log_number(none)) << none;
}

RC_GTEST_PROP(LogNumber, ReadsBackWhatPrintfWrites, ()) {
  const double value = *rc::gen::arbitrary<double>();
  RC_PRE(std::isfinite(value));
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  const auto read = log_number(text);
  RC_ASSERT(read.has_value());
  // A number too small for a normal double may come back as none.
  RC_ASSERT(*read == value || std::fabs(value) < 3e-308);
}

RC_GTEST_PROP(PlainLine, NeverFailsAndNeverGrows, (std::string line)) {
  RC_ASSERT(plain_line(line).text.size() <= line.size());
}

}  // namespace
}  // namespace muster::runs
