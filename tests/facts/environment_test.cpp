#include "facts/environment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/version.h"
#include "facts/facts.h"
#include "testing.h"

namespace muster::facts {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

const EnvironmentRules& rules() {
  static const EnvironmentRules kRules = [] {
    auto rules = load_environment(real_file_system(), muster::testing::source_dir());
    EXPECT_TRUE(rules.ok()) << to_string(rules.findings().front());
    return rules ? *rules : EnvironmentRules{};
  }();
  return kRules;
}

/// A job on GPUs over EFA, with everything current.
Circumstances on(const std::string& type, const std::string& target = "slurm") {
  Circumstances c;
  c.instance_type = type;
  c.target = target;
  c.accelerator = "gpu";
  c.fabric = true;
  c.several_nodes = true;
  return c;
}

VariableVerdict verdict(const std::string& variable, const std::string& value,
                        const Circumstances& c) {
  const VariableRule* rule = rule_for(rules(), variable, value, c);
  EXPECT_NE(rule, nullptr) << variable;
  return rule ? rule->verdict : VariableVerdict::kOptional;
}

TEST(Environment, CurrentLibrariesNeedLittle) {
  EXPECT_EQ(needed_environment(rules(), on("p5.48xlarge")),
            (Variables{{"NCCL_DEBUG", "WARN"}, {"NCCL_SOCKET_IFNAME", "^docker,lo,veth"}}));
  Circumstances forking = on("ml.p5en.48xlarge", "kubernetes");
  forking.forks = true;
  forking.versions = {{"efa", "1.48.0"}, {"nccl", "2.30.4"}, {"ofi_nccl", "1.19.0"}};
  EXPECT_EQ(needed_environment(rules(), forking), (Variables{{"FI_EFA_USE_HUGE_PAGE", "0"},
                                                             {"NCCL_DEBUG", "WARN"},
                                                             {"NCCL_SOCKET_IFNAME", "^lo"}}));
}

TEST(Environment, TheAdapterOfG5HasNoRdma) {
  EXPECT_EQ(needed_environment(rules(), on("g5.12xlarge", "batch")),
            (Variables{{"FI_EFA_USE_DEVICE_RDMA", "0"},
                       {"NCCL_DEBUG", "WARN"},
                       {"NCCL_SOCKET_IFNAME", "^lo,docker,ecs"}}));
  EXPECT_EQ(verdict("FI_EFA_USE_DEVICE_RDMA", "1", on("g6e.48xlarge")), VariableVerdict::kHarmful);
}

TEST(Environment, WithoutTheFabricNothingOfItIsSet) {
  Circumstances c = on("g5.12xlarge");
  c.fabric = false;
  c.forks = true;
  for (const auto& [name, value] : needed_environment(rules(), c))
    EXPECT_FALSE(name.starts_with("FI_")) << name;
}

TEST(Environment, OldLibrariesNeedWhatTheyNeeded) {
  Circumstances c = on("p4d.24xlarge");
  c.versions = {{"ofi_nccl", "1.6.0"}};
  Variables needed = needed_environment(rules(), c);
  EXPECT_EQ(needed.front(), (Variables::value_type{"FI_EFA_USE_DEVICE_RDMA", "1"}));
  c.versions = {{"ofi_nccl", "1.5.0"}, {"kernel", "5.10"}, {"efa", "1.28.0"}, {"nccl", "2.19.3"}};
  needed = needed_environment(rules(), c);
  const std::set<Variables::value_type> set(needed.begin(), needed.end());
  for (const Variables::value_type& variable : Variables{{"FI_PROVIDER", "efa"},
                                                         {"FI_EFA_USE_DEVICE_RDMA", "1"},
                                                         {"FI_EFA_FORK_SAFE", "1"},
                                                         {"FI_EFA_SET_CUDA_SYNC_MEMOPS", "0"},
                                                         {"NCCL_PROTO", "simple"}})
    EXPECT_EQ(set.count(variable), 1U) << variable.first;
}

TEST(Environment, JudgesWhatSomebodySets) {
  const Circumstances c = on("p5.48xlarge");
  EXPECT_EQ(verdict("RDMAV_FORK_SAFE", "1", c), VariableVerdict::kHarmful);
  EXPECT_EQ(verdict("FI_EFA_ENABLE_SHM_TRANSFER", "1", c), VariableVerdict::kNoOp);
  EXPECT_EQ(verdict("FI_PROVIDER", "efa", c), VariableVerdict::kAutomatic);
  EXPECT_EQ(verdict("GLOO_SOCKET_IFNAME", "lo", c), VariableVerdict::kHarmful);
  EXPECT_EQ(verdict("GLOO_SOCKET_IFNAME", "eth0", c), VariableVerdict::kOptional);
  EXPECT_EQ(rule_for(rules(), "CUDA_DEVICE_MAX_CONNECTIONS", "1", c), nullptr);
}

TEST(Environment, EveryRuleOfTheFileCanHold) {
  // For each rule there are circumstances in which it is the one that counts.
  for (const VariableRule& rule : rules()) {
    Circumstances c = on(rule.families.empty() ? "p5.48xlarge" : rule.families.front() + ".x",
                         rule.targets.empty() ? "local" : rule.targets.front());
    if (!rule.accelerator.empty()) c.accelerator = rule.accelerator;
    for (const auto& [library, bound] : rule.below) c.versions[library] = "0.1";
    for (const auto& [library, bound] : rule.at_least) c.versions[library] = bound;
    c.forks = rule.forks.value_or(false);
    c.debug = rule.debug.value_or(false);
    c.several_nodes = rule.several_nodes.value_or(false);
    EXPECT_TRUE(rule.holds(c)) << to_string(rule.where);
    EXPECT_FALSE(rule.reason.empty() || rule.source.empty()) << to_string(rule.where);
  }
}

TEST(Environment, RefusesRulesThatAreNeverReached) {
  const std::string head =
      "apiVersion: muster/v1\nkind: Environment\nsources: {a: b}\ndate: d\nrules:\n";
  const std::string always = "  - {variable: X, verdict: no-op, reason: r, source: a}\n";
  EXPECT_TRUE(parse_environment(head + always, "f").ok());
  EXPECT_EQ(parse_environment(head + always + always, "f").findings().at(0).where.line, 7);
  EXPECT_FALSE(
      parse_environment(head + "  - {variable: X, verdict: needed, reason: r, source: a}\n", "f")
          .ok());
  EXPECT_FALSE(
      parse_environment(head + "  - {variable: X, verdict: no-op, reason: r, source: c}\n", "f")
          .ok());
}

RC_GTEST_PROP(Environment, AVersionBoundHoldsExactlyBelowIt, ()) {
  const auto number = [] { return std::to_string(*rc::gen::inRange(0, 30)); };
  const std::string version = number() + "." + number(), bound = number() + "." + number();
  VariableRule rule;
  rule.variable = "X";
  Circumstances c;
  c.versions = {{"lib", version}};
  rule.below = {{"lib", bound}};
  const bool below = rule.holds(c);
  rule.below.clear();
  rule.at_least = {{"lib", bound}};
  RC_ASSERT(below != rule.holds(c));
  RC_ASSERT(below == (*compare_versions(version, bound) < 0));
  // A version that nobody stated is current.
  c.versions.clear();
  RC_ASSERT(rule.holds(c));
}

}  // namespace
}  // namespace muster::facts
