// Rank order by network nodes.
#include "bench/order.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::bench {
namespace {

const std::map<std::string, std::string> kSame;  // hosts are named by their instance ids

TEST(Order, SeventyHostsOfTwoGroupsMakeTwoRuns) {
  NetworkPaths paths;
  std::vector<std::string> hosts;
  for (int i = 0; i < 70; ++i) {
    hosts.push_back(fmt::format("h{}", i));
    paths[hosts.back()] = {"nn-top", fmt::format("nn-{}", i % 2),
                           fmt::format("nn-{}-{}", i % 2, i / 8)};
  }
  const RankOrder order = order_ranks(hosts, kSame, paths);
  EXPECT_EQ(order.groups, 2);
  EXPECT_EQ(order.before, 70);
  EXPECT_EQ(order.after, 2);
  ASSERT_EQ(order.hosts.size(), 70U);
  for (int i = 0; i < 35; ++i) {
    EXPECT_EQ(order.hosts[static_cast<std::size_t>(i)], fmt::format("h{}", 2 * i));
    EXPECT_EQ(order.hosts[static_cast<std::size_t>(35 + i)], fmt::format("h{}", 2 * i + 1));
  }
}

TEST(Order, TwoToFourLayersAndUnknownHosts) {
  NetworkPaths paths = {
      {"a", {"t", "m"}}, {"b", {"t", "n"}}, {"c", {"t", "m"}}, {"d", {"t", "x", "y", "z"}}};
  const RankOrder order = order_ranks({"a", "b", "?", "c", "d"}, kSame, paths);
  EXPECT_EQ(order.hosts, (std::vector<std::string>{"a", "c", "b", "d", "?"}));
  EXPECT_EQ(order.unknown, (std::vector<std::string>{"?"}));
}

TEST(Order, HostsAreFoundByNameAndAddress) {
  NetworkPaths paths;
  ASSERT_TRUE(add_topology(
      R"({"Instances": [{"InstanceId": "i-1", "NetworkNodes": ["nn-a", "nn-b", "nn-c"]},
                        {"InstanceId": "i-2", "NetworkNodes": ["nn-a", "nn-b", "nn-d"]}]})",
      "t.json", paths));
  const auto names = parse_instance_names(
      R"({"Reservations": [{"Instances": [
        {"InstanceId": "i-1", "PrivateDnsName": "ip-10-0-0-1.ec2.internal", "PrivateIpAddress": "10.0.0.1"},
        {"InstanceId": "i-2", "PrivateDnsName": "ip-10-0-0-2.ec2.internal", "PrivateIpAddress": "10.0.0.2"}]}]})",
      "i.json");
  ASSERT_TRUE(names);
  EXPECT_TRUE(order_ranks({"ip-10-0-0-1", "10.0.0.2"}, *names, paths).unknown.empty());
  const auto lines = parse_instance_names("n1 i-1\n# n2\nn2 i-2 # second\n", "map");
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->at("n2"), "i-2");
  EXPECT_EQ(parse_instance_names("n1\n", "map").findings().front().where.line, 1);
  EXPECT_FALSE(add_topology("{}", "t.json", paths));
  EXPECT_FALSE(add_topology(R"({"Instances": [{"InstanceId": "i-3"}]})", "t.json", paths));
}

TEST(Order, HostListsMayHaveCommentsAndRepeats) {
  Findings findings;
  EXPECT_EQ(parse_hosts("# all\n\n  n1\nn2 slots=8\nn1\n", "hosts", findings),
            (std::vector<std::string>{"n1", "n2"}));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].where.line, 5);
  EXPECT_TRUE(parse_hosts("", "hosts", findings).empty());
}

TEST(Order, Forms) {
  const std::vector<std::string> hosts = {"n2", "n1"};
  EXPECT_EQ(host_file(hosts), "n2\nn1\n");
  EXPECT_EQ(openmpi_host_file(hosts, 8), "n2 slots=8\nn1 slots=8\n");
  EXPECT_EQ(openmpi_rank_file(hosts, 1), "rank 0=n2 slot=0\nrank 1=n1 slot=0\n");
  EXPECT_EQ(slurm_host_file(hosts, 2), "n2\nn2\nn1\nn1\n");
  const NetworkPaths paths = {
      {"n1", {"t", "m", "l1"}}, {"n2", {"t", "m", "l2"}}, {"n3", {"t", "m", "l2"}}};
  EXPECT_EQ(slurm_topology({"n1", "n2", "n3"}, kSame, paths),
            "# Made by `muster bench order`; TopologyPlugin=topology/tree\n"
            "SwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n[2-3]\n"
            "SwitchName=m Switches=l1,l2\nSwitchName=t Switches=m\n");
}

TEST(Order, SlurmsTreesAreWrittenAndReadBack) {
  const NetworkPaths paths = {
      {"n1", {"t", "m", "l1"}}, {"n2", {"t", "m", "l2"}}, {"n3", {"t", "m", "l2"}}};
  const std::vector<std::string> hosts = {"n1", "n2", "n3"};
  EXPECT_EQ(slurm_topology_yaml(hosts, kSame, paths),
            "# Made by `muster bench order`; read by Slurm 25.05 and later\n---\n"
            "- topology: network\n  cluster_default: true\n  tree:\n    switches:\n"
            "      - switch: l1\n        nodes: n1\n      - switch: l2\n        nodes: n[2-3]\n"
            "      - switch: m\n        children: l1,l2\n      - switch: t\n        children: m\n");
  for (const std::string& text :
       {slurm_topology_yaml(hosts, kSame, paths), slurm_topology(hosts, kSame, paths)}) {
    NetworkPaths read;
    ASSERT_TRUE(add_slurm_topology(text, "topology", read));
    EXPECT_EQ(read, paths);
  }
  // As an administrator writes it.
  NetworkPaths read;
  ASSERT_TRUE(add_slurm_topology("# all\nSwitchName=s[1] Nodes=n1 LinkSpeed=4\n", "t.conf", read));
  EXPECT_EQ(read.at("n1"), std::vector<std::string>{"s[1]"});
}

TEST(Order, TreesThatAreNoneAreRefusedWithTheirPlace) {
  for (const auto& [text, line, words] :
       {std::tuple{"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", 2, "below two switches"},
        {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", 1, "below itself"},
        {"SwitchName=a Switches=c\n", 1, "which is not there"},
        {"SwitchName=a Nodes=n[1-\n", 1, "unbalanced"},
        {"Nodes=n1\nSwitchName=a Nodes=n2\n", 1, "not a switch"},
        {"- topology: a\n  block: {}\n", 1, "no tree of switches"},
        {"- tree:\n    switches:\n      - nodes: n1\n", 3, "without a name"}}) {
    NetworkPaths paths;
    const auto added = add_slurm_topology(text, "t", paths);
    ASSERT_FALSE(added) << text;
    EXPECT_EQ(added.findings().front().where.line, line) << text;
    EXPECT_NE(added.findings().front().message.find(words), std::string::npos)
        << added.findings().front().message;
  }
}

RC_GTEST_PROP(Order, IsAPermutationThatCrossesNoMoreThanItMust, ()) {
  const int count = *rc::gen::inRange(2, 40);
  NetworkPaths paths;
  std::vector<std::string> hosts;
  for (int i = 0; i < count; ++i) {
    hosts.push_back(fmt::format("h{}", i));
    const int middle = *rc::gen::inRange(0, 4);
    paths[hosts.back()] = {fmt::format("t{}", middle / 2), fmt::format("m{}", middle),
                           fmt::format("l{}", *rc::gen::inRange(0, 3))};
  }
  const RankOrder order = order_ranks(hosts, kSame, paths);
  auto sorted = order.hosts, before = hosts;
  std::sort(sorted.begin(), sorted.end());
  std::sort(before.begin(), before.end());
  RC_ASSERT(sorted == before);
  RC_ASSERT(order.after <= order.before);
  RC_ASSERT(order.after == (order.groups < 2 ? 0 : order.groups));
}

}  // namespace
}  // namespace muster::bench
