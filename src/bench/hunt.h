// The hunt for what is slow: which rounds to run, and what their rates say. Pure: nobody is asked
// to run anything here. Nodes are numbers from 0; a trial is a group of nodes that communicate, a
// round is trials that run at the same time and share no node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/verdict.h"

namespace muster::bench {

struct Trial {
  std::vector<int> nodes;
};
struct Round {
  std::vector<Trial> trials;
};

struct Measurement {
  std::vector<int> nodes;
  std::optional<double> rate;  ///< GB/s, or any other the more the better; absent: it failed
  int round = 0;
  std::string where;  ///< file of its output
  std::string what;   ///< why there is no rate
};

/// All pairs in n-1 rounds of disjoint pairs (n of them when n is odd, one node idle in each): the
/// circle method.
std::vector<Round> round_robin(int nodes);

/// Rounds that name a slow node for certain: log2(n)+1, at most as many as there are.
int node_rounds(int nodes);

/// Groups that grow: the first of `order`, then twice as many, up to all of them. One trial a
/// round.
std::vector<Round> growing_groups(const std::vector<int>& order);

/// The halves of the suspects, each filled up to the same size with nodes that are cleared.
Round halves(const std::vector<int>& suspects, const std::vector<int>& cleared);

struct HuntResult;

/// What a first look (for_first_look) makes suspect, measured once more: its pairs, and its nodes
/// with one that is not suspect, beside pairs of the others. One round, more when suspect pairs
/// share a node.
std::vector<Round> confirming_rounds(int nodes, const HuntResult& suspects);

struct HuntSettings {
  double node_drop = 0.10;  ///< share below the median pair that makes a node slow
  double pair_drop = 0.12;  ///< of one pair whose nodes are well elsewhere
  double sigmas = 6;        ///< and as many deviations of the noise that is seen, of a node
  double pair_sigmas = 5;   ///< and of a pair
};

struct Slow {
  std::vector<int> nodes;  ///< one: the node or its link; two: what is between them
  double drop = 0;         ///< share below the median pair
  int measured = 0;        ///< by how many measurements
  bool failed = false;     ///< no rate at all: nothing with it came to an end
};

struct HuntResult {
  std::vector<Slow> slow;     ///< worst first
  double noise = 0;           ///< standard deviation of ln(rate), robust
  double median = 0;          ///< of the pairs that are well
  std::vector<int> untested;  ///< nodes without a rate that are not named
  std::vector<int> single;    ///< nodes that were slow in their only measurement: not decided
  std::vector<std::vector<int>> unended;  ///< pairs without any rate whose nodes are not named
  std::size_t measurements = 0;           ///< that ended with a rate
};

/// A node is slow when what it takes part in is, again and again; a pair when both of its nodes are
/// well with others. Only pairs count.
HuntResult judge_pairs(int nodes, const std::vector<Measurement>& measurements,
                       const HuntSettings& settings = {});

/// What makes a pair suspect, to be measured once more: less than what names it. Only what has been
/// measured by itself again may be named by a hunt that looks like this first.
HuntSettings for_first_look(HuntSettings settings);

/// One step of a bisection: the half that is slow, or nothing when they differ by less than the
/// settings ask. `rates` are of the trials of halves().
std::optional<int> slow_half(double first, double second, const HuntSettings& settings = {});

/// Nodes whose joining lowers the rate of a growing group: the first group that falls short of the
/// one before by more than node_drop names the nodes that were new in it.
std::vector<int> slow_joiners(const std::vector<Measurement>& groups,
                              const HuntSettings& settings = {});

/// Names of what was found, as the schedulers take them: {nodes, slurm, kubernetes, plan}. The plan
/// is commands, shown and not run.
nlohmann::ordered_json hunt_actions(const HuntResult& result,
                                    const std::vector<std::string>& names);

/// Slurm's short form of node names: n[1-3,7],login.
std::string slurm_node_list(const std::vector<std::string>& names);

/// Checks: measured, nodes, pairs.
Verdict hunt_verdict(const HuntResult& result, const std::vector<std::string>& names);

}  // namespace muster::bench
