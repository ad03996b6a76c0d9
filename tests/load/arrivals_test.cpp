#include "load/arrivals.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "findings_text.h"

using namespace muster::load;

TEST(Arrivals, ConstantOnesAreEvenlySpaced) {
  const auto arrivals = draw_arrivals(Process::kConstant, 10, 10, 1, 1);
  ASSERT_TRUE(arrivals.ok());
  ASSERT_EQ(arrivals->size(), 9U);  // the tenth would come at the end, when nothing begins any more
  EXPECT_EQ((*arrivals)[0].at, 100'000'000);
  EXPECT_EQ((*arrivals)[8].at, 900'000'000);
}

TEST(Arrivals, ARampReachesItsCountWhereItsAreaDoes) {
  // From 0 to 20 a second over 10 s: 100 in all, the 25th where t² = 25.
  const auto arrivals = draw_arrivals(Process::kConstant, 0, 20, 10, 1);
  ASSERT_TRUE(arrivals.ok());
  ASSERT_GE(arrivals->size(), 99U);
  EXPECT_NEAR(static_cast<double>((*arrivals)[24].at) / 1e9, 5.0, 1e-6);
}

TEST(Arrivals, PoissonHasTheMeanAndTheSpreadOfItsName) {
  const auto arrivals = draw_arrivals(Process::kPoisson, 100, 100, 200, 7);
  ASSERT_TRUE(arrivals.ok());
  // 20,000 expected, deviation 141; gaps of an exponential have a deviation equal to their mean.
  EXPECT_NEAR(static_cast<double>(arrivals->size()), 20000, 600);
  double sum = 0, squares = 0;
  for (std::size_t i = 1; i < arrivals->size(); ++i) {
    const double gap = static_cast<double>((*arrivals)[i].at - (*arrivals)[i - 1].at) / 1e9;
    sum += gap;
    squares += gap * gap;
  }
  const double count = static_cast<double>(arrivals->size() - 1);
  const double mean = sum / count;
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean) / mean, 1, 0.03);
}

RC_GTEST_PROP(Arrivals, AreOrderedInTimeAndTheSameForASeed, ()) {
  const double from = *rc::gen::inRange(0, 50), to = *rc::gen::inRange(1, 50);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto process = *rc::gen::element(Process::kPoisson, Process::kConstant);
  const auto first = draw_arrivals(process, from, to, 5, seed);
  const auto second = draw_arrivals(process, from, to, 5, seed);
  RC_ASSERT(first.ok() && second.ok());
  RC_ASSERT(first->size() == second->size());
  for (std::size_t i = 0; i < first->size(); ++i) {
    RC_ASSERT((*first)[i].at == (*second)[i].at);
    RC_ASSERT((*first)[i].at >= (i == 0 ? 0 : (*first)[i - 1].at));
    RC_ASSERT((*first)[i].at < 5'000'000'000);
  }
}

TEST(Arrivals, RefusesWhatHasNoEnd) {
  EXPECT_FALSE(draw_arrivals(Process::kPoisson, 0, 0, 10, 1).ok());
  EXPECT_FALSE(draw_arrivals(Process::kPoisson, 1e6, 1e6, 86400, 1).ok());
}

TEST(Arrivals, ReadsTracesOfBothForms) {
  const auto mooncake = parse_trace(
      "{\"timestamp\": 3000, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0]}\n\n"
      "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 0}\n",
      "trace.jsonl", 2);
  ASSERT_TRUE(mooncake.ok());
  ASSERT_EQ(mooncake->size(), 2U);
  EXPECT_EQ((*mooncake)[0].at, 0);
  EXPECT_EQ((*mooncake)[1].at, 1'500'000'000);
  EXPECT_EQ((*mooncake)[1].input, 6758);
  EXPECT_EQ((*mooncake)[1].output, 500);
  const auto azure = parse_trace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.5,4808,10\r\n"
      "2023-11-16 18:17:04.25,3180,8\r\n",
      "trace.csv", 1);
  ASSERT_TRUE(azure.ok());
  EXPECT_EQ((*azure)[1].at, 750'000'000);
  EXPECT_EQ((*azure)[1].input, 3180);
}

TEST(Arrivals, NamesTheLineThatCantBeRead) {
  const auto line_of = [](const std::string& text) {
    const auto trace = parse_trace(text, "t", 1);
    return trace.ok() ? 0 : trace.findings().front().where.line;
  };
  EXPECT_EQ(line_of(""), 0 + 0);
  EXPECT_FALSE(parse_trace("", "t", 1).ok());
  EXPECT_EQ(
      line_of("{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3}\n{\"timestamp\": "
              "1}\n"),
      2);
  EXPECT_EQ(line_of("{\"timestamp\": 1, \"input_length\": -2, \"output_length\": 3}\n"), 1);
  EXPECT_EQ(line_of("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2\n"), 2);
  EXPECT_EQ(line_of("a,b\n"), 1);
}
