// States of Slurm's nodes.
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hostlist.h"
#include "fixture.h"
#include "health/slurm_nodes.h"

namespace muster::health {
namespace {

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

}  // namespace
}  // namespace muster::health
