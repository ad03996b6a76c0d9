// Looking at a host: what is there, what is missing, and faults that are planted.
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fixture.h"
#include "health/inject.h"

namespace muster::health {
namespace {

/// So that no driver of the machine that runs the tests is asked.
constexpr const char* kNoNvml = "/nonexistent/libnvidia-ml.so.1";

/// A host in memory.
class Tree {
 public:
  void put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.write("/host" + path, text).ok());
  }
  CheckResult look(const std::string& check, const std::string& instance = {}) {
    CheckResult result(check);
    find_check(check)->look(TreeView(files_, "/host"), a_host(instance), result);
    return result;
  }
  void put_efa(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string device = fmt::format("/sys/class/infiniband/rdmap{}s0", i);
      put(device + "/device/uevent", "DRIVER=efa\n");
      put(device + "/ports/1/state", "4: ACTIVE\n");
      put(device + "/ports/1/phys_state", "5: LinkUp\n");
      put(fmt::format("/dev/infiniband/uverbs{}", i), "");
    }
    for (const char* module : {"efa", "ib_uverbs", "ib_core"})
      put(std::string("/sys/module/") + module + "/refcnt", "1\n");
  }

 private:
  MemoryFileSystem files_;
};

TEST(Looking, EfaDevicesAreCountedByTheirDriver) {
  Tree tree;
  tree.put_efa(32);
  EXPECT_EQ(tree.look("efa", "p5.48xlarge").health(), Health::kOk);
  // Another RDMA device beside them is no adapter too many.
  tree.put("/sys/class/infiniband/mlx5_0/device/uevent", "DRIVER=mlx5_core\n");
  EXPECT_EQ(tree.look("efa", "p5.48xlarge").health(), Health::kOk);
  EXPECT_EQ(tree.look("efa", "p5en.48xlarge").health(), Health::kReplace);
  tree.put("/sys/class/infiniband/rdmap3s0/ports/1/state", "1: DOWN\n");
  EXPECT_EQ(tree.look("efa", "p5.48xlarge").health(), Health::kInvestigate);
}

TEST(Looking, AHostWithoutTheHardwareIsNotSick) {
  Tree tree;
  EXPECT_EQ(tree.look("efa").health(), Health::kUnknown);  // it does not show /sys
  EXPECT_EQ(tree.look("gpu").health(), Health::kUnknown);
  tree.put("/sys/class/net/eth0/mtu", "1500\n");
  tree.put("/sys/bus/pci/devices/0000:00:00.0/vendor", "0x8086\n");
  EXPECT_EQ(tree.look("efa").health(), Health::kNotApplicable);
  EXPECT_EQ(tree.look("gpu").health(), Health::kNotApplicable);
  EXPECT_EQ(tree.look("efa", "p5.48xlarge").health(), Health::kReplace);
  EXPECT_EQ(tree.look("gpu", "p5.48xlarge").health(), Health::kReplace);
}

TEST(Looking, AClusterOfWhichNothingCanBeSeenIsNotWell) {
  Tree tree;
  EXPECT_EQ(tree.look("slurm").health(), Health::kUnknown);
}

TEST(Looking, AMissingToolBesideTheHardwareIsAnError) {
  Tree tree;
  tree.put("/sys/bus/pci/devices/0000:53:00.0/vendor", "0x10de\n");
  tree.put("/sys/bus/pci/devices/0000:53:00.0/class", "0x030200\n");
  EXPECT_EQ(tree.look("gpu").health(), Health::kError);
  EXPECT_EQ(tree.look("dcgm").health(), Health::kError);
  tree.put("/commands/nvidia-smi_-q_-x", log("nvidia-smi-q-h100.xml"));
  EXPECT_EQ(tree.look("gpu").health(), Health::kOk);
}

TEST(Looking, ACommandThatFailsOrHangsIsNotBelieved) {
  MemoryFileSystem files;
  FakeProcessRunner processes;
  ProcessResult result;
  result.out = log("nvidia-smi-q-h100.xml");
  result.exit_code = 15;
  processes.answer("nvidia-smi -q -x", result);
  CheckResult failed("gpu");
  find_check("gpu")->look(LiveView(files, processes, kNoNvml), a_host(), failed);
  EXPECT_EQ(failed.health(), Health::kError) << failed.evidence();
  result.timed_out = true;
  processes.answer("nvidia-smi -q -x", result);
  CheckResult hung("gpu");
  find_check("gpu")->look(LiveView(files, processes, kNoNvml), a_host(), hung);
  EXPECT_EQ(hung.health(), Health::kReset) << hung.evidence();
}

// Every fault of the catalogue turns the check that has to find it, and no other, from well to
// unwell.
TEST(Inject, EveryFaultIsFoundByItsCheck) {
  MemoryFileSystem files;
  const auto put = [&](const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.write("/host" + path, text).ok());
  };
  std::string eight = log("nvidia-smi-q-h100.xml");
  const std::size_t first = eight.find("\t<gpu id"), after = eight.find("</gpu>") + 7;
  const std::string gpu = eight.substr(first, after - first);
  for (int i = 0; i < 6; ++i) eight.insert(first, gpu);
  eight.replace(eight.find("<attached_gpus>2"), 16, "<attached_gpus>8");
  put("/commands/nvidia-smi_-q_-x", eight);
  put("/commands/nvidia-smi_topo_-m", log("topo-p5.txt"));
  put("/commands/dmesg", "[ 0.0] Linux version 6.1\n[ 1.0] well\n");
  put("/proc/meminfo", log("meminfo-p5.txt"));
  put("/proc/mounts", log("mounts-p5.txt"));
  put("/commands/df_-P_-k", log("df-9.1.txt"));
  put("/commands/df_-P_-i", log("df-inodes-9.1.txt"));
  put("/commands/chronyc_tracking", log("chronyc-4.5.txt"));
  put("/proc/self/limits",
      "Max open files 65536 65536 files\nMax locked memory  unlimited  unlimited  bytes\n");
  for (int i = 0; i < 32; ++i) {
    const std::string device = fmt::format("/sys/class/infiniband/rdmap{}s0", i);
    put(device + "/device/uevent", "DRIVER=efa\n");
    put(device + "/ports/1/state", "4: ACTIVE\n");
    put(fmt::format("/dev/infiniband/uverbs{}", i), "");
  }
  for (const char* module : {"efa", "ib_uverbs", "ib_core"})
    put(std::string("/sys/module/") + module + "/refcnt", "1\n");
  const TreeView view(files, "/host");
  const Host host = a_host("p5.48xlarge");
  const std::vector<std::string> checks = {"gpu",    "kernel-log", "efa",     "topology",
                                           "limits", "memory",     "storage", "clocks"};
  for (const std::string& name : checks) {
    CheckResult well(name);
    find_check(name)->look(view, host, well);
    EXPECT_EQ(well.health(), Health::kOk) << name << ": " << well.evidence();
  }
  for (const Fault& fault : faults()) {
    const InjectedView injected(view, fault);
    for (const std::string& name : checks) {
      CheckResult result(name);
      find_check(name)->look(injected, host, result);
      if (name == fault.check) {
        EXPECT_TRUE(is_fault(result.health()) || result.health() == Health::kFlag)
            << fault.name << ": " << result.evidence();
      } else {
        EXPECT_EQ(result.health(), Health::kOk) << fault.name << " in " << name;
      }
    }
    EXPECT_TRUE(injected.planted()) << fault.name;
  }
}

}  // namespace
}  // namespace muster::health
