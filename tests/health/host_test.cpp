// Memory, storage, clocks, container runtimes and versions of a host.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <rapidcheck/gtest.h>

#include "fixture.h"
#include "health/mounts.h"

namespace muster::health {
namespace {

Host with_versions(const std::string& instance = {}) {
  static const facts::VersionCatalog kVersions =
      facts::load_versions(real_file_system(), testing::source_dir()).value();
  Host host = a_host(instance);
  host.versions = &kVersions;
  return host;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Clocks, AnOffsetIsJudgedInEveryForm) {
  const std::string chrony = log("chronyc-4.5.txt");
  for (const auto& [offset, expected] : {std::pair{"0.000003218", Health::kOk},
                                         {"0.06", Health::kFlag},
                                         {"301.5", Health::kInvestigate},
                                         {"1.2.3", Health::kUnknown}}) {
    EXPECT_EQ(health("clocks", replaced(chrony, "0.000003218", offset)), expected) << offset;
  }
  const std::string peers = log("ntpq-4.2.8.txt");
  EXPECT_EQ(health("clocks", replaced(peers, "-0.087", "-120.5")), Health::kFlag);
  EXPECT_EQ(health("clocks", replaced(peers, "-0.087", "-120500")), Health::kInvestigate);
  EXPECT_EQ(health("clocks", "       Server: 169.254.169.123\n       Offset: +75.1ms\n"),
            Health::kFlag);
  EXPECT_EQ(health("clocks", replaced(log("adjtimex-1.29.txt"), "-2481", "200000")), Health::kFlag);
}

TEST(Clocks, AClockThatNobodyKeepsRightIsFlagged) {
  EXPECT_EQ(health("clocks", replaced(log("chronyc-4.5.txt"), "Leap status     : Normal",
                                      "Leap status     : Not synchronised")),
            Health::kFlag);
  EXPECT_EQ(health("clocks",
                   replaced(log("timedatectl-255.txt"), "synchronized: yes", "synchronized: no")),
            Health::kFlag);
  EXPECT_EQ(health("clocks", "NTP=yes\nNTPSynchronized=no\n"), Health::kFlag);
  EXPECT_EQ(health("clocks", replaced(log("ntpq-4.2.8.txt"), "*169", " 169")), Health::kFlag);
  EXPECT_EQ(health("clocks", replaced(log("adjtimex-1.29.txt"), "8193", "8257")), Health::kFlag);
  EXPECT_EQ(health("clocks", "506 Cannot talk to daemon\n"), Health::kError);
}

TEST(Memory, IsHeldToTheInstanceType) {
  const std::string text = log("meminfo-p5.txt");
  EXPECT_EQ(health("memory", text, a_host("p5.48xlarge")), Health::kOk);
  EXPECT_EQ(health("memory", replaced(text, "2113402548", "1981123456"), a_host("p5.48xlarge")),
            Health::kOk);
  EXPECT_EQ(health("memory", replaced(text, "2113402548", "1056701274"), a_host("p5.48xlarge")),
            Health::kReplace);
  EXPECT_EQ(health("memory", text, a_host("p4d.24xlarge")), Health::kFlag);  // has more
  EXPECT_EQ(health("memory", "MemTotal:       2113402548 kB\n"), Health::kUnknown);
}

TEST(Memory, WhatIsUsedUpIsTold) {
  const std::string text = log("meminfo-p5.txt");
  EXPECT_EQ(
      health("memory", replaced(text, "MemAvailable:   2082771056", "MemAvailable:   90000000")),
      Health::kFlag);
  EXPECT_EQ(
      health("memory", replaced(text, "HardwareCorrupted:     0", "HardwareCorrupted:     8")),
      Health::kInvestigate);
  EXPECT_EQ(health("memory", replaced(text, "SwapTotal:             0", "SwapTotal:   9000000")),
            Health::kFlag);
  EXPECT_EQ(health("memory", replaced(text, "HugePages_Total:    5128", "HugePages_Total:    0"),
                   a_host("p5.48xlarge")),
            Health::kFlag);
  EXPECT_EQ(health("memory", "Mem:  2113402548 1 1 1 1 2082771056\nSwap: 0 0 0\n"),
            Health::kUnknown);  // kB or bytes?
}

TEST(Storage, FullDisksAreFaultsAndSharedOnesAreFlagged) {
  const std::string text = log("df-9.1.txt");
  EXPECT_EQ(health("storage", replaced(text, "45% /", "91% /")), Health::kFlag);
  EXPECT_EQ(health("storage", replaced(text, "45% /", "100% /")), Health::kInvestigate);
  // What all nodes share is not the fault of one.
  EXPECT_EQ(health("storage", replaced(text, "3% /fsx", "100% /fsx")), Health::kFlag);
  EXPECT_EQ(health("storage", replaced(log("df-inodes-9.1.txt"), "2% /", "100% /")),
            Health::kInvestigate);
  EXPECT_EQ(health("storage", "df: /fsx: Transport endpoint is not connected\n"),
            Health::kInvestigate);
  // An image that is mounted is full by nature; long names stand on a line of their own.
  EXPECT_EQ(health("storage",
                   "Filesystem 1K-blocks Used Available Use% Mounted on\n"
                   "/dev/loop3 64896 64896 0 100% /snap/core20/2318\n"
                   "/dev/mapper/a-very-long-name-of-a-volume\n"
                   "            1000 10 990 1% /data\n"),
            Health::kOk);
}

TEST(Storage, MountsAreThereAndWritable) {
  const std::string text = log("mounts-p5.txt");
  Host host = a_host();
  host.mounts = {"/fsx", "/opt/dlami/nvme"};
  EXPECT_EQ(health("storage", text, host), Health::kOk);
  host.mounts = {"/scratch"};
  EXPECT_EQ(health("storage", text, host), Health::kInvestigate);
  EXPECT_EQ(health("storage", replaced(text, "/ ext4 rw", "/ ext4 ro")), Health::kInvestigate);
  host.mounts = {"/fsx"};
  EXPECT_EQ(health("storage", replaced(text, "/fsx lustre rw", "/fsx lustre ro"), host),
            Health::kInvestigate);
  EXPECT_EQ(health("storage", "/dev/nvme1n1 on /data type ext4 (ro,emergency_ro,relatime)\n"),
            Health::kInvestigate);
}

TEST(Storage, ASlowDiskIsFlagged) {
  EXPECT_EQ(health("storage", replaced(log("dd-9.1.txt"), "0.0512044 s", "5.12 s")), Health::kFlag);
  EXPECT_EQ(health("storage", replaced(log("dd-9.1.txt"), "0.0512044 s", "0 s")), Health::kUnknown);
}

TEST(Storage, ContainersOnTheRootVolumeAreFlagged) {
  MemoryFileSystem files;
  const auto put = [&](const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.write("/host" + path, text).ok());
  };
  put("/proc/mounts", log("mounts-p5.txt"));
  put("/commands/df_-P_-k", log("df-9.1.txt"));
  put("/commands/df_-P_-i", log("df-inodes-9.1.txt"));
  const auto look = [&] {
    CheckResult result("storage");
    find_check("storage")->look(TreeView(files, "/host"), a_host(), result);
    return result;
  };
  EXPECT_EQ(look().health(), Health::kOk) << look().evidence();
  put("/etc/docker/daemon.json", R"({"data-root": "/opt/dlami/nvme/docker"})");
  put("/etc/enroot/enroot.conf",
      "ENROOT_DATA_PATH /opt/dlami/nvme/enroot/data/user-$(id -u)\n"
      "ENROOT_CACHE_PATH /fsx/enroot\n");
  EXPECT_EQ(look().health(), Health::kOk) << look().evidence();
  put("/etc/docker/daemon.json", R"({"data-root": "/var/lib/docker"})");
  EXPECT_EQ(look().health(), Health::kFlag) << look().evidence();
  put("/etc/docker/daemon.json", "{}");
  put("/etc/enroot/enroot.conf", "ENROOT_DATA_PATH=/var/lib/enroot/$UID\n");
  EXPECT_EQ(look().health(), Health::kFlag) << look().evidence();
}

TEST(Storage, TheSpeedIsMeasuredOnlyWhenAsked) {
  MemoryFileSystem files;
  FakeProcessRunner processes;
  ProcessResult well;
  well.exit_code = 0;
  ASSERT_TRUE(files.write("/proc/mounts", log("mounts-p5.txt")).ok());
  well.out = log("df-9.1.txt");
  processes.answer("df -P -k", well);
  well.out = log("df-inodes-9.1.txt");
  processes.answer("df -P -i", well);
  well.out = log("dd-9.1.txt");
  processes.answer("dd ", well);
  well.out.clear();
  processes.answer("rm ", well);
  Host host = a_host();
  const LiveView view(files, processes, "/nonexistent");
  CheckResult quiet("storage");
  find_check("storage")->look(view, host, quiet);
  EXPECT_EQ(quiet.health(), Health::kOk) << quiet.evidence();
  EXPECT_EQ(processes.asked().size(), 2U);
  host.scratch = "/opt/dlami/nvme";
  CheckResult result("storage");
  find_check("storage")->look(view, host, result);
  EXPECT_EQ(result.health(), Health::kOk) << result.evidence();
  // Written, flushed, read back and removed, each bounded.
  ASSERT_EQ(processes.asked().size(), 7U);
  EXPECT_EQ(processes.asked()[4].argv.back(), "conv=fsync");
  EXPECT_EQ(processes.asked()[6].argv,
            (std::vector<std::string>{"rm", "-f", "/opt/dlami/nvme/.muster-speed"}));
  for (const Command& one : processes.asked()) EXPECT_TRUE(one.time_limit.has_value());
}

TEST(Mounts, AreReadInBothForms) {
  const auto mounts = parse_mounts(
      "/dev/a /with\\040blank ext4 rw 0 0\n10.0.0.1:/x on /x type nfs4 (rw,hard)\nnonsense\n");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].point, "/with blank");
  EXPECT_EQ(mounts[1].type, "nfs4");
  EXPECT_TRUE(mounts[1].has("hard"));
  EXPECT_EQ(mount_of(mounts, "/x/y"), &mounts[1]);
  EXPECT_EQ(mount_of(mounts, "/xy"), nullptr);
}

class RuntimeTree {
 public:
  RuntimeTree() {
    put("/etc/hostname", "n1\n");
    put("/sys/bus/pci/devices/0000:53:00.0/vendor", "0x10de\n");
    put("/sys/bus/pci/devices/0000:53:00.0/class", "0x030200\n");
  }
  void put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.write("/host" + path, text).ok());
  }
  CheckResult look(const std::string& name) {
    CheckResult result(name);
    find_check(name)->look(TreeView(files_, "/host"), with_versions(), result);
    return result;
  }

 private:
  MemoryFileSystem files_;
};

TEST(ContainerRuntime, NothingThereDoesNotApply) {
  RuntimeTree tree;
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kNotApplicable);
}

TEST(ContainerRuntime, ItsPartsFitTogether) {
  RuntimeTree tree;
  tree.put("/commands/docker_info", log("docker-info-27.txt"));
  tree.put("/commands/nvidia-ctk_--version", "NVIDIA Container Toolkit CLI version 1.17.8\n");
  tree.put("/etc/docker/daemon.json",
           R"({"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}})");
  // The runtime that docker would start is not there.
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kInvestigate);
  tree.put("/usr/bin/nvidia-container-runtime", "x");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kOk)
      << tree.look("container-runtime").evidence();
  tree.put("/etc/docker/daemon.json", R"({"default-runtime": "nvidia"})");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kInvestigate);
  tree.put("/etc/docker/daemon.json", R"({"data-root": )");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kInvestigate);
  tree.put("/etc/docker/daemon.json", "{}");
  tree.put("/etc/slurm/plugstack.conf", "required /usr/lib/slurm/spank_pyxis.so\n");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kInvestigate);  // no enroot
  tree.put("/usr/lib/slurm/spank_pyxis.so", "x");
  tree.put("/commands/enroot_version", "3.5.0\n");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kOk)
      << tree.look("container-runtime").evidence();
  tree.put("/commands/nvidia-ctk_--version", "NVIDIA Container Toolkit CLI version 1.14.0\n");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kFlag);
  tree.put("/commands/nvidia-container-cli_--version",
           "cli-version: 1.17.8\nlib-version: 1.16.1\n");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kInvestigate);
}

TEST(ContainerRuntime, GpusWithoutTheToolkitAreAFault) {
  RuntimeTree tree;
  tree.put("/commands/containerd_--version", "containerd containerd.io 1.7.22 7f7fdf5\n");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kInvestigate);
  tree.put("/etc/cdi/nvidia.yaml", "cdiVersion: 0.5.0\n");
  EXPECT_EQ(tree.look("container-runtime").health(), Health::kOk)
      << tree.look("container-runtime").evidence();
}

TEST(Versions, AreHeldToFloorsAndToEachOther) {
  const std::string text = log("versions-p5.txt");
  const auto of = [&](const std::string& changed) {
    return read("versions", changed, with_versions("p5.48xlarge"));
  };
  EXPECT_EQ(of(text).health(), Health::kOk) << of(text).evidence();
  EXPECT_EQ(of(replaced(text, "1.48.0", "1.30.0")).health(), Health::kFlag);
  EXPECT_EQ(of(replaced(text, "2.30.4", "2.18.5")).health(), Health::kFlag);
  // CUDA 13 on a driver before branch 580; Fabric Manager of another version than the driver.
  EXPECT_EQ(of(replaced(text, "Driver Version: 580.95.05", "Driver Version: 550.90.07")).health(),
            Health::kFlag);
  EXPECT_EQ(of(text + "Fabric Manager version is : 570.86.15\n").health(), Health::kInvestigate);
  EXPECT_EQ(of(text + "/opt/nccl/libnccl.so.2.21.5\n").health(), Health::kFlag);
}

TEST(Versions, NothingFoundBesideHardwareIsUnknown) {
  RuntimeTree tree;
  EXPECT_EQ(tree.look("versions").health(), Health::kUnknown);
  tree.put("/proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n");
  EXPECT_EQ(tree.look("versions").health(), Health::kOk) << tree.look("versions").evidence();
}

// Of any share of the lines of a good output: an ok names what was seen, and what is left is never
// said to be more than it is.
RC_GTEST_PROP(HostReaders, WhatIsLeftOfAnOutputIsOkOnlyByWhatItTells, ()) {
  static const std::vector<std::pair<const char*, const char*>> kGood = {
      {"clocks", "chronyc-4.5.txt"},  {"clocks", "ntpq-4.2.8.txt"},
      {"memory", "meminfo-p5.txt"},   {"storage", "df-9.1.txt"},
      {"storage", "mounts-p5.txt"},   {"container-runtime", "docker-info-27.txt"},
      {"versions", "versions-p5.txt"}};
  const auto& [check, file] = kGood[*rc::gen::inRange<std::size_t>(0, kGood.size())];
  std::string left;
  const std::string text = log(file);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    if (*rc::gen::inRange(0, 3) == 0) left += text.substr(at, end + 1 - at);
    at = end + 1;
  }
  const CheckResult result = read(check, left);
  RC_ASSERT(!result.observations().empty());
  for (const Observation& seen : result.observations()) {
    if (seen.health != Health::kOk) continue;
    RC_ASSERT(!seen.evidence.empty());
    RC_ASSERT(seen.where.line > 0);
    RC_ASSERT(!left.empty());
  }
  if (left.empty()) RC_ASSERT(result.health() == Health::kUnknown);
}

}  // namespace
}  // namespace muster::health
