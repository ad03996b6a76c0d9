#include "runs/nsys_stats.h"

#include <gtest/gtest.h>

#include "runs/breakdown.h"
#include "runs/profile_fixture.h"

namespace muster::runs {
namespace {

using namespace testing;  // NOLINT: the fixture of these tests

constexpr const char* kKernels =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";

RankStats only(const std::string& text, const std::string& file = "a.csv") {
  auto all = read_nsys_stats(text, file, rules());
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? RankStats{} : all.front();
}

TEST(NsysStats, UnitsAreTakenFromTheHeader) {
  struct Case {
    const char* title;
    double seconds;
  };
  for (const Case& one :
       {Case{"Total Time (ns)", 5e-9}, Case{"Total Time (us)", 5e-6}, Case{"Total Time (ms)", 5e-3},
        Case{"Total Time (s)", 5}, Case{"Total Time", 5e-9}}) {
    const RankStats stats =
        only(std::string("Time(%),") + one.title + ",Instances,Average,Name\n100.0,5,1,5,gemm\n");
    ASSERT_EQ(stats.tables.size(), 1U) << one.title;
    EXPECT_DOUBLE_EQ(stats.tables[0].rows.at(0).total, one.seconds) << one.title;
  }
  const RankStats sizes = only("Total (MiB),Count,Avg (MiB),Operation\n2,1,2,[CUDA memcpy HtoD]\n");
  EXPECT_DOUBLE_EQ(sizes.find("memory-size")->rows.at(0).total, 2 * 1048576.0);
}

TEST(NsysStats, SizesWithoutAUnitAreNotGuessed) {
  const RankStats stats = only("Total,Operations,Average,Operation\n2,1,2,[CUDA memcpy HtoD]\n");
  EXPECT_EQ(stats.find("memory-size"), nullptr);
  EXPECT_EQ(stats.torn, 1);
  ASSERT_EQ(stats.notes.size(), 1U);
}

TEST(NsysStats, NamesWithCommasQuotedOrNot) {
  const RankStats stats = only(std::string(kKernels) +
                               "60.0,6,1,6.0,6.0,6,6,0.0,\"gemm<int, 4>\"\n"
                               "40.0,4,1,4.0,4.0,4,4,0.0,void f<a, b>(c, d)\n");
  ASSERT_NE(stats.find("kernels"), nullptr);
  EXPECT_EQ(stats.find("kernels")->rows.at(0).name, "gemm<int, 4>");
  EXPECT_EQ(stats.find("kernels")->rows.at(1).name, "void f<a, b>(c, d)");
}

TEST(NsysStats, DecimalCommasAreNotRead) {
  const RankStats stats =
      only("Total (MB),Count,Avg (MB),Operation\n\"482,333\",3,\"160,778\",[CUDA memcpy DtoH]\n");
  EXPECT_TRUE(stats.tables.empty());
  EXPECT_EQ(stats.torn, 1);
}

TEST(NsysStats, TheSameColumnsAreToldApartByWhatNsysSays) {
  const std::string rows = "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n50.0,5,1,5.0,poll\n";
  EXPECT_EQ(only(" ** OS Runtime Summary (osrt_sum):\n\n" + rows).tables.at(0).what, "system");
  EXPECT_EQ(only("Processing [a.sqlite] with [/opt/nsight/reports/cuda_api_sum.py]... \n" + rows)
                .tables.at(0)
                .what,
            "calls");
  EXPECT_EQ(only(rows, "report_osrt_sum.csv").tables.at(0).what, "system");
}

TEST(NsysStats, JsonSaysTheSame) {
  const RankStats stats = only(
      "Processing [a.sqlite] with [/opt/reports/cuda_gpu_kern_sum.py]...\n"
      R"js([{"Time (%)":60.0,"Total Time (ns)":6000000000,"Instances":2,"Avg (ns)":3,"StdDev (ns)":1.5,"Name":"ncclDevKernel_AllReduce"},)js"
      "\n"
      R"js({"Time (%)":40.0,"Total Time (ns)":4000000000,"Instances":1,"Avg (ns)":4,"StdDev (ns)":0,"Name":"a [b] {c}"}])js"
      "\n",
      "a.json");
  ASSERT_NE(stats.find("kernels"), nullptr);
  EXPECT_EQ(stats.find("kernels")->rows.size(), 2U);
  EXPECT_DOUBLE_EQ(stats.find("kernels")->rows[0].total, 6);
}

TEST(NsysStats, RanksOfOneLogAreKeptApart) {
  const std::string head =
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";
  const auto all = read_nsys_stats("0: " + head + "1: " + head +
                                       "0: 100.0,7,1,7,7,7,7,0,gemm\n"
                                       "training step 5, loss 2.0\n"
                                       "1: 100.0,9,1,9,9,9,9,0,gemm\n",
                                   "job.log", rules());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].rank, 0);
  EXPECT_DOUBLE_EQ(all[0].tables.at(0).rows.at(0).total, 7e-9);
  EXPECT_DOUBLE_EQ(all[1].tables.at(0).rows.at(0).total, 9e-9);
}

TEST(NsysStats, CutAnywhereItReadsWhatIsWholeAndNothingElse) {
  const std::string text = std::string(kKernels) +
                           "60.0,6000,10,600.0,600.0,600,600,0.0,ncclDevKernel_AllReduce\n"
                           "40.0,4000,10,400.0,400.0,400,400,0.0,gemm\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    for (const RankStats& stats : read_nsys_stats(text.substr(0, size), "a.csv", rules())) {
      for (const StatTable& table : stats.tables) {
        for (const StatRow& row : table.rows)
          EXPECT_TRUE(row.total > 3.9e-6 && row.total < 6.1e-6) << size;
      }
    }
  }
}

TEST(NsysStats, FileNamesSayRankAndHost) {
  const auto named = rank_of_file("out/report_12_node_1_rank_9_on_ip-10-0.stats.csv");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->first, 9);
  EXPECT_EQ(named->second, "ip-10-0");
  EXPECT_EQ(rank_of_file("kernels.csv"), std::nullopt);
}

Breakdown of_kernels(const std::string& rows) {
  return break_down(read_nsys_stats(kKernels + rows, "a.csv", rules()), rules());
}

TEST(NsysAnalysis, BoundsByTheirShares) {
  EXPECT_EQ(of_kernels("41.0,41,1,41,41,41,41,0,ncclDevKernel_AllGather_RING_LL\n"
                       "59.0,59,1,59,59,59,59,0,ampere_bf16_gemm\n")
                .bound,
            "communication");
  EXPECT_EQ(of_kernels("29.0,29,1,29,29,29,29,0,ncclDevKernel_AllGather_RING_LL\n"
                       "71.0,71,1,71,71,71,71,0,ampere_bf16_gemm\n")
                .bound,
            "compute");
  EXPECT_EQ(of_kernels("100.0,100,1,100,100,100,100,0,vectorized_elementwise_kernel\n").bound,
            "mixed");
  EXPECT_EQ(break_down(read_nsys_stats("no table here\n", "a.csv", rules()), rules()).bound,
            "unknown");
  const auto calls = read_nsys_stats(
      "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n90.0,90,1,90,cudaDeviceSynchronize\n",
      "a.csv", rules());
  EXPECT_EQ(break_down(calls, rules()).bound, "unknown");
}

TEST(NsysAnalysis, JitterAndCopiesAreRemarkedOn) {
  const auto jitter = of_kernels("100.0,6000,60,100,100,1,900,51,ncclDevKernel_ReduceScatter\n");
  ASSERT_EQ(jitter.remarks.size(), 2U);
  EXPECT_EQ(jitter.remarks[0].rule, "profile-jitter");
  EXPECT_EQ(jitter.remarks[1].rule, "profile-communication");
  const auto few = of_kernels("100.0,5000,50,100,100,1,900,51,gemm\n");
  EXPECT_TRUE(few.remarks.empty());
  const auto copies =
      break_down(read_nsys_stats("Total (GB),Count,Avg (GB),Operation\n30,1,30,[CUDA memcpy HtoD]\n"
                                 "21,1,21,[CUDA memcpy Device-to-Host]\n900,1,900,[CUDA memset]\n",
                                 "a.csv", rules()),
                 rules());
  ASSERT_EQ(copies.remarks.size(), 1U);
  EXPECT_EQ(copies.remarks[0].rule, "profile-copies");
  EXPECT_NE(copies.remarks[0].message.find("51.0 GB"), std::string::npos);
}

TEST(NsysAnalysis, TheRankThatComputesWhileOthersSitInNcclIsNamed) {
  std::vector<RankStats> all;
  for (int rank = 0; rank < 3; ++rank) {
    const bool slow = rank == 1;
    for (auto& stats : read_nsys_stats(
             std::string(kKernels) +
                 (slow ? "90.0,90,1,90,90,90,90,0,gemm\n10.0,10,1,10,10,10,10,0,nccl\n"
                       : "50.0,50,1,50,50,50,50,0,gemm\n50.0,50,1,50,50,50,50,0,nccl\n"),
             "report_7_node_0_rank_" + std::to_string(rank) + "_on_n" + std::to_string(rank) +
                 ".stats.csv",
             rules()))
      all.push_back(stats);
  }
  const auto found = break_down(all, rules());
  EXPECT_EQ(found.straggler, 1);
  EXPECT_EQ(found.bound, "straggler");
}

}  // namespace
}  // namespace muster::runs
