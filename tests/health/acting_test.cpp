// What is done about a fault, and when.
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fixture.h"
#include "health/act.h"
#include "health/action.h"
#include "health/history.h"

namespace muster::health {
namespace {

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

TEST(Acting, KeepsTheFeatureAmongTheOthers) {
  const std::string nodes =
      "NodeName=n1 Arch=x86_64 AvailableFeatures=p5,HealthCheck:Failed ActiveFeatures=p5 "
      "State=IDLE\n"
      "NodeName=n10 AvailableFeatures=(null) ActiveFeatures=(null) State=IDLE\n";
  using Words = std::vector<std::string>;
  EXPECT_EQ(feature_command("n1", Health::kOk, slurm_standing(nodes, "n1")),
            (Words{"scontrol", "update", "NodeName=n1", "AvailableFeatures=p5,HealthCheck:Passed",
                   "ActiveFeatures=p5,HealthCheck:Passed"}));
  EXPECT_EQ(feature_command("n10", Health::kReplace, slurm_standing(nodes, "n10")).back(),
            "ActiveFeatures=HealthCheck:Failed");
  // What could not be verified has not passed.
  EXPECT_EQ(feature_command("n10", Health::kUnknown, slurm_standing(nodes, "n10")).back(),
            "ActiveFeatures=HealthCheck:Skipped");
  const std::string kept =
      "NodeName=n1 AvailableFeatures=p5,HealthCheck:Passed ActiveFeatures=p5,HealthCheck:Passed\n";
  EXPECT_TRUE(feature_command("n1", Health::kFlag, slurm_standing(kept, "n1")).empty());
  EXPECT_TRUE(feature_command("n2", Health::kOk, slurm_standing(kept, "n2")).empty());
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
  const auto done =
      act(Manager::kSlurm, "n1", Health::kReboot, plan_action(Manager::kSlurm, "n1", {bad}),
          Limit{2, false}, false, processes);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.findings().front().message.find("Access/permission denied"), std::string::npos);
  EXPECT_EQ(processes.asked().size(), 2U);  // the reboot was not asked for
}

}  // namespace
}  // namespace muster::health
