// Sets of environment variables.
#include "lint/environment.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "testing.h"

namespace muster::lint {
namespace {

const facts::EnvironmentRules& rules() {
  static const facts::EnvironmentRules kRules = [] {
    const auto text = real_file_system().read(std::filesystem::path(testing::source_dir()) /
                                              "facts/environment.yaml");
    auto rules = facts::parse_environment(text ? *text : "", "environment.yaml");
    return rules ? *rules : facts::EnvironmentRules();
  }();
  return kRules;
}

facts::Circumstances on(const std::string& instance, bool fabric = true) {
  facts::Circumstances made;
  made.instance_type = instance;
  made.accelerator = "gpu";
  made.fabric = fabric;
  made.several_nodes = true;
  return made;
}

Findings judge(const std::string& text, const facts::Circumstances& circumstances) {
  Findings found = check_environment_set(parse_environment_text(text, "env"), rules(),
                                         circumstances, {"env", 1, 1});
  // What is not set is another test's.
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const Finding& f) { return f.rule == "env-missing"; }),
              found.end());
  return found;
}

struct Judged {
  const char* rule;
  const char* line;
  const char* instance;
};

TEST(Environment, EachVariableGetsItsVerdict) {
  const std::vector<Judged> all = {
      {"env-harmful", "RDMAV_FORK_SAFE=1", "p5.48xlarge"},
      {"env-harmful", "export FI_EFA_USE_DEVICE_RDMA=1", "g6e.12xlarge"},
      {"env-harmful", "GLOO_SOCKET_IFNAME=lo", "p5.48xlarge"},
      {"env-no-op", "FI_EFA_ENABLE_SHM_TRANSFER=1", "p5.48xlarge"},
      {"env-no-op", "NCCL_BUFFERSIZE=8388608", "p5.48xlarge"},
      {"env-automatic", "FI_PROVIDER=efa", "p5en.48xlarge"},
      {"env-automatic", "FI_EFA_FORK_SAFE=1", "p5.48xlarge"},
      {"env-value", "FI_EFA_USE_DEVICE_RDMA=1", "g5.8xlarge"},
      {"env-misspelt", "NCCL_P2P_NET_CHUNKSIZ=524288", "p5.48xlarge"},
      {"env-conflict", "NCCL_SOCKET_IFNAME=lo", "p5.48xlarge"},
      {"env-conflict", "NCCL_NET_PLUGIN=none", "p5.48xlarge"},
      {"env-conflict", "NCCL_IB_DISABLE=1", "p5.48xlarge"},
      {"env-conflict", "UCX_TLS=self,sm", "p5.48xlarge"},
  };
  for (const Judged& judged : all) {
    SCOPED_TRACE(judged.line);
    const Findings findings = judge(judged.line, on(judged.instance));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].rule, judged.rule) << to_string(findings[0]);
  }
}

TEST(Environment, AProviderThatTurnsTheFabricOffIsAConflict) {
  for (const char* line : {"FI_PROVIDER=tcp", "FI_PROVIDER="}) {
    const Findings findings = judge(line, on("p5.48xlarge"));
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.rule == "env-conflict";
    })) << line;
  }
}

TEST(Environment, OldLibrariesNeedMore) {
  facts::Circumstances old = on("p4d.24xlarge");
  old.versions = {{"ofi_nccl", "1.5.0"}};
  EXPECT_TRUE(judge("FI_PROVIDER=efa\nNCCL_PROTO=simple\nFI_EFA_USE_DEVICE_RDMA=1\n", old).empty());
}

TEST(Environment, WhatIsMissingIsNamedWithItsSource) {
  const Findings findings = check_environment_set({}, rules(), on("g5.8xlarge"), {"env", 1, 1});
  const auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.hint == "FI_EFA_USE_DEVICE_RDMA=0";
  });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->rule, "env-missing");
  EXPECT_NE(found->message.find("(source: "), std::string::npos);
  const auto set = parse_environment_text("FI_EFA_USE_DEVICE_RDMA=0\n", "env");
  for (const Finding& finding :
       check_environment_set(set, rules(), on("g5.8xlarge"), {"env", 1, 1}))
    EXPECT_NE(finding.hint, "FI_EFA_USE_DEVICE_RDMA=0");
}

TEST(Environment, TheSecondOfTheSameNameIsAWarning) {
  const Findings findings =
      judge("NCCL_DEBUG=INFO\nA=1\nA=2\nNCCL_DEBUG=WARN\n", on("p5.48xlarge"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "env-repeated");
  EXPECT_EQ(findings[0].where.line, 4);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
}

TEST(Environment, LinesAsEnvAndScriptsWriteThem) {
  const auto entries =
      parse_environment_text("A=1\n# B=2\n  export C=\"x y\"\nnot a line\nD='q'\nE==\n1F=2\n", "f");
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[1].name, "C");
  EXPECT_EQ(entries[1].value, "x y");
  EXPECT_EQ(entries[1].where.line, 3);
  EXPECT_EQ(entries[1].where.column, 10);
  EXPECT_EQ(entries[3].value, "=");
}

}  // namespace
}  // namespace muster::lint
