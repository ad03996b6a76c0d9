// The hunt on simulated clusters: noise of the rates is log-normal.
#include "bench/hunt.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::bench {
namespace {

struct Cluster {
  int nodes = 8;
  int slow_node = -1;  ///< 20 % slower, or its uplink is
  std::pair<int, int> slow_pair{-1, -1};
  double drop = 0.20;
  double sigma = 0.02;
};

class Simulation {
 public:
  Simulation(Cluster cluster, unsigned seed) : cluster_(cluster), random_(seed) {}

  double measure(int a, int b) {
    double rate = 40;
    if (a == cluster_.slow_node || b == cluster_.slow_node) rate *= 1 - cluster_.drop;
    if (std::minmax(a, b) == std::minmax(cluster_.slow_pair.first, cluster_.slow_pair.second))
      rate *= 1 - cluster_.drop;
    return rate * std::exp(std::normal_distribution<double>(0, cluster_.sigma)(random_));
  }

  /// The result after so many rounds of disjoint pairs.
  HuntResult run(int rounds) {
    std::vector<Measurement> all;
    const auto plan = round_robin(cluster_.nodes);
    for (int round = 0; round < std::min<int>(rounds, static_cast<int>(plan.size())); ++round) {
      for (const Trial& trial : plan[static_cast<std::size_t>(round)].trials)
        all.push_back({trial.nodes, measure(trial.nodes[0], trial.nodes[1]), round, {}, {}});
    }
    return judge_pairs(cluster_.nodes, all);
  }

 private:
  Cluster cluster_;
  std::mt19937 random_;
};

/// One all-to-all that tells every pair, and the rounds that confirm.
class AllToAll {
 public:
  AllToAll(const Cluster& cluster, unsigned seed) : cluster_(cluster), simulation_(cluster, seed) {}

  HuntResult run() {
    std::vector<Measurement> all;
    for (int a = 0; a < cluster_.nodes; ++a) {
      for (int b = a + 1; b < cluster_.nodes; ++b)
        all.push_back({{a, b}, simulation_.measure(a, b), 0, {}, {}});
    }
    const HuntResult result = judge_pairs(cluster_.nodes, all, for_first_look({}));
    for (const Round& round : confirming_rounds(cluster_.nodes, result)) {
      ++rounds_;
      for (const Trial& trial : round.trials)
        all.push_back(
            {trial.nodes, simulation_.measure(trial.nodes[0], trial.nodes[1]), rounds_, {}, {}});
    }
    return judge_pairs(cluster_.nodes, all);
  }
  int confirming() const { return rounds_; }

 private:
  Cluster cluster_;
  Simulation simulation_;
  int rounds_ = 0;
};

Cluster with_slow_pair(int nodes, unsigned seed) {
  Cluster cluster;
  cluster.nodes = nodes;
  const int a = static_cast<int>(seed) % nodes;
  const int b = (a + 1 + static_cast<int>(seed) % (nodes - 1)) % nodes;
  cluster.slow_pair = {std::min(a, b), std::max(a, b)};
  return cluster;
}

bool names_only(const HuntResult& result, const std::vector<int>& nodes) {
  return result.slow.size() == 1 && result.slow[0].nodes == nodes;
}

TEST(RoundRobin, EveryPairMeetsOnceAndNobodyTwiceARound) {
  for (int nodes = 2; nodes <= 65; ++nodes) {
    const auto rounds = round_robin(nodes);
    EXPECT_EQ(rounds.size(), static_cast<std::size_t>(nodes % 2 == 0 ? nodes - 1 : nodes));
    std::set<std::pair<int, int>> met;
    for (const Round& round : rounds) {
      std::set<int> busy;
      for (const Trial& trial : round.trials) {
        ASSERT_EQ(trial.nodes.size(), 2U);
        for (const int node : trial.nodes) EXPECT_TRUE(busy.insert(node).second);
        EXPECT_TRUE(met.insert({trial.nodes[0], trial.nodes[1]}).second);
      }
      EXPECT_EQ(round.trials.size(), static_cast<std::size_t>(nodes / 2));
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(nodes * (nodes - 1) / 2));
  }
  EXPECT_TRUE(round_robin(1).empty());
}

TEST(Hunt, SlowNodeIsNamedWithinLogRounds) {
  int runs = 0, found = 0;
  for (const int nodes : {8, 9, 12, 16, 24, 32, 48, 64}) {
    EXPECT_LE(node_rounds(nodes), static_cast<int>(std::ceil(std::log2(nodes))) + 1);
    for (unsigned seed = 0; seed < 100; ++seed) {
      Cluster cluster;
      cluster.nodes = nodes;
      cluster.slow_node = static_cast<int>(seed) % nodes;
      ++runs;
      if (names_only(Simulation(cluster, seed).run(node_rounds(nodes)), {cluster.slow_node}))
        ++found;
    }
  }
  EXPECT_EQ(found, runs);
}

TEST(Hunt, FewNodesAreHeldToTheBetterPairs) {
  for (const int nodes : {3, 4, 5}) {
    for (unsigned seed = 0; seed < 100; ++seed) {
      Cluster cluster;
      cluster.nodes = nodes;
      EXPECT_TRUE(Simulation(cluster, seed).run(nodes).slow.empty()) << nodes << " " << seed;
      cluster.slow_node = static_cast<int>(seed) % nodes;
      EXPECT_TRUE(names_only(Simulation(cluster, seed).run(nodes), {cluster.slow_node}))
          << nodes << " " << seed;
    }
  }
}

TEST(Hunt, SlowPairIsNamedWithinAllRounds) {
  int runs = 0, found = 0;
  for (const int nodes : {8, 16, 32, 33, 64}) {
    for (unsigned seed = 0; seed < (nodes < 20 ? 1000U : 100U); ++seed) {
      Cluster cluster;
      cluster.nodes = nodes;
      const int a = static_cast<int>(seed) % nodes;
      const int b = (a + 1 + static_cast<int>(seed) % (nodes - 1)) % nodes;
      cluster.slow_pair = {std::min(a, b), std::max(a, b)};
      ++runs;
      if (names_only(Simulation(cluster, seed).run(nodes),
                     {cluster.slow_pair.first, cluster.slow_pair.second}))
        ++found;
    }
  }
  EXPECT_EQ(found, runs);
}

TEST(AllToAllHunt, SlowPairIsNamedByOneExchangeAndOneConfirmingRound) {
  int runs = 0, found = 0;
  for (const int nodes : {8, 9, 16, 32, 33, 64}) {
    for (unsigned seed = 0; seed < (nodes < 20 ? 500U : 50U); ++seed) {
      const Cluster cluster = with_slow_pair(nodes, seed);
      AllToAll hunt(cluster, seed);
      ++runs;
      if (names_only(hunt.run(), {cluster.slow_pair.first, cluster.slow_pair.second})) ++found;
      EXPECT_LE(hunt.confirming(), 1) << nodes << " " << seed;
    }
  }
  EXPECT_EQ(found, runs);
}

TEST(AllToAllHunt, SlowNodeIsNamedAndNotItsPairs) {
  for (const int nodes : {8, 24, 64}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      Cluster cluster;
      cluster.nodes = nodes;
      cluster.slow_node = static_cast<int>(seed) % nodes;
      EXPECT_TRUE(names_only(AllToAll(cluster, seed).run(), {cluster.slow_node}))
          << nodes << " " << seed;
    }
  }
}

TEST(AllToAllHunt, NoFalseAlarmInAThousandCleanRuns) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Cluster cluster;
    cluster.nodes = 8 + static_cast<int>(seed * 7 % 57);
    if (!AllToAll(cluster, 9000 + seed).run().slow.empty()) ++alarms;
  }
  EXPECT_EQ(alarms, 0);
}

// What is suspect at a first look is named only when it is slow in the second measurement, too.
TEST(AllToAllHunt, FirstLookSuspectsMoreThanIsNamed) {
  std::vector<Measurement> all;
  for (int a = 0; a < 16; ++a) {
    for (int b = a + 1; b < 16; ++b)
      all.push_back({{a, b}, a == 3 && b == 9 ? 35.8 : 40.0 + 0.1 * ((a + b) % 5), 0, {}, {}});
  }
  const HuntSettings settings;
  EXPECT_TRUE(judge_pairs(16, all, settings).slow.empty());
  const HuntResult suspects = judge_pairs(16, all, for_first_look(settings));
  ASSERT_TRUE(names_only(suspects, {3, 9}));
  const auto rounds = confirming_rounds(16, suspects);
  ASSERT_EQ(rounds.size(), 1U);
  const auto judged_with = [&](double again) {
    auto both = all;
    for (const Trial& trial : rounds[0].trials)
      both.push_back(
          {trial.nodes, trial.nodes == std::vector<int>{3, 9} ? again : 40.0, 1, {}, {}});
    return judge_pairs(16, both, settings);
  };
  EXPECT_TRUE(judged_with(40).slow.empty());
  EXPECT_TRUE(names_only(judged_with(32), {3, 9}));
}

TEST(ConfirmingRounds, MeasureWhatIsSuspectBesideOthers) {
  HuntResult suspects;
  EXPECT_TRUE(confirming_rounds(8, suspects).empty());
  suspects.slow.push_back({{2, 5}, 0.2, 1, false});
  suspects.slow.push_back({{3}, 0.3, 7, false});
  auto rounds = confirming_rounds(8, suspects);
  ASSERT_EQ(rounds.size(), 1U);
  EXPECT_EQ(rounds[0].trials[0].nodes, (std::vector<int>{2, 5}));
  EXPECT_EQ(rounds[0].trials[1].nodes, (std::vector<int>{0, 3}));
  std::set<int> busy;
  for (const Trial& trial : rounds[0].trials) {
    for (const int node : trial.nodes) EXPECT_TRUE(busy.insert(node).second) << node;
  }
  // Two suspect pairs of one node can't be measured at the same time.
  suspects.slow.push_back({{5, 6}, 0.2, 1, false});
  rounds = confirming_rounds(8, suspects);
  ASSERT_EQ(rounds.size(), 2U);
  EXPECT_EQ(rounds[1].trials[0].nodes, (std::vector<int>{5, 6}));
}

TEST(Hunt, NoFalseAlarmInAThousandCleanRuns) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Cluster cluster;
    cluster.nodes = 8 + static_cast<int>(seed * 7 % 57);
    const HuntResult result = Simulation(cluster, 5000 + seed).run(cluster.nodes);
    if (!result.slow.empty()) ++alarms;
    EXPECT_TRUE(result.untested.empty());
  }
  EXPECT_EQ(alarms, 0);
}

TEST(Hunt, DetectionRateAtFivePercentNoise) {
  int runs = 0, found = 0, alarms = 0;
  for (const int nodes : {8, 16, 32, 64}) {
    for (unsigned seed = 0; seed < 250; ++seed) {
      Cluster cluster;
      cluster.nodes = nodes;
      cluster.sigma = 0.05;
      const HuntResult clean = Simulation(cluster, seed).run(node_rounds(nodes));
      if (!clean.slow.empty()) ++alarms;
      cluster.slow_node = static_cast<int>(seed) % nodes;
      const HuntResult result = Simulation(cluster, seed).run(node_rounds(nodes));
      ++runs;
      found += std::any_of(result.slow.begin(), result.slow.end(), [&](const Slow& slow) {
        return slow.nodes == std::vector<int>{cluster.slow_node};
      });
    }
  }
  RecordProperty("detected", found);
  RecordProperty("of", runs);
  fmt::print(
      "at 5 % noise: {} of {} slow nodes named ({:.1f} %), {} false alarms in {} clean runs\n",
      found, runs, 100.0 * found / runs, alarms, runs);
  EXPECT_GE(found, runs * 80 / 100);
  EXPECT_LE(alarms, runs / 100);
}

TEST(Hunt, TwoSlowNodesAreBothNamed) {
  std::vector<Measurement> all;
  Cluster cluster;
  cluster.nodes = 16;
  Simulation clean(cluster, 7);
  const auto plan = round_robin(16);
  for (int round = 0; round < 5; ++round) {
    for (const Trial& trial : plan[static_cast<std::size_t>(round)].trials) {
      const int a = trial.nodes[0], b = trial.nodes[1];
      const bool slow = a == 3 || b == 3 || a == 11 || b == 11;
      all.push_back({trial.nodes, clean.measure(a, b) * (slow ? 0.7 : 1), round, {}, {}});
    }
  }
  const HuntResult result = judge_pairs(16, all);
  ASSERT_EQ(result.slow.size(), 2U);
  const std::set<int> named = {result.slow[0].nodes[0], result.slow[1].nodes[0]};
  EXPECT_EQ(named, (std::set<int>{3, 11}));
}

TEST(Hunt, NodeThatNeverEndsIsNamed) {
  std::vector<Measurement> all;
  const auto plan = round_robin(8);
  for (int round = 0; round < 3; ++round) {
    for (const Trial& trial : plan[static_cast<std::size_t>(round)].trials) {
      const bool dead = trial.nodes[0] == 2 || trial.nodes[1] == 2;
      all.push_back({trial.nodes, dead ? std::nullopt : std::optional(40.0), round, {}, {}});
    }
  }
  const HuntResult result = judge_pairs(8, all);
  ASSERT_TRUE(names_only(result, {2}));
  EXPECT_TRUE(result.slow[0].failed);
}

TEST(Hunt, OneSlowMeasurementOfBothNodesIsNotDecided) {
  // A single round: the pair is slow, and nobody knows which of the two.
  std::vector<Measurement> all;
  const auto plan = round_robin(8);
  for (const Trial& trial : plan[0].trials) {
    const bool slow = trial.nodes[0] == 0 || trial.nodes[1] == 0;
    all.push_back({trial.nodes, slow ? 30.0 : 40.0, 0, {}, {}});
  }
  const HuntResult result = judge_pairs(8, all);
  EXPECT_TRUE(result.slow.empty());
  EXPECT_EQ(result.single.size(), 2U);
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) names.push_back(fmt::format("n{}", i));
  EXPECT_EQ(hunt_verdict(result, names).outcome(), Outcome::kUnknown);
  EXPECT_EQ(hunt_verdict(judge_pairs(8, {}), names).outcome(), Outcome::kUnknown);
}

TEST(Hunt, RoundOfBusyNeighboursIsItsOwnMeasure) {
  std::vector<Measurement> all;
  const auto plan = round_robin(8);
  for (int round = 0; round < 4; ++round) {
    for (const Trial& trial : plan[static_cast<std::size_t>(round)].trials)
      all.push_back({trial.nodes, round == 1 ? 20.0 : 40.0, round, {}, {}});
  }
  EXPECT_TRUE(judge_pairs(8, all).slow.empty());
}

TEST(Bisection, HalvesOfSuspectsLeadToTheSlowNode) {
  std::vector<int> suspects, cleared;
  for (int node = 0; node < 32; ++node) suspects.push_back(node);
  const int slow = 21;
  int rounds = 0;
  while (suspects.size() > 1) {
    const Round round = halves(suspects, cleared);
    ASSERT_EQ(round.trials.size(), 2U);
    const auto rate = [&](const Trial& trial) {
      return std::count(trial.nodes.begin(), trial.nodes.end(), slow) > 0 ? 32.0 : 40.0;
    };
    ++rounds;
    const auto half = slow_half(rate(round.trials[0]), rate(round.trials[1]));
    ASSERT_TRUE(half);
    std::vector<int> next;
    for (const int node : suspects) {
      const auto& bad = round.trials[static_cast<std::size_t>(*half)].nodes;
      const bool in = std::count(bad.begin(), bad.end(), node) > 0;
      (in ? next : cleared).push_back(node);
    }
    suspects = next;
  }
  EXPECT_EQ(suspects, std::vector<int>{slow});
  EXPECT_LE(rounds, 6);
  EXPECT_FALSE(slow_half(40, 39));
  EXPECT_FALSE(slow_half(0, 39));
}

TEST(GrowingGroups, NameThoseWhoseJoiningLowersTheRate) {
  const auto rounds = growing_groups({4, 2, 0, 1, 3, 5, 6});
  ASSERT_EQ(rounds.size(), 3U);
  EXPECT_EQ(rounds[0].trials[0].nodes, (std::vector<int>{4, 2}));
  EXPECT_EQ(rounds[2].trials[0].nodes.size(), 7U);
  EXPECT_EQ(slow_joiners({{{4, 2}, 40.0, 0, {}, {}},
                          {{4, 2, 0, 1}, 39.5, 1, {}, {}},
                          {{4, 2, 0, 1, 3, 5, 6}, 31.0, 2, {}, {}}}),
            (std::vector<int>{3, 5, 6}));
  EXPECT_TRUE(slow_joiners({{{0, 1}, 40.0, 0, {}, {}}, {{0, 1, 2}, 39.0, 1, {}, {}}}).empty());
}

TEST(HuntActions, NamesAreInTheSchedulersForms) {
  EXPECT_EQ(slurm_node_list({"n3", "n1", "n2", "n7", "login"}), "login,n[1-3,7]");
  EXPECT_EQ(slurm_node_list({"gpu-08", "gpu-09", "gpu-10"}), "gpu-[08-10]");
  EXPECT_EQ(slurm_node_list({"n1"}), "n1");
  EXPECT_EQ(slurm_node_list({}), "");
  HuntResult result;
  result.slow.push_back({{1}, 0.21, 3, false});
  result.slow.push_back({{0, 2}, 0.3, 1, false});
  const auto actions = hunt_actions(result, {"n1", "n2", "n3"});
  EXPECT_EQ(actions["slurm"], "n2");
  EXPECT_EQ(actions["kubernetes"], nlohmann::ordered_json({"n2"}));
  EXPECT_EQ(actions["plan"].size(), 4U);
}

}  // namespace
}  // namespace muster::bench
