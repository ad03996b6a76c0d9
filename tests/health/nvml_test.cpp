// NVML through the stub library: what GPUs tell, what is absent, and that no wait is without end.
#include "health/nvml.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/file_system.h"

namespace muster::health {
namespace {

constexpr std::chrono::seconds kPatience(60);

class Nvml : public ::testing::Test {
 protected:
  Nvml() { setenv("MUSTER_NVML_STUB", file_.c_str(), 1); }
  ~Nvml() override { std::filesystem::remove(file_); }
  void tell(const std::string& text) { ASSERT_TRUE(real_file_system().write(file_, text).ok()); }

  std::string file_ = ::testing::TempDir() + "nvml_stub_" + std::to_string(getpid());
};

std::string message_of(const Findings& findings) {
  return findings.front().rule + ": " + findings.front().message;
}

TEST_F(Nvml, TellsWhatEveryGpuHas) {
  tell(
      "gpus = 2\ngpu.1.temperature = 77\ngpu.1.power = 698250\ngpu.1.clock_reasons = 0x44\n"
      "gpu.1.link.5 = 0\ngpu.*.link_replays = 2\ngpu.1.violation.1 = 12\n"
      "gpu.0.ecc_uncorrected = 1\n");
  NvmlReader reader(MUSTER_NVML_STUB_LIBRARY);
  const auto reading = reader.read(kPatience);
  ASSERT_TRUE(reading.ok()) << message_of(reading.findings());
  EXPECT_EQ(reading->driver, "570.86.15");
  ASSERT_EQ(reading->gpus.size(), 2U);
  const NvmlGpu& gpu = reading->gpus[1];
  EXPECT_EQ(gpu.error, "");
  EXPECT_EQ(gpu.uuid, "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(gpu.bus_id, "00000000:63:00.0");
  EXPECT_EQ(gpu.minor, 1);
  EXPECT_EQ(gpu.temperature, 77U);
  EXPECT_EQ(gpu.memory_temperature, 41U);
  EXPECT_EQ(gpu.power, 698.25);
  EXPECT_EQ(gpu.memory_total, 80ULL << 30);
  EXPECT_EQ(gpu.violations.at("thermal"), 12U);
  EXPECT_EQ(clock_reason_names(*gpu.clock_reasons),
            (std::vector<std::string>{"power_cap", "hw_thermal"}));
  ASSERT_EQ(gpu.links.size(), 18U);
  EXPECT_FALSE(gpu.links[5].active);
  EXPECT_EQ(gpu.link_replays, 34U) << "of the 17 links that are up";
  EXPECT_EQ(gpu.link_data, 2048U);
  EXPECT_EQ(reading->gpus[0].ecc_uncorrected, 1U);
  EXPECT_EQ(gpu.fabric_state, 3U);
}

TEST_F(Nvml, WhatIsNotSupportedIsAbsentAndNoError) {
  tell(
      "gpus = 1\ngpu.0.temperature = unsupported\ngpu.0.links = 0\ngpu.0.gpm = 0\n"
      "gpu.0.remapped_correctable = unsupported\n");
  NvmlReader reader(MUSTER_NVML_STUB_LIBRARY);
  const auto reading = reader.read(kPatience);
  ASSERT_TRUE(reading.ok());
  const NvmlGpu& gpu = reading->gpus.at(0);
  EXPECT_EQ(gpu.errors, 0) << gpu.error;
  EXPECT_FALSE(gpu.temperature.has_value());
  EXPECT_FALSE(gpu.remap_pending.has_value());
  EXPECT_TRUE(gpu.links.empty());
  EXPECT_TRUE(gpu.profile.empty());
  EXPECT_TRUE(gpu.power.has_value());
}

TEST_F(Nvml, ALostGpuIsSaidAndTheOthersAreRead) {
  tell("gpus = 3\ngpu.1.lost = 1\ngpu.2.no_handle = 1\n");
  NvmlReader reader(MUSTER_NVML_STUB_LIBRARY);
  const auto reading = reader.read(kPatience);
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->gpus.size(), 3U);
  EXPECT_EQ(reading->gpus[0].errors, 0);
  EXPECT_TRUE(reading->gpus[1].lost);
  EXPECT_EQ(reading->gpus[1].error, "nvmlDeviceGetUUID: GPU is lost");
  EXPECT_FALSE(reading->gpus[1].temperature.has_value());
  EXPECT_TRUE(reading->gpus[2].lost);
}

TEST_F(Nvml, RatiosAreTakenBetweenTwoReadings) {
  tell("gpus = 1\ngpm.5 = 42.5\ngpm.20 = 3\n");
  NvmlReader reader(MUSTER_NVML_STUB_LIBRARY);
  const auto first = reader.read(kPatience);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->gpus.at(0).profile.empty());
  const auto second = reader.read(kPatience);
  ASSERT_TRUE(second.ok());
  EXPECT_DOUBLE_EQ(second->gpus.at(0).profile.at("tensor"), 0.425);
  EXPECT_DOUBLE_EQ(second->gpus.at(0).pcie_sent.value(), 3.0 * 1024 * 1024);
}

TEST_F(Nvml, EveryXidIsToldOnce) {
  tell("gpus = 2\n");
  NvmlReader reader(MUSTER_NVML_STUB_LIBRARY);
  ASSERT_TRUE(reader.read(kPatience).ok());
  tell("gpus = 2\nxid.a = 1:79\nxid.b = 0:31\n");
  const auto reading = reader.read(kPatience);
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->xids.size(), 2U);
  EXPECT_EQ(reading->xids[0].gpu, 1);
  EXPECT_EQ(reading->xids[0].code, 79U);
  EXPECT_TRUE(reader.read(kPatience)->xids.empty());
}

TEST_F(Nvml, ALibraryThatIsNotThereOrCannotStartIsAFinding) {
  NvmlReader missing("/nonexistent/libnvidia-ml.so.1");
  const auto none = missing.read(kPatience);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.findings().front().rule, "nvml-missing");

  tell("init = 18\n");
  NvmlReader mismatched(MUSTER_NVML_STUB_LIBRARY);
  const auto refused = mismatched.read(kPatience);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(message_of(refused.findings()),
            "nvml-failed: nvmlInit_v2: Driver/library version mismatch");
  // Once the driver is there, the next reading finds it.
  tell("gpus = 1\n");
  EXPECT_TRUE(mismatched.read(kPatience).ok());
}

TEST_F(Nvml, ADriverThatHangsIsNamedAndNotWaitedFor) {
  tell("gpus = 1\nhang = nvmlDeviceGetPowerUsage\n");
  NvmlReader reader(MUSTER_NVML_STUB_LIBRARY);
  // On a busy machine the reader's thread may need several turns to come so far.
  std::string said;
  for (int i = 0; i < 300 && said.find("GetPowerUsage hangs") == std::string::npos; ++i) {
    const auto reading = reader.read(std::chrono::milliseconds(200));
    ASSERT_FALSE(reading.ok());
    EXPECT_EQ(reading.findings().front().rule, "nvml-timeout");
    said = reading.findings().front().message;
  }
  EXPECT_EQ(said, "NVML did not answer within 0.2 s: nvmlDeviceGetPowerUsage hangs");
}

}  // namespace
}  // namespace muster::health
