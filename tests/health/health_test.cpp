#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <sstream>

#include "base/hostlist.h"
#include "facts/facts.h"
#include "health/act.h"
#include "health/action.h"
#include "health/checks.h"
#include "health/history.h"
#include "health/inject.h"
#include "health/json_text.h"
#include "health/readers.h"
#include "health/slurm_nodes.h"
#include "testing.h"

namespace muster::health {
namespace {

/// Facts of the checkout, read once.
struct Known {
  facts::KernelPolicy kernel = facts::load_xid(real_file_system(), testing::source_dir()).value();
  facts::DcgmErrors dcgm = facts::load_dcgm(real_file_system(), testing::source_dir()).value();
  facts::Thresholds thresholds =
      facts::load_health(real_file_system(), testing::source_dir()).value();
  std::vector<facts::Instance> instances =
      facts::load_instances(real_file_system(), testing::source_dir()).value();
};

const Known& known() {
  static const Known kKnown;
  return kKnown;
}

Host a_host(const std::string& instance = {}) {
  Host host;
  host.kernel = &known().kernel;
  host.dcgm = &known().dcgm;
  host.thresholds = &known().thresholds;
  if (!instance.empty()) host.instance = facts::find_instance(known().instances, instance).value();
  return host;
}

std::string log(const std::string& name) {
  return real_file_system().read(testing::source_dir() / "tests/health/logs" / name).value();
}

CheckResult read(const std::string& check, const std::string& text, const Host& host = a_host()) {
  CheckResult result(check);
  find_check(check)->read({"file", text}, host, result);
  return result;
}

Health health(const std::string& check, const std::string& text, const Host& host = a_host()) {
  return read(check, text, host).health();
}

struct LogOf {
  const char* check;
  const char* file;
};

constexpr LogOf kGood[] = {
    {"dcgm", "dcgm-4-pass.json"},     {"gpu", "nvidia-smi-q-h100.txt"},
    {"gpu", "nvidia-smi-q-h100.xml"}, {"topology", "topo-p5.txt"},
    {"efa", "lspci-p5en.txt"},        {"neuron", "neuron-ls.json"},
};

constexpr LogOf kAll[] = {
    {"dcgm", "dcgm-4-pass.json"},      {"dcgm", "dcgm-4-isolate.json"},
    {"dcgm", "dcgm-3-fail.json"},      {"dcgm", "dcgm-4-table.log"},
    {"gpu", "nvidia-smi-q-h100.txt"},  {"gpu", "nvidia-smi-q-h100.xml"},
    {"topology", "topo-p5.txt"},       {"efa", "lspci-p5en.txt"},
    {"efa", "rdma-statistic.txt"},     {"slurm", "scontrol-23.02.txt"},
    {"slurm", "sinfo-25.05.txt"},      {"neuron", "neuron-ls.json"},
    {"neuron", "neuron-monitor.json"},
};

TEST(Outcomes, TheWorstIsKeptAndNothingSeenIsUnknown) {
  CheckResult check("c");
  EXPECT_EQ(check.health(), Health::kUnknown);
  check.add(Health::kReboot, "a", "", "xid 79");
  check.add(Health::kFlag, "b", "", "later and milder");
  check.add(Health::kOk, "c", "", "and well");
  EXPECT_EQ(check.health(), Health::kReboot);
  EXPECT_EQ(check.observations().size(), 3U);
  EXPECT_NE(check.evidence().find("xid 79"), std::string::npos);
  EXPECT_NE(check.evidence().find("later and milder"), std::string::npos);
}

TEST(Outcomes, SkippedNeverCountsAsPass) {
  CheckResult skipped("s"), good("g"), absent("a");
  skipped.add(Health::kSkipped, "x", "", "asked, not done");
  good.add(Health::kOk, "x", "", "well");
  absent.add(Health::kNotApplicable, "x", "", "no such thing");
  EXPECT_EQ(exit_code(worst_of({good, skipped})), kExitUnverified);
  EXPECT_EQ(exit_code(worst_of({good, absent})), kExitOk);
  EXPECT_EQ(exit_code(worst_of({absent})), kExitUnverified);
  EXPECT_EQ(exit_code(worst_of({})), kExitUnverified);
  good.add(Health::kSkipped, "x", "", "one part of it");
  EXPECT_EQ(exit_code(worst_of({good})), kExitOk);
}

TEST(Outcomes, ExitCodesFollowTheOrder) {
  for (const auto& [word, code] : {std::pair{"ok", 0},
                                   {"flag", 0},
                                   {"reset", 3},
                                   {"reboot", 3},
                                   {"investigate", 3},
                                   {"replace", 3},
                                   {"skipped", 4},
                                   {"unknown", 4},
                                   {"error", 4}}) {
    const auto health = parse_health_word(word);
    ASSERT_TRUE(health.has_value()) << word;
    EXPECT_STREQ(to_string(*health), word);
    EXPECT_EQ(exit_code(*health), code) << word;
  }
}

TEST(Readers, GoodOutputsAreOk) {
  for (const auto& [check, file] : kGood) {
    const CheckResult result = read(check, log(file));
    EXPECT_EQ(result.health(), Health::kOk) << file << ": " << result.evidence();
  }
}

// What a launcher, a terminal or another system puts around a text changes nothing.
TEST(Readers, PrefixesColorsAndCarriageReturnsChangeNothing) {
  for (const auto& [check, file] : kAll) {
    const std::string text = log(file);
    const Health plain = health(check, text);
    std::string srun, crlf, color;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      srun += "3: " + line + "\n";
      crlf += line + "\r\n";
      color += "\x1b[0m" + line + "\x1b[K\n";
    }
    EXPECT_EQ(health(check, srun), plain) << file;
    EXPECT_EQ(health(check, crlf), plain) << file;
    EXPECT_EQ(health(check, color), plain) << file;
  }
}

// A text that breaks off never looks better than the whole, and never well when it is cut inside a
// document.
TEST(Readers, WhatBreaksOffIsNotWell) {
  for (const auto& [check, file] : kGood) {
    const std::string text = log(file);
    const bool document = text.find('{') != std::string::npos || text.find("<?xml") == 0;
    if (!document) continue;
    const std::size_t end = text.find_last_not_of(" \n");
    for (std::size_t cut = 0; cut < end; cut += 7)
      EXPECT_NE(health(check, text.substr(0, cut)), Health::kOk) << file << " cut at " << cut;
  }
  // Lists of lines have no end of their own: then the count that is expected tells.
  const std::string pci = log("lspci-p5en.txt");
  EXPECT_EQ(health("efa", pci, a_host("p5en.48xlarge")), Health::kOk);
  EXPECT_EQ(health("efa", pci.substr(0, pci.size() / 2), a_host("p5en.48xlarge")),
            Health::kReplace);
  const std::string gpus = log("nvidia-smi-q-h100.txt");
  EXPECT_EQ(health("gpu", gpus.substr(0, gpus.find("GPU 00000000:64"))), Health::kError);
  const std::string matrix = log("topo-p5.txt");
  EXPECT_EQ(health("topology", matrix.substr(0, matrix.find("GPU5\t"))), Health::kError);
}

TEST(Readers, NothingUnderstoodIsUnknownForEveryCheck) {
  for (const CheckKind& kind : check_kinds()) {
    for (const char* text :
         {"", "\n\n", "hello\n", "command not found\n", "{}\n", "[]\n", "null"}) {
      const Health seen = health(kind.name, text);
      EXPECT_TRUE(seen == Health::kUnknown || seen == Health::kError) << kind.name << ": " << text;
    }
  }
}

// No input makes a check answer ok without evidence: whatever bytes are flipped, inserted or taken
// away, an ok names what was seen.
RC_GTEST_PROP(Readers, AnOkHasEvidence, ()) {
  const auto& [check, file] = kAll[*rc::gen::inRange<std::size_t>(0, std::size(kAll))];
  std::string text = log(file);
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[at] = *rc::gen::arbitrary<char>();
        break;
      case 1:
        text.erase(at, *rc::gen::inRange<std::size_t>(1, 200));
        break;
      default:
        text.insert(at, *rc::gen::element(std::string("}"), std::string("\n"), std::string("Fail"),
                                          std::string("0"), std::string("\"")));
    }
  }
  const CheckResult result = read(check, text);
  RC_ASSERT(!result.observations().empty());
  if (result.health() == Health::kOk) {
    bool shown = false;
    for (const Observation& seen : result.observations())
      shown |= seen.health == Health::kOk && !seen.evidence.empty();
    RC_ASSERT(shown);
  }
}

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

TEST(SlurmStates, BaseAndEveryModifierAreToldApart) {
  struct Case {
    const char *text, *base;
    std::set<std::string> modifiers;
    Health health;
  };
  const Case kCases[] = {
      {"idle", "idle", {}, Health::kOk},
      {"idle*", "idle", {"not_responding"}, Health::kInvestigate},
      {"mixed-", "mixed", {"planned"}, Health::kOk},
      {"idle~", "idle", {"powered_down"}, Health::kOk},
      {"allocated+", "allocated", {"completing"}, Health::kOk},
      {"IDLE+DRAIN", "idle", {"drain"}, Health::kInvestigate},
      {"MIXED+DRAIN", "mixed", {"drain"}, Health::kInvestigate},
      {"DOWN*+DRAIN", "down", {"drain", "not_responding"}, Health::kInvestigate},
      {"IDLE+CLOUD+POWERED_DOWN", "idle", {"cloud", "powered_down"}, Health::kOk},
      {"drng", "draining", {}, Health::kInvestigate},
      {"drained$", "drained", {"maint"}, Health::kInvestigate},
      {"fail", "fail", {}, Health::kInvestigate},
      {"inval", "inval", {}, Health::kInvestigate},
      {"maint", "maint", {}, Health::kFlag},
      {"resv", "reserved", {}, Health::kFlag},
      {"future", "future", {}, Health::kNotApplicable},
      {"IDLE+REBOOT_ISSUED", "idle", {"reboot_issued"}, Health::kFlag},
  };
  for (const Case& one : kCases) {
    const NodeState state = parse_node_state(one.text);
    EXPECT_EQ(state.base, one.base) << one.text;
    EXPECT_EQ(state.modifiers, one.modifiers) << one.text;
    EXPECT_EQ(health_of(state), one.health) << one.text;
  }
}

// The states of any rows add up to the number of nodes.
RC_GTEST_PROP(SlurmStates, AddUpToTheNodes, ()) {
  const std::vector<std::string> words = {"idle",  "idle*", "alloc", "mix-", "drng", "drain*",
                                          "down#", "comp",  "maint", "resv", "plnd", "fail",
                                          "weird", "boot^", "inval", "n/a"};
  const auto rows = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(1, 50), rc::gen::inRange(0, 16)));
  std::string text = "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\n";
  int all = 0;
  for (const auto& [count, word] : rows) {
    text += fmt::format("p up inf {} {} n[1-{}]\n", count, words[static_cast<std::size_t>(word)],
                        count);
    all += count;
  }
  const CheckResult result = read("slurm", text);
  if (all == 0) {
    RC_ASSERT(result.health() == Health::kUnknown);
    return;
  }
  // Also a state that nobody knows: it is a node, and it is not well.
  RC_ASSERT(text.find(" weird ") == std::string::npos || result.health() >= Health::kUnknown);
  bool told = false;
  for (const Observation& seen : result.observations())
    told |= seen.evidence.find(fmt::format(" of {} nodes take jobs", all)) != std::string::npos;
  RC_ASSERT(told);
}

TEST(SlurmStates, NodeListsExpand) {
  EXPECT_EQ(expand_hosts("n[1-3,07],gpu-1"),
            (std::vector<std::string>{"n1", "n2", "n3", "n07", "gpu-1"}));
  EXPECT_EQ(expand_hosts("a-[08-10]-b").back(), "a-10-b");
  EXPECT_EQ(expand_hosts("n[1-").size(), 1U);
  EXPECT_TRUE(expand_hosts("").empty());
}

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
  find_check("gpu")->look(LiveView(files, processes), a_host(), failed);
  EXPECT_EQ(failed.health(), Health::kError) << failed.evidence();
  result.timed_out = true;
  processes.answer("nvidia-smi -q -x", result);
  CheckResult hung("gpu");
  find_check("gpu")->look(LiveView(files, processes), a_host(), hung);
  EXPECT_EQ(hung.health(), Health::kReset) << hung.evidence();
}

Health steady_of(const std::vector<Health>& outcomes) {
  std::vector<Sample> samples;
  for (const Health outcome : outcomes) samples.push_back({"t", outcome});
  return steady(samples);
}

TEST(History, AFaultStandsWhenItComesBack) {
  const Health good = Health::kOk, bad = Health::kReset, worse = Health::kReplace,
               blind = Health::kUnknown;
  EXPECT_EQ(steady_of({}), Health::kUnknown);
  EXPECT_EQ(steady_of({bad}), Health::kFlag);
  EXPECT_EQ(steady_of({good, good, bad, good, good, good}), Health::kOk);
  EXPECT_EQ(steady_of({bad, good, bad, good, bad}), bad);
  EXPECT_EQ(steady_of({bad, bad, worse, good, good}), worse);
  EXPECT_EQ(steady_of({bad, bad, worse, good, good, good}), good);
  // What is older than the window is forgotten.
  EXPECT_EQ(steady_of({bad, bad, good, good, good, good, bad}), Health::kFlag);
  // A check that saw nothing puts no node back, and takes none out.
  EXPECT_EQ(steady_of({bad, bad, bad, blind, blind, blind}), bad);
  EXPECT_EQ(steady_of({good, blind}), blind);
}

// Plans act on evidence only: without a fault there is no command.
RC_GTEST_PROP(Action, NothingIsDoneWithoutAFault, ()) {
  const auto health = static_cast<Health>(*rc::gen::inRange(0, 10));
  const auto manager = static_cast<Manager>(*rc::gen::inRange(0, 4));
  CheckResult check("c");
  check.add(health, "r", "", *rc::gen::arbitrary<std::string>());
  const ActionPlan plan = plan_action(manager, "n1", {check});
  RC_ASSERT(plan.commands.empty() == !is_fault(health));
  for (const auto& argv : plan.commands) {
    for (const std::string& word : argv) RC_ASSERT(word.find('\n') == std::string::npos);
  }
  const std::string contract = contract_line("n1", {check});
  RC_ASSERT(contract.find('\n') == std::string::npos);
  RC_ASSERT((contract.find(":Passed:") != std::string::npos) ==
            (health == Health::kOk || health == Health::kFlag));
}

TEST(Acting, TheLimitIsOfNodesOrAShare) {
  EXPECT_EQ(parse_limit("3")->of(100), 3);
  EXPECT_EQ(parse_limit("10%")->of(45), 4);
  EXPECT_EQ(parse_limit("0")->of(10), 0);
  for (const char* wrong : {"", "%", "1.5", "-1", "101%", "many", "1e3"})
    EXPECT_FALSE(parse_limit(wrong).has_value()) << wrong;
}

constexpr const char* kNodes =
    "NodeName=n1 State=IDLE Reason=\n"
    "NodeName=n2 State=IDLE+DRAIN Reason=muster gpu lost [root@2026-11-30T09:00:00]\n"
    "NodeName=n3 State=IDLE+DRAIN Reason=disk swap [root@2026-11-30T09:00:00]\n"
    "NodeName=n4 State=MIXED\n";

TEST(Acting, FollowsHowTheClusterStands) {
  CheckResult bad("gpu");
  bad.add(Health::kReplace, "r", "GPU 0", "lost");
  const auto decided = [&](const std::string& node, Health health, const std::string& limit) {
    return decide(Manager::kSlurm, node, health, plan_action(Manager::kSlurm, node, {bad}),
                  slurm_standing(kNodes, node), *parse_limit(limit));
  };
  EXPECT_EQ(decided("n1", Health::kReplace, "2").commands.size(), 1U);
  const ActionPlan held = decided("n1", Health::kReplace, "1");
  EXPECT_TRUE(held.commands.empty());
  EXPECT_NE(held.reason.find("held back: 1 of 4 nodes"), std::string::npos) << held.reason;
  EXPECT_TRUE(decided("n1", Health::kReplace, "25%").commands.empty());
  EXPECT_TRUE(decided("n2", Health::kReplace, "9").commands.empty());  // out already
  EXPECT_TRUE(decided("n3", Health::kReplace, "9").commands.empty());  // by somebody else
  EXPECT_TRUE(decided("n9", Health::kReplace, "9").commands.empty());  // not known
  // Well again: only what muster took out is put back.
  EXPECT_EQ(decided("n2", Health::kOk, "1").commands,
            (std::vector<std::vector<std::string>>{
                {"scontrol", "update", "NodeName=n2", "State=RESUME"}}));
  EXPECT_TRUE(decided("n3", Health::kOk, "1").commands.empty());
  EXPECT_TRUE(decided("n1", Health::kOk, "1").commands.empty());
  for (const Health blind :
       {Health::kUnknown, Health::kError, Health::kSkipped, Health::kNotApplicable}) {
    EXPECT_TRUE(decided("n2", blind, "9").commands.empty());
    EXPECT_TRUE(decided("n1", blind, "9").commands.empty());
  }
}

TEST(Acting, ReadsTheTaintsOfKubernetes) {
  const std::string nodes =
      R"({"items":[{"metadata":{"name":"a"},"spec":{}},)"
      R"({"metadata":{"name":"b"},"spec":{"unschedulable":true,"taints":[{"key":"muster.dev/unhealthy"}]}},)"
      R"({"metadata":{"name":"c"},"spec":{"unschedulable":true}}]})";
  const auto b = kubernetes_standing(nodes, "b");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->nodes, 3);
  EXPECT_EQ(b->out, 1);
  EXPECT_TRUE(b->node_out);
  EXPECT_TRUE(kubernetes_standing(nodes, "c")->by_others);
  EXPECT_FALSE(kubernetes_standing(nodes, "d")->known);
  EXPECT_FALSE(kubernetes_standing("error", "a").ok());
}

TEST(Acting, StopsAtTheFirstCommandThatFails) {
  FakeProcessRunner processes;
  ProcessResult nodes, refused;
  nodes.exit_code = 0;
  nodes.out = kNodes;
  refused.exit_code = 1;
  refused.err = "slurm_update error: Access/permission denied";
  processes.answer("scontrol --oneliner show nodes", nodes);
  processes.answer("scontrol update", refused);
  CheckResult bad("kernel-log");
  bad.add(Health::kReboot, "r", "GPU 0", "Xid 79");
  const auto done = act(Manager::kSlurm, "n1", Health::kReboot,
                        plan_action(Manager::kSlurm, "n1", {bad}), Limit{2, false}, processes);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.findings().front().message.find("Access/permission denied"), std::string::npos);
  EXPECT_EQ(processes.asked().size(), 2U);  // the reboot was not asked for
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
  const std::vector<std::string> checks = {"gpu", "kernel-log", "efa", "topology", "limits"};
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

TEST(JsonText, IsFoundInTalk) {
  const auto texts = json_texts(lines_of("talk {not json}\n{\"a\": \"}{\"}\n[1,\n2]\n{\"b\": 1"));
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0].text, "{\"a\": \"}{\"}");
  EXPECT_EQ(texts[0].line, 2);
  EXPECT_EQ(texts[1].line, 3);
  EXPECT_FALSE(texts[2].whole);
}

}  // namespace
}  // namespace muster::health
