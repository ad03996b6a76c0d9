// The gpu check through the driver's library: a stub of it with planted faults.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "fixture.h"
#include "health/inject.h"

namespace muster::health {
namespace {

class LookNvml : public ::testing::Test {
 protected:
  LookNvml() { setenv("MUSTER_NVML_STUB", file_.c_str(), 1); }
  ~LookNvml() override { std::filesystem::remove(file_); }

  /// What the gpu check makes of GPUs that tell so.
  CheckResult look(const std::string& gpus, const std::string& instance = "p5.48xlarge",
                   const char* fault = nullptr) {
    EXPECT_TRUE(real_file_system().write(file_, gpus).ok());
    Host host = a_host(instance);
    host.quick = true;
    const LiveView view(files_, processes_, MUSTER_NVML_STUB_LIBRARY);
    CheckResult result("gpu");
    if (fault != nullptr)
      find_check("gpu")->look(InjectedView(view, *find_fault(fault)), host, result);
    else
      find_check("gpu")->look(view, host, result);
    return result;
  }

  MemoryFileSystem files_;
  FakeProcessRunner processes_;
  std::string file_ = ::testing::TempDir() + "look_nvml_" + std::to_string(getpid());
};

TEST_F(LookNvml, GpusThatAreWellAreOkWithoutNvidiaSmi) {
  const CheckResult result = look("gpus = 8\n");
  EXPECT_EQ(result.health(), Health::kOk) << result.evidence();
  EXPECT_EQ(result.observations().back().evidence, "8 GPUs, as p5.48xlarge has");
  EXPECT_TRUE(processes_.asked().empty());
}

TEST_F(LookNvml, EveryPlantedFaultIsFound) {
  for (const auto& [setting, expected] : {std::pair{"gpu.3.ecc_uncorrected = 2", Health::kReset},
                                          {"gpu.3.retired_double = 1", Health::kReplace},
                                          {"gpu.3.retired_pending = 1", Health::kReboot},
                                          {"gpu.3.remap_failed = 1", Health::kReplace},
                                          {"gpu.3.remap_pending = 1", Health::kReset},
                                          {"gpu.3.pcie_width = 8", Health::kInvestigate},
                                          {"gpu.3.clock_reasons = 0x40", Health::kInvestigate},
                                          {"gpu.3.clock_reasons = 0x80", Health::kInvestigate},
                                          {"gpu.3.clock_reasons = 0x20", Health::kFlag},
                                          {"gpu.3.persistence_mode = 0", Health::kFlag},
                                          {"gpu.3.fabric_state = 2", Health::kReset},
                                          {"gpu.3.lost = 1", Health::kReboot},
                                          {"gpu.3.error = 999", Health::kInvestigate},
                                          {"gpu.3.error = 16", Health::kReset}}) {
    const CheckResult result = look(std::string("gpus = 8\n") + setting + "\n");
    EXPECT_EQ(result.health(), expected) << setting << ": " << result.evidence();
    EXPECT_NE(result.evidence().find("GPU 3"), std::string::npos) << result.evidence();
  }
  EXPECT_EQ(look("gpus = 7\n").health(), Health::kReplace);
}

TEST_F(LookNvml, FaultsAreInjectedIntoWhatItTells) {
  for (const char* fault : {"ecc-uncorrected", "row-remap-failure", "row-remap-pending",
                            "pcie-width", "throttled", "fabric-manager", "gpu-missing"}) {
    const CheckResult result = look("gpus = 8\n", "p5.48xlarge", fault);
    EXPECT_TRUE(is_fault(result.health())) << fault << ": " << result.evidence();
  }
  EXPECT_EQ(look("gpus = 8\n", "p5.48xlarge", "driver-hangs").health(), Health::kError);
}

TEST_F(LookNvml, ADriverThatIsNotLoadedIsNotBelieved) {
  // Beside hardware that is there, and without nvidia-smi.
  EXPECT_TRUE(files_.write("/sys/bus/pci/devices/0000:53:00.0/vendor", "0x10de\n").ok());
  EXPECT_TRUE(files_.write("/sys/bus/pci/devices/0000:53:00.0/class", "0x030200\n").ok());
  const CheckResult alone = look("init = 9\n", {});
  EXPECT_EQ(alone.health(), Health::kError) << alone.evidence();
  EXPECT_NE(alone.evidence().find("Driver Not Loaded"), std::string::npos) << alone.evidence();
  ProcessResult says;
  says.exit_code = 9;
  says.out = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n";
  processes_.answer("nvidia-smi -q -x", says);
  EXPECT_EQ(look("init = 9\n", {}).health(), Health::kReboot);
}

}  // namespace
}  // namespace muster::health
