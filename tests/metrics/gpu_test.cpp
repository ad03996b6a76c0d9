// GPUs by dcgm-exporter's names and labels, and which pod or job they belong to.
#include "metrics/gpu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "metrics/pods.h"
#include "readings.h"

namespace muster::metrics {
namespace {

using health::NvmlReading;
using Time = GpuHistory::Time;

std::string told(const NvmlReading& reading, const GpuLabels& labels,
                 const GpuHistory& history = {}) {
  Exposition metrics;
  collect_gpu(reading, labels, history, metrics);
  const std::string text = metrics.text();
  EXPECT_TRUE(check_exposition(text, "m").empty()) << text;
  return text;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Gpu, SamplesHaveTheLabelsOfDcgmExporter) {
  GpuLabels labels;
  labels.host = "node-1";
  const std::string text = told(full_reading(1), labels);
  const std::string of =
      "{gpu=\"0\",UUID=\"GPU-a0\",pci_bus_id=\"00000000:53:00.0\",device=\"nvidia0\",modelName="
      "\"NVIDIA H100 80GB HBM3\",Hostname=\"node-1\",hostname=\"node-1\","
      "DCGM_FI_DRIVER_VERSION=\"570.86.15\"} ";
  EXPECT_TRUE(has_line(text, "DCGM_FI_DEV_GPU_TEMP" + of + "35")) << text;
  EXPECT_TRUE(has_line(text, "DCGM_FI_DEV_FB_USED" + of + "4096")) << "MiB\n" << text;
  EXPECT_TRUE(has_line(text, "DCGM_FI_DEV_POWER_USAGE" + of + "120.5")) << text;
  EXPECT_TRUE(has_line(text, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" + of + "0.5")) << text;
}

TEST(Gpu, TheHostsNameIsSpelledAsAsked) {
  GpuLabels labels;
  labels.host = "n";
  labels.label = HostLabel::kUpper;
  std::string text = told(full_reading(1), labels);
  EXPECT_NE(text.find(",Hostname=\"n\",DCGM"), std::string::npos);
  EXPECT_EQ(text.find(",hostname="), std::string::npos);
  labels.label = HostLabel::kLower;
  text = told(full_reading(1), labels);
  EXPECT_NE(text.find(",hostname=\"n\",DCGM"), std::string::npos);
  EXPECT_EQ(text.find("Hostname="), std::string::npos);
  labels.label = HostLabel::kNone;
  EXPECT_EQ(told(full_reading(1), labels).find("ostname="), std::string::npos);
}

TEST(Gpu, WhatAGpuDoesNotHaveIsNoSeries) {
  NvmlReading reading = full_reading(1);
  reading.gpus[0].temperature.reset();
  reading.gpus[0].profile.clear();
  const std::string text = told(reading, {});
  EXPECT_EQ(text.find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos);
  EXPECT_EQ(text.find("DCGM_FI_PROF_SM_ACTIVE"), std::string::npos);
}

TEST(Gpu, ALostGpuIsCountedAndHasNoOtherSeries) {
  NvmlReading reading = full_reading(2);
  reading.gpus[1] = {};
  reading.gpus[1].index = 1;
  reading.gpus[1].errors = 1;
  reading.gpus[1].lost = true;
  const std::string text = told(reading, {});
  EXPECT_TRUE(has_line(text, "muster_gpu_errors{gpu=\"1\"} 1")) << text;
  EXPECT_TRUE(has_line(text, "muster_gpus 2")) << text;
  EXPECT_EQ(text.find("DCGM_FI_DEV_GPU_TEMP{gpu=\"1\""), std::string::npos);
}

TEST(Gpu, AnXidIsToldWhileItIsRecentAndClearsAfterwards) {
  GpuHistory history;
  NvmlReading reading = full_reading(2);
  reading.xids = {{1, 79}, {1, 79}, {1, 31}};
  const Time start{};
  history.note(reading, start);
  std::string text = told(reading, {}, history);
  EXPECT_EQ(history.last_xid(1), 31U);
  EXPECT_EQ(history.xids(1), (std::map<std::uint64_t, int>{{31, 1}, {79, 2}}));
  EXPECT_NE(text.find("window_size_in_ms=\"300000\",xid=\"79\"} 2\n"), std::string::npos) << text;
  EXPECT_EQ(history.last_xid(0), 0U);

  reading.xids.clear();
  history.note(reading, start + GpuHistory::kWindow);
  EXPECT_EQ(history.last_xid(1), 0U);
  text = told(reading, {}, history);
  EXPECT_NE(text.find("xid=\"79\"} 0\n"), std::string::npos) << "the series stays\n" << text;
}

TEST(Gpu, ReasonsThatHoldClocksDownAreCountedWithinTheWindow) {
  GpuHistory history;
  NvmlReading reading = full_reading(1);
  reading.gpus[0].clock_reasons = 0x40;
  const Time start{};
  history.note(reading, start);
  history.note(reading, start + std::chrono::seconds(10));
  reading.gpus[0].clock_reasons = 0;
  history.note(reading, start + std::chrono::seconds(20));
  EXPECT_EQ(history.clock_events(0), (std::map<std::string, int>{{"hw_thermal", 2}}));
  history.note(reading, start + GpuHistory::kWindow + std::chrono::seconds(10));
  EXPECT_EQ(history.clock_events(0), (std::map<std::string, int>{{"hw_thermal", 0}}));
}

TEST(Gpu, AJobGetsASampleOfItsOwn) {
  EXPECT_EQ(parse_jobs("17\n\n 18\n17\n"), (std::vector<std::string>{"17", "18"}));
  GpuLabels labels;
  labels.jobs["0"] = {"17", "18"};
  const std::string text = told(full_reading(1), labels);
  EXPECT_NE(text.find("hpc_job=\"17\"} 35\n"), std::string::npos) << text;
  EXPECT_NE(text.find("hpc_job=\"18\"} 35\n"), std::string::npos);
}

// The checkpoint as kubelets since 1.20 write it, and as those before.
constexpr const char* kCheckpoint =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"train",)"
    R"("ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":["GPU-a0"],"1":["GPU-a1"]}},)"
    R"({"PodUID":"uid-gone","ContainerName":"old","DeviceIDs":["GPU-a2"]}],)"
    R"("RegisteredDevices":{}},"Checksum":1})";

TEST(Pods, AreFoundByTheKubeletsOwnFiles) {
  const auto pods =
      parse_pods(kCheckpoint, {"ml_llama-0_uid-1", "kube-system_x_uid-2", "odd"}, "c");
  ASSERT_TRUE(pods.ok());
  EXPECT_EQ(*pods, (PodDevices{{"GPU-a0", {"train", "ml", "llama-0"}},
                               {"GPU-a1", {"train", "ml", "llama-0"}}}));
  EXPECT_FALSE(parse_pods("{}", {}, "c").ok());
  EXPECT_FALSE(parse_pods("not json", {}, "c").ok());
  EXPECT_TRUE(parse_pods(R"({"Data":{"PodDeviceEntries":null}})", {}, "c").ok());
}

// A public report: series flip between two sets of labels when the pod is not known for a while.
TEST(Pods, ASampleHasTheSameLabelsWithAndWithoutAPod) {
  GpuLabels labels;
  labels.pods = true;
  const std::string without = told(full_reading(1), labels);
  EXPECT_NE(without.find(",container=\"\",namespace=\"\",pod=\"\"} 35\n"), std::string::npos)
      << without;
  labels.pod_devices = {{"GPU-a0", {"train", "ml", "llama-0"}}};
  EXPECT_NE(told(full_reading(1), labels)
                .find(",container=\"train\",namespace=\"ml\",pod=\"llama-0\"} 35\n"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::metrics
