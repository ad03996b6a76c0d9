// Every oracle and formula of the public figures. Times are rounded to print width, so rates are
// compared to 0.02.
#include "bench/formulas.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "bench/ceiling.h"
#include "facts/facts.h"
#include "testing.h"

namespace muster::bench {
namespace {

constexpr double kPrint = 0.02;

struct Oracle {
  const char* operation;
  int ranks;
  double size, time, algbw, busbw;
};

TEST(Formulas, PublishedRows) {
  constexpr Oracle kOracles[] = {
      {"all_reduce", 16, 17179869184, 66132, 259.78, 487.09},
      {"all_reduce", 16, 2147483648, 51406, 41.77, 78.33},
      {"all_reduce", 8, 1073741824, 4253.0, 252.47, 441.81},
      {"all_reduce", 128, 17179869184, 92173, 186.39, 369.86},
      {"all_reduce", 8, 4294967296, 15791, 271.98, 475.97},
      {"all_reduce", 8, 4294967296, 15773, 272.29, 476.51},
      {"sendrecv", 16, 67108864, 2450, 27.39, 27.39},
  };
  for (const Oracle& oracle : kOracles) {
    const double bytes = *base_bytes(oracle.operation, oracle.size, oracle.ranks);
    const double rate = algbw(bytes, oracle.time);
    EXPECT_NEAR(rate, oracle.algbw, kPrint) << oracle.operation << " " << oracle.size;
    EXPECT_NEAR(rate * *bus_factor(oracle.operation, oracle.ranks), oracle.busbw, kPrint);
  }
  // Both directions of the ring.
  EXPECT_NEAR(2 * algbw(67108864, 2450), 54.78, kPrint);
}

TEST(Formulas, BusFactors) {
  EXPECT_DOUBLE_EQ(*bus_factor("all_reduce", 8), 1.75);
  for (const char* operation :
       {"all_gather", "reduce_scatter", "alltoall", "alltoallv", "gather", "scatter"}) {
    EXPECT_DOUBLE_EQ(*bus_factor(operation, 8), 0.875) << operation;
    EXPECT_DOUBLE_EQ(*bus_factor(operation, 1), 0) << operation;  // nothing travels, no NaN
  }
  for (const char* operation : {"broadcast", "reduce", "sendrecv", "hypercube"})
    EXPECT_DOUBLE_EQ(*bus_factor(operation, 8), 1) << operation;
  EXPECT_FALSE(bus_factor("latency", 8));
  EXPECT_FALSE(bus_factor("all_reduce", 0));
}

TEST(Formulas, HypercubeSendsAllPartsButOne) {
  EXPECT_DOUBLE_EQ(*base_bytes("hypercube", 8 * 1024, 8), 7 * 1024);
  EXPECT_DOUBLE_EQ(*base_bytes("all_gather", 8 * 1024, 8), 8 * 1024);
}

TEST(Formulas, SplitsAreMultiplesOfSixteenBytes) {
  EXPECT_EQ(split_count(1000, 8, 4), 124U);
  EXPECT_EQ(split_count(8, 8, 4), 0U);  // a row of noughts
  EXPECT_EQ(split_count(1024, 8, 2), 128U);
  EXPECT_EQ(split_count(100, 3, 16), 33U);
}

TEST(Formulas, RanksAreImpliedByPrintedRates) {
  EXPECT_EQ(implied_ranks("all_reduce", 259.78, 487.09), 16);
  EXPECT_EQ(implied_ranks("all_reduce", 252.47, 441.81), 8);
  EXPECT_EQ(implied_ranks("all_gather", 279.00, 261.57), 16);
  EXPECT_FALSE(implied_ranks("all_reduce", 0.01, 0.02));  // too few digits to tell
  EXPECT_FALSE(implied_ranks("sendrecv", 27.39, 27.39));
  EXPECT_FALSE(implied_ranks("all_reduce", 10, 0));
}

RC_GTEST_PROP(Formulas, ImpliedRanksAreRightOrNone, ()) {
  const int ranks = *rc::gen::inRange(2, 65);
  const double rate = *rc::gen::inRange(100, 50000) / 100.0;
  const double bus = std::round(rate * *bus_factor("all_reduce", ranks) * 100) / 100;
  const auto implied = implied_ranks("all_reduce", rate, bus);
  RC_ASSERT(!implied || *implied == ranks);
}

TEST(Formulas, FitHalfPeakAndPlateau) {
  std::vector<std::pair<double, double>> times, rates;
  for (double size = 1024; size <= 1 << 30; size *= 4) {
    const double time = 20 + size / 400e3;  // 20 us and 400 GB/s
    times.emplace_back(size, time);
    rates.emplace_back(size, algbw(size, time));
  }
  const auto fit = fit_time(times);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency, 20, 1e-3);
  EXPECT_NEAR(fit->bandwidth, 400, 1e-3);
  // Half of the peak is reached where the bytes take as long as the latency: 8 MB.
  EXPECT_NEAR(*half_peak_size(rates) / 8e6, 1, 0.1);
  EXPECT_GT(*plateau(rates), 390);
  EXPECT_FALSE(fit_time({{1, 2}}));
  EXPECT_FALSE(plateau({}));
  EXPECT_FALSE(half_peak_size({{8, 10}, {16, 11}}));
}

TEST(Formulas, PointToPoint) {
  // 64 messages of 4 MiB, 20 times, in 0.2042 s: 26.3 GB/s.
  EXPECT_NEAR(window_rate(4194304, 64, 20, 0.2042, 1), 26291.5, 0.1);
  EXPECT_DOUBLE_EQ(window_rate(4194304, 64, 20, 0.2042, 1, true),
                   2 * window_rate(4194304, 64, 20, 0.2042));
  EXPECT_DOUBLE_EQ(window_rate(8, 64, 100, 1, 16), 16 * window_rate(8, 64, 100, 1));
  EXPECT_NEAR(message_rate(42900, 1048576), 40912.6, 0.1);
  EXPECT_DOUBLE_EQ(one_way_latency(0.0452, 10000), 2.26);
  // The published table: 131072 bytes a PE, two PEs, 19.46 us.
  EXPECT_NEAR(*nvshmem_busbw("alltoall", 131072, 2, 19.46), 131072 / 19.46e-6 / 1e9, 1e-9);
  EXPECT_NEAR(*nvshmem_busbw("all_reduce", 1e6, 4, 1000), 1.5, 1e-9);
  EXPECT_NEAR(*nvshmem_busbw("broadcast", 1e6, 4, 1000), 1, 1e-9);
  EXPECT_FALSE(nvshmem_busbw("put_bw", 1, 2, 1));
}

TEST(Formulas, PplxGardenCountsEveryExpert) {
  // 128 tokens to 8 experts: 7168 values of one byte and 56 scales of four.
  EXPECT_DOUBLE_EQ(garden_dispatch_bytes(128, 8, 7168, 1, 56, 4), 7569408);
  EXPECT_DOUBLE_EQ(garden_combine_bytes(128, 8, 7168, 2), 14680064);
  // 218.0 us in the middle: 34.7 GB/s.
  EXPECT_NEAR(algbw(7569408, 218.0), 34.72, 0.01);
}

TEST(Formulas, ExpertParallelPayloads) {
  EXPECT_DOUBLE_EQ(4096 * token_bytes(Payload::kBf16, 7168), 58720256);
  EXPECT_DOUBLE_EQ(low_latency_dispatch_bytes(Payload::kFp8, 7168), 7408);
  EXPECT_DOUBLE_EQ(low_latency_dispatch_bytes(Payload::kBf16, 7168), 14336);
  EXPECT_DOUBLE_EQ(low_latency_combine_bytes(Payload::kBf16, 7168), 14336);
  EXPECT_DOUBLE_EQ(low_latency_combine_bytes(Payload::kLogfmt10, 7168), 9184);
  EXPECT_DOUBLE_EQ(fp8_factor(), 0.515625);
  // The nearest row of a doubling sweep.
  EXPECT_DOUBLE_EQ(std::exp2(std::round(std::log2(58720256.0))), 67108864);
}

TEST(Formulas, OnlyValidSelectionsAndDistinctNodesCount) {
  const std::vector<std::vector<int>> selections = {{0, 1, 8}, {-1, 9, 15}, {-1, -1, -1}};
  EXPECT_DOUBLE_EQ(low_latency_total(selections, 7408), 5 * 7408.0);
  // Experts 0-7 are on node 0, 8-15 on node 1: two nodes, then one, then none.
  EXPECT_DOUBLE_EQ(rdma_dispatch_bytes(selections, 8, 7168), 3 * 14336.0);
  EXPECT_NEAR(expected_nodes(256, 1, 8), 1, 1e-12);
  EXPECT_NEAR(expected_nodes(4, 2, 2), 2 * (1 - 1.0 / 6), 1e-12);
  EXPECT_NEAR(expected_nodes(4, 2, 3), 2, 1e-12);  // more than one node holds
}

TEST(Formulas, RelativeDifferenceAddsOne) {
  EXPECT_DOUBLE_EQ(relative_difference({0, 0}, {0, 0}), 0);
  EXPECT_NEAR(relative_difference({1}, {0}), 1 - 2.0 * 2 * 1 / (4 + 1), 1e-12);
  EXPECT_DOUBLE_EQ(relative_difference({}, {}), 0);
}

class CeilingTest : public ::testing::Test {
 protected:
  facts::Instance instance(const std::string& name) {
    return facts::find_instance(instances_, name).value();
  }
  std::vector<facts::Instance> instances_ =
      facts::load_instances(real_file_system(), testing::source_dir()).value();
};

TEST_F(CeilingTest, PublishedFiguresLieBelowThem) {
  // Two nodes of p5: 487 GB/s were measured, more than the 400 GB/s of the cards, which a ring
  // can't pass and a tree can.
  const auto p5 = ceiling_of(instance("p5.48xlarge"), "all_reduce", 2, 16);
  ASSERT_TRUE(p5);
  EXPECT_DOUBLE_EQ(p5->ring, 400);
  EXPECT_DOUBLE_EQ(p5->hard, 750);
  EXPECT_GT(p5->hard, 487.1);
  const auto b300 = ceiling_of(instance("p6-b300.48xlarge"), "alltoall", 2, 16);
  ASSERT_TRUE(b300);
  EXPECT_DOUBLE_EQ(b300->hard, 187.5);
  EXPECT_GT(b300->hard, 179.6);
  const auto node = ceiling_of(instance("p5.48xlarge"), "all_reduce", 1, 8);
  ASSERT_TRUE(node);
  EXPECT_DOUBLE_EQ(node->ring, 450);
  EXPECT_GT(node->hard, 483);
}

TEST_F(CeilingTest, UnknownIsNotGuessed) {
  EXPECT_FALSE(ceiling_of(instance("p5.48xlarge"), "latency", 2, 16));
  EXPECT_FALSE(ceiling_of(instance("p5.48xlarge"), "all_reduce", 2, 15));
  EXPECT_FALSE(ceiling_of(instance("p5.48xlarge"), "all_reduce", 1, 1));
  EXPECT_FALSE(ceiling_of(instance("g6.48xlarge"), "all_reduce", 1, 8));  // no NVLink
}

}  // namespace
}  // namespace muster::bench
