// GPUs, DCGM, the kernel's log, topology and limits: each fault, each form.
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fixture.h"
#include "health/readers.h"

namespace muster::health {
namespace {

TEST(Dcgm, SeveritiesOfBothVersionsAreFolded) {
  const CheckResult four = read("dcgm", log("dcgm-4-isolate.json"));
  EXPECT_EQ(four.health(), Health::kReplace);
  EXPECT_NE(four.evidence().find("memory GPU 3: Fail: Found 2 faulty memory elements on GPU 3 "
                                 "[DCGM_FR_FAULTY_MEMORY, isolate]"),
            std::string::npos)
      << four.evidence();
  EXPECT_NE(four.evidence().find("pcie GPU 0: Warn"), std::string::npos) << four.evidence();
  const CheckResult three = read("dcgm", log("dcgm-3-fail.json"));
  // A Fail without a severity is to be looked into, and is worse than a reset.
  EXPECT_EQ(three.health(), Health::kInvestigate);
  EXPECT_NE(three.evidence().find("PENDING_ROW_REMAP, reset"), std::string::npos)
      << three.evidence();
  EXPECT_EQ(health("dcgm", log("dcgm-4-table.log")), Health::kInvestigate);
}

TEST(Dcgm, EverySeverityHasItsOutcome) {
  for (const auto& [severity, outcome] : {std::pair{0, Health::kInvestigate},
                                          {1, Health::kFlag},
                                          {2, Health::kReplace},
                                          {3, Health::kInvestigate},
                                          {4, Health::kInvestigate},
                                          {5, Health::kFlag},
                                          {6, Health::kReset},
                                          {7, Health::kInvestigate}}) {
    const std::string text =
        R"({"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"t","results":[{"entity_id":0,"status":"Fail","warnings":[{"warning":"w","error_severity":)" +
        std::to_string(severity) + "}]}]}]}]}}";
    EXPECT_EQ(health("dcgm", text), outcome) << severity;
  }
}

TEST(Dcgm, EveryCodeFoldsByTheTableWhenNoSeverityIsGiven) {
  std::size_t tried = 0;
  EXPECT_EQ(known().dcgm.size(), 133U);
  for (const facts::DcgmError& error : known().dcgm) {
    const std::string text =
        R"({"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"t","results":[{"entity_id":0,"status":"Fail","warnings":[{"warning":"DCGM_FR_)" +
        error.name + "\"}]}]}]}]}}";
    const Health seen = health("dcgm", text);
    EXPECT_GE(seen, Health::kFlag) << error.name;
    if (error.severity == "isolate") {
      EXPECT_EQ(seen, error.name == "GPU_RECOVERY_REBOOT" ? Health::kReboot : Health::kReplace)
          << error.name;
    }
    ++tried;
  }
  EXPECT_EQ(tried, 133U);
}

TEST(Dcgm, APassThatRecordsAnErrorIsNotOk) {
  EXPECT_EQ(
      health(
          "dcgm",
          R"({"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"memory","results":[{"entity_id":0,"status":"Pass","warnings":[{"warning":"Couldn't allocate","error_id":56,"error_severity":4}]}]}]}]}})"),
      Health::kInvestigate);
}

TEST(Dcgm, OnlySkippedIsSkipped) {
  const std::string text =
      R"({"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"memory","results":[{"entity_id":0,"status":"Skip"}]}]}]}})";
  EXPECT_EQ(health("dcgm", text), Health::kSkipped);
}

TEST(KernelLog, EveryFormTellsTheSameXid) {
  const std::string xid = "NVRM: Xid (PCI:0000:53:00): 79, pid=1, GPU has fallen off the bus.";
  for (const std::string& line :
       {"[   12.345678] " + xid, "3,1234,5678901,-;" + xid, "<3>[   12.3] " + xid,
        "kern  :err   : [   12.3] " + xid, "[Mon Nov 30 09:48:00 2026] " + xid,
        "Nov 30 09:48:00 n1 kernel: " + xid, "2026-11-30T09:48:00+0000 n1 kernel: " + xid,
        "[   12.345678] n1 kernel: " + xid, "Nov 30 09:48:00 n1 kernel: [ 12.345678] " + xid,
        "2: [   12.345678] " + xid, "n1: [   12.345678] " + xid,
        R"({"MESSAGE":")" + xid +
            R"(","_HOSTNAME":"n1","__REALTIME_TIMESTAMP":"1764496080000000"})",
        std::string("[   12.345678] NVRM: Xid (0000:53:00): 79, old form")}) {
    const CheckResult result = read("kernel-log", line + "\n");
    EXPECT_EQ(result.health(), Health::kReboot) << line;
    EXPECT_NE(result.evidence().find("GPU 0000:53:00: Xid 79"), std::string::npos)
        << result.evidence();
  }
}

TEST(KernelLog, OnlyTheLastBootCounts) {
  const std::string before = "[ 1.0] Linux version 6.1\n[ 2.0] NVRM: Xid (PCI:0000:53:00): 79, x\n";
  const std::string after = "[ 0.0] Linux version 6.1\n[ 1.0] all is well\n";
  EXPECT_EQ(health("kernel-log", before + after), Health::kOk);
  EXPECT_EQ(health("kernel-log", after + before), Health::kReboot);
  Host host = a_host();
  host.all_boots = true;
  EXPECT_EQ(health("kernel-log", before + after, host), Health::kReboot);
  EXPECT_EQ(health("kernel-log",
                   "Nov 30 09:00:00 n1 kernel: NVRM: Xid (PCI:1:2): 79, x\n"
                   "-- Boot 0123 --\nNov 30 09:10:00 n1 kernel: well\n"),
            Health::kOk);
}

TEST(KernelLog, TheWindowLeavesOutWhatIsOlder) {
  const std::string text = "[ 100.0] NVRM: Xid (PCI:0000:53:00): 79, x\n[ 5000.0] later\n";
  Host host = a_host();
  host.window = 600;
  EXPECT_EQ(health("kernel-log", text, host), Health::kOk);
  host.window = 6000;
  EXPECT_EQ(health("kernel-log", text, host), Health::kReboot);
}

TEST(KernelLog, ThePolicyIsFollowedCodeByCode) {
  for (const auto& [code, outcome] : {std::pair{54, Health::kReplace},
                                      {79, Health::kReboot},
                                      {48, Health::kReset},
                                      {64, Health::kReset},
                                      {119, Health::kReset},
                                      {74, Health::kReset},
                                      {144, Health::kFlag},
                                      {94, Health::kReset},
                                      {13, Health::kFlag},
                                      {63, Health::kFlag},
                                      {81, Health::kFlag},
                                      {999, Health::kUnknown}}) {
    EXPECT_EQ(
        health("kernel-log", fmt::format("[ 1.0] NVRM: Xid (PCI:0000:53:00): {}, text\n", code)),
        outcome)
        << code;
  }
  EXPECT_EQ(
      health("kernel-log", "[ 1.0] NVRM: Xid (PCI:0000:53:00): 64, x\n", a_host("p4d.24xlarge")),
      Health::kReboot);
  EXPECT_EQ(health("kernel-log",
                   "[ 1.0] NVRM: Xid (PCI:0000:53:00): 154, GPU recovery action changed from 0x0 "
                   "(None) to 0x2 (Node Reboot Required)\n"),
            Health::kReboot);
  Host host = a_host();
  host.ignored_xids = {79};
  const CheckResult ignored =
      read("kernel-log", "[ 1.0] NVRM: Xid (PCI:0000:53:00): 79, x\n", host);
  EXPECT_EQ(ignored.health(), Health::kOk);
  EXPECT_NE(ignored.evidence().find("1 Xid lines left out as asked"), std::string::npos);
}

TEST(KernelLog, RepeatsMakeItWorse) {
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += fmt::format("[ {}.0] NVRM: Xid (PCI:0000:53:00): 145, RLW_SRC_TRACK\n", i);
  EXPECT_EQ(health("kernel-log", text), Health::kReset);
  // Of one GPU, not of five.
  std::string spread;
  for (int i = 0; i < 5; ++i)
    spread += fmt::format("[ {0}.0] NVRM: Xid (PCI:0000:{0}3:00): 145, RLW_SRC_TRACK\n", i);
  EXPECT_EQ(health("kernel-log", spread), Health::kFlag);
}

TEST(Gpu, EveryFaultIsFoundInTextAndXml) {
  struct Fault {
    const char *text, *text_bad, *xml, *xml_bad;
    Health health;
  };
  const Fault kFaults[] = {
      {"DRAM Uncorrectable            : 0", "DRAM Uncorrectable            : 2",
       "<dram_uncorrectable>0<", "<dram_uncorrectable>2<", Health::kReset},
      {"DRAM Correctable              : 0", "DRAM Correctable              : 1",
       "<dram_correctable>0<", "<dram_correctable>1<", Health::kFlag},
      {"SRAM Threshold Exceeded       : No", "SRAM Threshold Exceeded       : Yes",
       "<sram_threshold_exceeded>No<", "<sram_threshold_exceeded>Yes<", Health::kReplace},
      {"Pending                           : No", "Pending                           : Yes",
       "<remapped_row_pending>No<", "<remapped_row_pending>Yes<", Health::kReset},
      {"Remapping Failure Occurred        : No", "Remapping Failure Occurred        : Yes",
       "<remapped_row_failure>No<", "<remapped_row_failure>Yes<", Health::kReplace},
      {"Uncorrectable Error               : 0", "Uncorrectable Error               : 3",
       "<remapped_row_unc>0<", "<remapped_row_unc>3<", Health::kFlag},
      {"Current                   : 16x", "Current                   : 8x",
       "<current_link_width>16x<", "<current_link_width>8x<", Health::kInvestigate},
      {"Current                   : 16x", "Current                   : 8x", "<current_link_gen>5<",
       "<current_link_gen>1<", Health::kInvestigate},
      {"HW Slowdown                       : Not Active",
       "HW Slowdown                       : Active", "<clocks_event_reason_hw_slowdown>Not Active<",
       "<clocks_event_reason_hw_slowdown>Active<", Health::kInvestigate},
      {"Persistence Mode                      : Enabled",
       "Persistence Mode                      : Disabled", "<persistence_mode>Enabled<",
       "<persistence_mode>Disabled<", Health::kFlag},
      {"State                             : Completed",
       "State                             : In Progress", "<state>Completed<",
       "<state>In Progress<", Health::kReset},
      {"GPU Recovery Action                   : None",
       "GPU Recovery Action                   : Reboot", "<gpu_recovery_action>None<",
       "<gpu_recovery_action>Reboot<", Health::kReboot},
      // A query that fails on a wedged GPU is not a good answer.
      {"DRAM Uncorrectable            : 0", "DRAM Uncorrectable            : Unknown Error",
       "<dram_uncorrectable>0<", "<dram_uncorrectable>Unknown Error<", Health::kInvestigate},
      {"GPU Current Temp                  : 34 C",
       "GPU Current Temp                  : GPU is lost", "<gpu_temp>34 C<",
       "<gpu_temp>GPU is lost<", Health::kReboot},
      {"DRAM Uncorrectable            : 0", "DRAM Uncorrectable            : banana",
       "<dram_uncorrectable>0<", "<dram_uncorrectable>banana<", Health::kUnknown},
  };
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const Fault& fault : kFaults) {
    const CheckResult text =
        read("gpu", with(log("nvidia-smi-q-h100.txt"), fault.text, fault.text_bad));
    EXPECT_EQ(text.health(), fault.health) << fault.text_bad << ": " << text.evidence();
    const CheckResult xml =
        read("gpu", with(log("nvidia-smi-q-h100.xml"), fault.xml, fault.xml_bad));
    EXPECT_EQ(xml.health(), fault.health) << fault.xml_bad << ": " << xml.evidence();
    EXPECT_NE(xml.evidence().find("file:"), std::string::npos) << xml.evidence();
  }
}

TEST(Gpu, CountsAgainstTheInstance) {
  const std::string two = log("nvidia-smi-q-h100.txt");
  EXPECT_EQ(health("gpu", two, a_host("p5.48xlarge")), Health::kReplace);
  EXPECT_EQ(health("gpu", "No devices were found\n", a_host("p5.48xlarge")), Health::kReplace);
  EXPECT_EQ(health("gpu",
                   "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA "
                   "driver. Make sure that the latest NVIDIA driver is installed and running.\n"),
            Health::kReboot);
  EXPECT_EQ(health("gpu", "GPU 0: NVIDIA H100 (UUID: GPU-1)\n"), Health::kUnknown);
}

TEST(Gpu, ReadsTheCsvOfAQuery) {
  const std::string titles =
      "index, pci.bus_id, ecc.errors.uncorrected.volatile.total, retired_pages.pending, "
      "temperature.gpu\n";
  EXPECT_EQ(health("gpu", titles + "0, 00000000:53:00.0, 0, No, 34\n"), Health::kOk);
  EXPECT_EQ(health("gpu", titles + "0, 00000000:53:00.0, 4, No, 34\n"), Health::kReset);
  EXPECT_EQ(health("gpu", titles + "0, 00000000:53:00.0, 0, Yes, 34\n"), Health::kReboot);
  EXPECT_EQ(health("gpu", titles + "0, 00000000:53:00.0, [GPU requires reset], No, 34\n"),
            Health::kReset);
  EXPECT_EQ(health("gpu", titles + "0, 00000000:53:00.0, 0\n"), Health::kUnknown);
}

TEST(Topology, FaultsOfTheMatrixAreFound) {
  const std::string good = log("topo-p5.txt");
  EXPECT_EQ(health("topology", good, a_host("p5.48xlarge")), Health::kOk);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(health("topology", with("NV18\tNV18", "SYS\tNV18"), a_host("p5.48xlarge")),
            Health::kReplace);
  EXPECT_EQ(health("topology", with("NV18\tNV18", "NV16\tNV18"), a_host("p5.48xlarge")),
            Health::kInvestigate);
  EXPECT_EQ(health("topology", with("NV18\tNV18", " X \tNV18"), a_host("p5.48xlarge")),
            Health::kReplace);
  std::string without = good;
  for (std::size_t at; (at = without.find("NV18")) != std::string::npos;)
    without.replace(at, 4, "SYS");
  EXPECT_EQ(health("topology", without, a_host("p5.48xlarge")), Health::kReplace);
}

TEST(Topology, LinksAreCounted) {
  std::string links = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n";
  for (int i = 0; i < 18; ++i) links += fmt::format("\t Link {}: 26.562 GB/s\n", i);
  EXPECT_EQ(health("topology", links, a_host("p5.48xlarge")), Health::kOk);
  const std::string down =
      links + "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n\t Link 0: <inactive>\n";
  EXPECT_EQ(health("topology", down, a_host("p5.48xlarge")), Health::kInvestigate);
  EXPECT_EQ(health("topology", down), Health::kFlag);
  EXPECT_EQ(health("topology", "GPU 0: NVIDIA H100\n\t Link 0: Replay Errors: 0\n"), Health::kOk);
  EXPECT_EQ(health("topology", "GPU 0: NVIDIA H100\n\t Link 0: Replay Errors: 7\n"), Health::kFlag);
}

TEST(Limits, TheNeedOfAJobIsComputed) {
  const std::string text =
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max open files            1024                 524288               files     \n"
      "Max locked memory         unlimited            unlimited            bytes     \n";
  EXPECT_EQ(health("limits", text), Health::kOk);
  Host host = a_host("p5.48xlarge");
  host.nodes = 18;
  EXPECT_EQ(health("limits", text, host), Health::kInvestigate);
  EXPECT_EQ(
      health("limits", "max locked memory           (kbytes, -l) 64\nopen files (-n) 65536\n"),
      Health::kFlag);
  EXPECT_EQ(health("limits", "open files                          (-n) 65536\n"), Health::kUnknown);
}

}  // namespace
}  // namespace muster::health
