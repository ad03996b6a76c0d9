#include "lint/slurm_conf.h"

#include <gtest/gtest.h>

#include "base/hostlist.h"
#include "findings_text.h"

namespace muster::lint {
namespace {

Findings check(const std::string& slurm, const std::string& gres = {}) {
  Findings findings;
  const auto lines = parse_slurm_conf(slurm, "slurm.conf", findings);
  const auto devices = parse_slurm_conf(gres, "gres.conf", findings);
  const Findings more = check_slurm_set(lines, devices, "slurm.conf", !gres.empty());
  findings.insert(findings.end(), more.begin(), more.end());
  return findings;
}

constexpr const char* kGood =
    "ClusterName=c  # a comment\n"
    "GresTypes=gpu\n"
    "SlurmctldParameters=\"a, b\"\n"
    "NodeName=DEFAULT Sockets=2 CoresPerSocket=48 \\\n"
    "  ThreadsPerCore=2 CPUs=192\n"
    "NodeName=n[1-4] Gres=gpu:h100:8 State=CLOUD\n"
    "PartitionName=main Nodes=n[1-4] Default=YES\n";
constexpr const char* kGres = "NodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[0-7]\n";

TEST(SlurmConf, WhatIsRightHasNoFindings) {
  const Findings findings = check(kGood, kGres);
  EXPECT_TRUE(findings.empty()) << to_string(findings.front());
  Findings own;
  const auto lines = parse_slurm_conf(kGood, "slurm.conf", own);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[2].find("slurmctldparameters")->value, "a, b");
  EXPECT_EQ(lines[3].find("CPUs")->value, "192");  // of the joined line
  EXPECT_EQ(lines[4].find("Gres")->where, (Position{"slurm.conf", 6, 17}));
}

TEST(SlurmConf, EachRuleFindsItsDefect) {
  struct Defect {
    const char *from, *to, *rule;
    int line;
  };
  const Defect kDefects[] = {
      {"State=CLOUD", "Topology= CoreSpecCount=36", "slurm-conf-empty", 6},
      {"GresTypes=gpu\n", "GresTypes=\n", "slurm-conf-empty", 2},
      {"GresTypes=gpu\n", "GresTypes gpu\n", "slurm-conf-form", 2},
      {"GresTypes=gpu\n", "\n", "slurm-gres-types", 6},
      {" Gres=gpu:h100:8", "", "slurm-gres-nodes", 1},
      {"gpu:h100:8", "gpu:h100:4", "slurm-gres-count", 1},
      {"Nodes=n[1-4]", "Nodes=n[1-5]", "slurm-partition-node", 7},
      {"PartitionName", "NodeName=n3 CPUs=1\nPartitionName", "slurm-node-twice", 7},
      {"CPUs=192", "CPUs=100", "slurm-cpus", 5},
  };
  for (const Defect& defect : kDefects) {
    std::string text = kGood;
    const std::size_t at = text.find(defect.from);
    ASSERT_NE(at, std::string::npos) << defect.from;
    text.replace(at, std::string(defect.from).size(), defect.to);
    bool found = false;
    for (const Finding& finding : check(text, kGres))
      found |= finding.rule == defect.rule && finding.where.line == defect.line;
    EXPECT_TRUE(found) << defect.rule << " for " << defect.to << "\n";
  }
}

TEST(SlurmConf, GpusThatAreDetectedNeedTheirType) {
  const Findings findings = check("ClusterName=c\nNodeName=n1\n", "AutoDetect=nvml\n");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "slurm-gres-types");
  EXPECT_EQ(to_string(findings[0].where), "gres.conf:1:1");
}

TEST(Hostlist, NamesExpand) {
  EXPECT_EQ(expand_hosts("n[1-3,07],gpu-1"),
            (std::vector<std::string>{"n1", "n2", "n3", "n07", "gpu-1"}));
  EXPECT_EQ(expand_hosts("/dev/nvidia[0-7]").size(), 8U);
}

}  // namespace
}  // namespace muster::lint
