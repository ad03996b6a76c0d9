// The readers on logs of all the tools; tests/bench/logs/README.md says where each log is from.
#include <filesystem>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/document.h"
#include "base/output.h"
#include "bench/export.h"
#include "fixture.h"

namespace muster::bench {
namespace {

const Record& only(const Log& log, std::size_t run, std::size_t record) {
  return log.runs.at(run).records.at(record);
}

/// The record of a run with this variant and operation.
const Record& find(const Log& log, const std::string& operation, const std::string& variant,
                   const std::string& type = {}) {
  for (const bench::Run& run : log.runs) {
    for (const Record& record : run.records) {
      if (record.operation == operation && record.variant == variant &&
          (type.empty() || record.type == type)) {
        return record;
      }
    }
  }
  throw std::runtime_error("no record " + operation + " " + variant);
}

TEST(ReadNccl, TaggedLogOfTwoNodes) {
  const Log log = log_of("nccl-2.18-p5-mpirun-tag.log");
  ASSERT_EQ(log.runs.size(), 1U);
  const bench::Run& run = log.runs[0];
  EXPECT_EQ(run.tool, "nccl-tests");
  EXPECT_EQ(ranks_of(run), 16);
  EXPECT_EQ(nodes_of(run), 2);
  EXPECT_EQ(run.operation, "all_reduce");  // by its rates: nothing names the program
  EXPECT_EQ(run.records.size(), 14U);
  const Record& last = run.records.back();
  EXPECT_EQ(last.size, 2147483648U);
  EXPECT_EQ(last.count, 536870912U);
  EXPECT_EQ(last.placement, "in-place");
  EXPECT_DOUBLE_EQ(*last.busbw, 437.89);
  EXPECT_EQ(last.wrong, 0);
  EXPECT_EQ(last.root, -1);
  EXPECT_EQ(last.line, 33);
  EXPECT_EQ(run.average_busbw, 52.9753);
  EXPECT_TRUE(run.ended);
  EXPECT_EQ(log.nccl, "2.18.5");
  ASSERT_EQ(log.transports.size(), 2U);
  EXPECT_EQ(log.transports[0].name, "efa");
  EXPECT_EQ(log.transports[0].devices, 32);
  EXPECT_TRUE(log.findings.empty());
}

TEST(ReadNccl, NotCheckedIsNullNotNought) {
  const Log log = log_of("nccl-alltoall.log");
  ASSERT_EQ(log.runs.size(), 1U);
  EXPECT_EQ(log.runs[0].operation, "alltoall");
  for (const Record& record : log.runs[0].records)
    EXPECT_EQ(record.wrong.has_value(), record.placement == "out-of-place");
  EXPECT_EQ(log.runs[0].settings.at("NCCL_NET_PLUGIN"), "spcx");
  EXPECT_EQ(log.runs[0].settings.count("NCCL_DEBUG"), 0U);
}

TEST(ReadNccl, OtherVersionsAndTools) {
  const Log rccl = log_of("rccl-mi350x.log");
  ASSERT_EQ(rccl.runs.size(), 1U);
  EXPECT_EQ(ranks_of(rccl.runs[0]), 8);
  EXPECT_EQ(rccl.runs[0].records.size(), 4U);
  const Log old = log_of("nccl-old-error-column.log");
  ASSERT_EQ(old.runs.size(), 1U);
  ASSERT_EQ(old.runs[0].records.size(), 4U);
  const Record& exponent = only(old, 0, 2);
  EXPECT_DOUBLE_EQ(*exponent.time, 1.2e7);
  EXPECT_DOUBLE_EQ(*exponent.wrong, 1e-6);
  EXPECT_FALSE(exponent.root);
  const Log gh200 = log_of("nccl-2.17-gh200-srun.log");
  EXPECT_EQ(nodes_of(gh200.runs.at(0)), 2);
  EXPECT_EQ(gh200.runs[0].operation, "all_reduce");
}

TEST(ReadNccl, TimesWithoutFraction) {
  const Log log =
      read_log(
          "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5\n"
          "  4294967296    1073741824     float     sum      -1   15791  271.98  475.97  "
          "    0    15773  272.29  476.51      0\n",
          "x")
          .value();
  ASSERT_EQ(log.runs.at(0).records.size(), 2U);
  EXPECT_DOUBLE_EQ(*only(log, 0, 0).time, 15791);
  EXPECT_DOUBLE_EQ(*only(log, 0, 1).busbw, 476.51);
  EXPECT_EQ(ranks_of(log.runs[0]), 8);  // by the rates alone
}

TEST(ReadNccl, PerIterationColumns) {
  const Log log = read_log(
                      "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5\n"
                      "  1048576  262144  float  sum  -1  70.1 14.96 14.96 0 69.0 72.0 71.9 1.2  "
                      "70.0 14.98 14.98 0 69.1 72.2 71.8 1.1\n",
                      "x")
                      .value();
  ASSERT_EQ(log.runs.at(0).records.size(), 2U);
  EXPECT_DOUBLE_EQ(*only(log, 0, 1).time, 70.0);
  EXPECT_TRUE(log.findings.empty());
}

TEST(ReadNccl, InterleavedAndTruncated) {
  const Log log = log_of("nccl-interleaved.log");
  ASSERT_EQ(log.runs.size(), 1U);
  const bench::Run& run = log.runs[0];
  EXPECT_FALSE(run.ended);
  ASSERT_GE(run.records.size(), 4U);
  // NCCL's own line stood in the middle of the first row.
  EXPECT_EQ(run.records[0].size, 8U);
  EXPECT_DOUBLE_EQ(*run.records[0].time, 12.90);
  EXPECT_DOUBLE_EQ(*run.records[1].time, 12.87);
  // A timestamp behind the second.
  EXPECT_DOUBLE_EQ(*run.records[3].time, 12.83);
  // The third breaks off: said, not guessed.
  ASSERT_EQ(log.findings.size(), 1U);
  EXPECT_EQ(log.findings[0].where.line, 12);
  EXPECT_EQ(run.settings.at("NCCL_NET_FORCE_FLUSH"), "0");
}

TEST(ReadNccl, SeparateRunsPartAgain) {
  const Log log = log_of("nccl-separate.log");
  ASSERT_EQ(log.runs.size(), 2U);
  for (const bench::Run& run : log.runs) {
    EXPECT_EQ(ranks_of(run), 1);
    EXPECT_EQ(run.records.size(), 4U);
    EXPECT_TRUE(run.ended);
  }
  EXPECT_NE(hosts_of(log.runs[0]), hosts_of(log.runs[1]));
}

TEST(ReadNcclJson, BothSpellingsOfTheKey) {
  for (const char* name : {"nccl-v3.json", "nccl-v3-misspelt.json"}) {
    const Log log = log_of(name);
    ASSERT_EQ(log.runs.size(), 1U) << name;
    const bench::Run& run = log.runs[0];
    EXPECT_EQ(run.average_busbw, 252.55) << name;
    EXPECT_EQ(run.operation, "all_reduce");
    EXPECT_EQ(ranks_of(run), 2);
    EXPECT_EQ(nodes_of(run), 2);
    ASSERT_EQ(run.records.size(), 3U);
    EXPECT_EQ(run.records[0].root, -1);
    EXPECT_FALSE(run.records[1].wrong);
    EXPECT_FALSE(run.records[2].busbw);  // "nan"
    EXPECT_EQ(log.nccl, "2.30.4");
    // Of the environment only what bears on speed, and never a secret.
    EXPECT_EQ(run.settings, (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}}));
    EXPECT_EQ(muster::json_text(to_json(log)).find("hf_"), std::string::npos);
  }
}

TEST(ReadRcclJson, Rows) {
  const Log log = log_of("rccl.json");
  ASSERT_EQ(log.runs.size(), 1U);
  EXPECT_EQ(only(log, 0, 0).operation, "all_reduce");
  EXPECT_EQ(only(log, 0, 0).wrong, 0);
  EXPECT_FALSE(only(log, 0, 1).wrong);
  EXPECT_EQ(only(log, 0, 1).placement, "in-place");
  EXPECT_EQ(only(log, 0, 1).ranks, 8);
}

TEST(ReadOsu, LatencyBandwidthAndValidation) {
  const Log reduce = log_of("osu-7.4-allreduce.log");
  ASSERT_EQ(reduce.runs.size(), 1U);
  EXPECT_EQ(reduce.runs[0].version, "7.4");
  EXPECT_EQ(only(reduce, 0, 5).operation, "all_reduce");
  EXPECT_EQ(only(reduce, 0, 5).type, "char");
  EXPECT_DOUBLE_EQ(*only(reduce, 0, 5).time, 30.41);
  EXPECT_FALSE(only(reduce, 0, 5).wrong);
  EXPECT_EQ(log_of("osu-5.9-allreduce.log").runs.at(0).records.size(), 4U);
  const Log mixed = log_of("osu-mixed.log");
  ASSERT_EQ(mixed.runs.size(), 4U);
  EXPECT_EQ(only(mixed, 0, 0).wrong, 0);
  EXPECT_DOUBLE_EQ(*only(mixed, 0, 1).algbw, 26.3);  // MB are 10^6
  EXPECT_EQ(mixed.runs[0].wrong.size(), 1U);
  EXPECT_EQ(mixed.runs[1].operation, "mbw_mr");
  EXPECT_EQ(mixed.runs[1].ranks, 32);
  EXPECT_DOUBLE_EQ(*only(mixed, 1, 0).algbw, 42.9);
  EXPECT_EQ(mixed.runs[2].operation, "put_latency");
  EXPECT_EQ(mixed.runs[3].operation, "all_gather");
  EXPECT_DOUBLE_EQ(*only(mixed, 3, 0).time, 10.5);
}

TEST(ReadImb, BothMeaningsOfMegabytes) {
  const Log reduce = log_of("imb-2018-allreduce.log");
  ASSERT_EQ(reduce.runs.size(), 1U);
  EXPECT_EQ(reduce.runs[0].version, "2018");
  EXPECT_EQ(ranks_of(reduce.runs[0]), 144);
  EXPECT_DOUBLE_EQ(*only(reduce, 0, 2).time, 313516.40);
  EXPECT_TRUE(reduce.runs[0].ended);
  const Log ping = log_of("imb-pingpong.log");
  // 8 bytes in 2.26 us are 3.54 MB/s; 3.38 were printed: 2^20 bytes.
  EXPECT_NEAR(*only(ping, 0, 2).algbw * 1e3, 3.54, 0.01);
  const Log decimal = read_log(
                          "# Benchmarking PingPong\n# #processes = 2\n"
                          "#bytes #repetitions t[usec] Mbytes/sec\n8 1000 2.26 3.54\n",
                          "x")
                          .value();
  EXPECT_NEAR(*only(decimal, 0, 0).algbw * 1e3, 3.54, 0.01);
}

TEST(ReadImb, SizesThatItGaveUpOnAreNotLeftOutInSilence) {
  const Log log = log_of("imb-2021-timeout.log");
  ASSERT_EQ(log.runs.size(), 4U);
  EXPECT_EQ(log.runs[0].version, "2021.11");
  EXPECT_EQ(log.runs[0].operation, "pingpong");
  EXPECT_NEAR(*only(log, 0, 2).algbw, 24.62774, 1e-5);
  EXPECT_EQ(log.runs[1].records.size(), 1U);
  EXPECT_EQ(log.runs[2].records.size(), 2U);
  EXPECT_EQ(log.runs[3].operation, "reduce_scatter_block");
  EXPECT_TRUE(log.runs[3].ended);
  ASSERT_EQ(log.findings.size(), 2U);
  EXPECT_EQ(log.findings[1].message,
            "IMB's time limit (-time) was over at 1048576 bytes: not measured");
}

TEST(ReadNvshmem, TablesAndPerfLines) {
  const Log log = log_of("nvshmem-3.6-gh200.log");
  ASSERT_EQ(log.runs.size(), 2U);
  EXPECT_EQ(log.runs[0].version, "3.6.5");
  EXPECT_EQ(log.runs[0].operation, "alltoall");
  EXPECT_DOUBLE_EQ(*only(log, 0, 1).busbw, 19.140);
  EXPECT_EQ(only(log, 0, 1).variant, "thread");
  EXPECT_EQ(log.runs[1].operation, "put_bw");
  EXPECT_DOUBLE_EQ(*only(log, 1, 1).time, 120);
  // Bus bandwidth 0 throughout: one PE alone.
  EXPECT_EQ(ranks_of(log_of("nvshmem-single-pe.log").runs.at(0)), 1);
  const Log lines = log_of("nvshmem-perf-lines.log");
  EXPECT_DOUBLE_EQ(*find(lines, "put_latency", "warp").time, 0.42);
  EXPECT_DOUBLE_EQ(*only(lines, 1, 0).algbw, 1.25);
  EXPECT_DOUBLE_EQ(*only(lines, 1, 1).algbw, 1.5);
}

TEST(ReadNccom, ItsGigabytesAreGibibytes) {
  const Log log = log_of("nccom-allr.log");
  ASSERT_EQ(log.runs.size(), 1U);
  const Record& record = only(log, 0, 0);
  EXPECT_EQ(record.operation, "all_reduce");
  EXPECT_EQ(record.ranks, 2);
  EXPECT_EQ(record.type, "uint8");
  // 33554432 bytes in 768 us.
  EXPECT_NEAR(*record.algbw, 33554432 / 768e-6 / 1e9, 0.01);
  EXPECT_NEAR(*log.runs[0].average_busbw, 43.69, 0.01);
  EXPECT_FALSE(record.wrong);
}

TEST(ReadNative, ExpertRowsAndOneSidedRows) {
  const Log expert = log_of("muster-ep.log");
  ASSERT_EQ(expert.runs.size(), 1U);
  EXPECT_TRUE(expert.findings.empty());
  EXPECT_EQ(expert.runs[0].tool, "muster-bench");
  EXPECT_EQ(expert.runs[0].settings.at("num_topk_groups"), "2");
  EXPECT_EQ(ranks_of(expert.runs[0]), 4);
  EXPECT_EQ(nodes_of(expert.runs[0]), 2);
  const Record& across = find(expert, "dispatch", "across", "f8e4m3");
  EXPECT_EQ(across.size, 67584U);
  EXPECT_EQ(across.wrong, 0);
  EXPECT_FALSE(find(expert, "alltoallv", "raw:combine").wrong);
  EXPECT_EQ(find(expert, "combine", "rank 3").ranks, 4);
  const Log put = log_of("muster-put.log");
  ASSERT_EQ(put.runs.size(), 1U);
  EXPECT_EQ(put.runs[0].operation, "put");
  EXPECT_EQ(put.runs[0].settings.at("window"), "64");
  ASSERT_EQ(put.runs[0].records.size(), 5U);
  EXPECT_EQ(put.runs[0].records[4].size, 32768U);
  EXPECT_TRUE(put.runs[0].ended);
}

TEST(ReadExpert, BestSettingsOfAllForms) {
  const Log node = log_of("deepep-intranode.log");
  ASSERT_EQ(node.runs.size(), 1U);
  ASSERT_EQ(node.runs[0].records.size(), 3U);
  EXPECT_EQ(node.runs[0].settings.at("num_tokens"), "4096");
  const Record& fp8 = find(node, "dispatch", "nvl", "f8e4m3");
  EXPECT_DOUBLE_EQ(*fp8.algbw, 352.43);
  EXPECT_DOUBLE_EQ(*fp8.time, 453.49);
  EXPECT_EQ(fp8.wrong, 0);  // its tests passed
  EXPECT_DOUBLE_EQ(*find(node, "combine", "nvl").time, 775.61);
  const Log nodes = log_of("deepep-internode.log");
  ASSERT_EQ(nodes.runs[0].records.size(), 6U);
  EXPECT_DOUBLE_EQ(*find(nodes, "dispatch", "rdma", "bfloat16").algbw, 43.24);
  EXPECT_DOUBLE_EQ(*find(nodes, "dispatch", "nvl", "bfloat16").time, 1990);
  EXPECT_DOUBLE_EQ(*find(nodes, "combine", "rdma").time, 1998.75);
  const Log low = log_of("deepep-low-latency.log");
  EXPECT_EQ(ranks_of(low.runs.at(0)), 3);
  EXPECT_DOUBLE_EQ(*find(low, "dispatch+combine", "rank 2").algbw, 24.39);
  EXPECT_DOUBLE_EQ(*find(low, "combine", "rank 1").time, 585.38);
  EXPECT_DOUBLE_EQ(*find(low, "dispatch", "recv rank 0").time, 73509.90);
  EXPECT_FALSE(find(low, "combine", "rank 1").wrong);
  const Log uccl = log_of("uccl-best-transmit.log");
  ASSERT_EQ(uccl.runs[0].records.size(), 1U);  // 0.00 GB/s over RDMA is no measurement
  EXPECT_DOUBLE_EQ(*only(uccl, 0, 0).time, 640.59);
}

TEST(ReadExpert, TestThatDidNotPassIsWrong) {
  const Log log = read_log(
                      "[config] num_tokens=8\n"
                      "[testing] Running with FP8, with top-k (async=False, previous=False) ...\n"
                      "AssertionError: Error: 0.03\n"
                      "[tuning] Best combine: SMs 24, NVL chunk 15: 1.0 GB/s (NVL), t: 7.1 us\n",
                      "x")
                      .value();
  ASSERT_EQ(log.runs.size(), 1U);
  EXPECT_EQ(log.runs[0].wrong.size(), 2U);
  EXPECT_FALSE(only(log, 0, 0).wrong);
}

TEST(ReadPplx, TsvAndJson) {
  const Log tsv = log_of("pplx-kernels.tsv");
  ASSERT_EQ(tsv.runs.size(), 1U);
  ASSERT_EQ(tsv.runs[0].records.size(), 4U);
  EXPECT_EQ(only(tsv, 0, 0).operation, "dispatch");
  EXPECT_EQ(only(tsv, 0, 0).ranks, 16);
  EXPECT_DOUBLE_EQ(*only(tsv, 0, 0).time, 687.0);
  EXPECT_DOUBLE_EQ(*only(tsv, 0, 0).algbw, 10.78);
  EXPECT_EQ(only(tsv, 0, 0).size, 7405568U);
  EXPECT_EQ(only(tsv, 0, 2).variant, "torch E=256 topk=8 tokens=128 hidden=7168");
  const Log json = log_of("pplx-garden.json");
  ASSERT_EQ(json.runs.size(), 1U);
  EXPECT_DOUBLE_EQ(*find(json, "dispatch", "both").time, 218.0);
  EXPECT_DOUBLE_EQ(*find(json, "combine", "both").time, 244.6);
}

TEST(ReadPerftest, UnitsAndBlankPeaks) {
  const Log log = log_of("perftest-write-bw.log");
  EXPECT_EQ(log.runs.at(0).operation, "write_bw");
  EXPECT_DOUBLE_EQ(*only(log, 0, 0).algbw, 98.01 / 8);
  EXPECT_DOUBLE_EQ(*find(log, "write_bw", "peak").algbw, 98.01 / 8);
  const Log duration = log_of("perftest-duration.log");
  ASSERT_EQ(duration.runs.at(0).records.size(), 4U);
  // MB are 2^20 bytes: 65536 bytes at 0.173936 million a second.
  EXPECT_NEAR(*only(duration, 0, 0).algbw, 65536 * 0.173936e6 / 1e9, 1e-4);
  EXPECT_EQ(only(duration, 0, 1).variant, "peak");
  EXPECT_FALSE(only(duration, 0, 1).algbw);  // blank
  EXPECT_FALSE(only(duration, 0, 3).algbw);  // 0.00
  const Log latency = log_of("perftest-latency.log");
  EXPECT_EQ(latency.runs.at(0).operation, "write_latency");
  EXPECT_DOUBLE_EQ(*only(latency, 0, 0).time, 2.11);
}

TEST(ReadPerftest, AllReportsOfOneFile) {
  const Log log = log_of("perftest-both.json");
  ASSERT_EQ(log.runs.size(), 1U);
  EXPECT_EQ(log.runs[0].operation, "send_bidirectional_bw");
  EXPECT_NEAR(*find(log, "send_bidirectional_bw", "").algbw, 390.1 / 8, 1e-9);
  EXPECT_NEAR(*find(log, "send_bidirectional_bw", "local").algbw, 195.0 / 8, 1e-9);
  EXPECT_NEAR(*find(log, "send_bidirectional_bw", "remote").algbw, 195.1 / 8, 1e-9);
  EXPECT_FALSE(find(log, "send_bidirectional_bw", "peak").algbw);
}

TEST(ReadNvbandwidth, MatricesAndSums) {
  const Log log = log_of("nvbandwidth-0.10.log");
  ASSERT_EQ(log.runs.size(), 2U);
  EXPECT_EQ(log.runs[0].version, "0.10.0");
  EXPECT_EQ(log.runs[0].records.size(), 8U);
  EXPECT_DOUBLE_EQ(*find(log, "host_to_device_memcpy_ce", "CPU 0 -> GPU 6").algbw, 55.58);
  EXPECT_EQ(log.runs[1].records.size(), 13U);  // 12 pairs and the sum
  EXPECT_DOUBLE_EQ(*find(log, "device_to_device_memcpy_read_ce", "GPU 1 -> GPU 3").algbw, 120);
  const Log json = log_of("nvbandwidth.json");
  ASSERT_EQ(json.runs.size(), 2U);  // the waived one has no figures
  EXPECT_DOUBLE_EQ(*find(json, "device_to_device_memcpy_read_ce", "GPU 1 -> GPU 0").algbw, 395.1);
}

TEST(ReadNvbandwidth, NoMetricWithoutAName) {
  const Log log = log_of("nvbandwidth-waived.log");
  ASSERT_EQ(log.runs.size(), 2U);
  EXPECT_EQ(log.runs[1].operation, "device_to_device_latency_sm");
  EXPECT_DOUBLE_EQ(*only(log, 1, 0).time, 0.77258);  // ns
  EXPECT_FALSE(only(log, 1, 0).algbw);
  EXPECT_EQ(prometheus_text({log}).find("None"), std::string::npos);
}

TEST(ReadNvbandwidth, TestsAfterAFailedOneAreRead) {
  const Log log = log_of("nvbandwidth-corrupt.log");
  ASSERT_EQ(log.runs.size(), 2U);
  ASSERT_EQ(log.runs[0].wrong.size(), 1U);
  const std::string& what = log.runs[0].wrong[0].text;
  for (const char* part : {"0x70a640000000", "11136", "0x5a5a5a5a", "0x5a5b5a5a"})
    EXPECT_NE(what.find(part), std::string::npos) << part;
  EXPECT_EQ(log.runs[1].operation, "host_to_device_memcpy_ce");
  EXPECT_EQ(log.runs[1].records.size(), 3U);
}

TEST(Read, NothingUnderstoodIsEmpty) {
  EXPECT_TRUE(read_log("", "x").value().empty());
  EXPECT_TRUE(read_log("hello\nworld 1 2 3\n", "x").value().empty());
  EXPECT_TRUE(read_log("{\"a\": 1}", "x").value().empty());
  const auto broken = read_log("{\"results\": [", "out.json");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.findings().front().where.file, "out.json");
}

TEST(Read, SeriesOfUnlikeRunsDiffer) {
  const std::string table =
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg "
      "iters: 1 validation: 1 graph: 0\n"
      "  1073741824     268435456     float     sum      -1   4253.0  252.47  441.81      0   "
      "4253.0  252.47  441.81      0\n# Out of bounds values : 0 OK\n";
  const Log plain = read_log(table, "a").value();
  const Log sharp =
      read_log("mpirun -x NCCL_COLLNET_ENABLE=1 all_reduce_perf\n" + table, "b").value();
  EXPECT_NE(series_key(plain.runs.at(0), only(plain, 0, 0)),
            series_key(sharp.runs.at(0), only(sharp, 0, 0)));
}

TEST(Export, RecordsComeBack) {
  const Log log = log_of("nccl-2.18-p5-mpirun-tag.log");
  const Log again = read_log(muster::json_text(to_json(log)), "x.json").value();
  ASSERT_EQ(again.runs.size(), 1U);
  ASSERT_EQ(again.runs[0].records.size(), log.runs[0].records.size());
  for (std::size_t i = 0; i < log.runs[0].records.size(); ++i) {
    const Record &a = only(log, 0, i), &b = only(again, 0, i);
    EXPECT_EQ(a.size, b.size);
    EXPECT_EQ(a.busbw, b.busbw);
    EXPECT_EQ(a.wrong, b.wrong);
    EXPECT_EQ(series_key(log.runs[0], a), series_key(again.runs[0], b));
  }
}

TEST(Export, CsvHasThePublicColumns) {
  const std::string csv = results_csv({log_of("nccl-alltoall.log")});
  EXPECT_EQ(csv.substr(0, csv.find('\r')),
            "Size_Bytes,Size_KB,Size_MB,Count,Data_Type,Operation,Root,OOP_Time_us,OOP_AlgBW_GBps,"
            "OOP_BusBW_GBps,OOP_Errors,IP_Time_us,IP_AlgBW_GBps,IP_BusBW_GBps,IP_Errors");
  EXPECT_NE(
      csv.find("67108864,65536,64,1048576,float,none,-1,44747.1,1.5,1.41,0,69049,0.97,0.91,N/A"),
      std::string::npos);
  const std::string summary = summary_csv({log_of("nccl-alltoall.log")});
  EXPECT_EQ(summary.substr(0, summary.find('\r')), "Metric,Value");
}

/// Every log of the folder, whatever it is cut to: never a crash, never a figure out of nothing.
RC_GTEST_PROP(Read, CutAnywhereNeverFails, ()) {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(testing::source_dir() / "tests" / "bench" / "logs"))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }();
  const std::string text = log_text(kNames[*rc::gen::inRange<std::size_t>(0, kNames.size())]);
  const std::size_t from = *rc::gen::inRange<std::size_t>(0, text.size());
  const std::size_t size = *rc::gen::inRange<std::size_t>(0, text.size() - from + 1);
  const auto log = read_log(std::string_view(text).substr(from, size), "x");
  if (!log) return;
  for (const bench::Run& run : log->runs) {
    for (const Record& record : run.records) {
      RC_ASSERT(record.line >= 1);
      RC_ASSERT(!record.operation.empty() || !record.algbw || *record.algbw >= 0);
    }
  }
}

}  // namespace
}  // namespace muster::bench
