// How often a hunt names what is slow, and how often it raises an alarm about nothing: simulated
// clusters with log-normal noise of the rates, as JSON on standard output.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>

#include <nlohmann/json.hpp>

#include "bench/hunt.h"

namespace {

using muster::bench::HuntResult;
using muster::bench::Measurement;
using muster::bench::Round;
using muster::bench::Trial;
using Json = nlohmann::ordered_json;

constexpr double kDrop = 0.20;  // of what is planted
constexpr unsigned kRuns = 1000;

struct Cluster {
  int nodes = 8;
  int slow_node = -1;
  int slow_a = -1, slow_b = -1;
  double sigma = 0.02;
};

class Hunt {
 public:
  Hunt(const Cluster& cluster, unsigned seed) : cluster_(cluster), random_(seed) {}

  HuntResult in_rounds(int most) {
    const auto plan = muster::bench::round_robin(cluster_.nodes);
    for (int round = 0; round < std::min<int>(most, static_cast<int>(plan.size())); ++round)
      measure(plan[static_cast<std::size_t>(round)], round);
    return muster::bench::judge_pairs(cluster_.nodes, all_);
  }

  HuntResult all_to_all() {
    for (int a = 0; a < cluster_.nodes; ++a) {
      for (int b = a + 1; b < cluster_.nodes; ++b) measure({{{{a, b}}}}, 0);
    }
    const HuntResult first =
        muster::bench::judge_pairs(cluster_.nodes, all_, muster::bench::for_first_look({}));
    int number = 0;
    for (const Round& round : muster::bench::confirming_rounds(cluster_.nodes, first))
      measure(round, ++number);
    return muster::bench::judge_pairs(cluster_.nodes, all_);
  }

 private:
  void measure(const Round& round, int number) {
    for (const Trial& trial : round.trials) {
      const auto is = [&](int node) { return trial.nodes[0] == node || trial.nodes[1] == node; };
      double rate = is(cluster_.slow_node) ? 1 - kDrop : 1;
      if (is(cluster_.slow_a) && is(cluster_.slow_b)) rate *= 1 - kDrop;
      rate *= std::exp(std::normal_distribution<double>(0, cluster_.sigma)(random_));
      all_.push_back({trial.nodes, rate, number, {}, {}});
    }
  }

  Cluster cluster_;
  std::mt19937 random_;
  std::vector<Measurement> all_;
};

/// That and nothing else.
bool names(const HuntResult& result, const std::vector<int>& nodes) {
  return result.slow.size() == 1 && result.slow[0].nodes == nodes;
}

Json row(int nodes, double sigma) {
  unsigned node = 0, pair = 0, exchange = 0, alarms = 0, exchange_alarms = 0;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    Cluster clean;
    clean.nodes = nodes;
    clean.sigma = sigma;
    Cluster slow = clean;
    slow.slow_node = static_cast<int>(seed) % nodes;
    Cluster link = clean;
    const int a = static_cast<int>(seed) % nodes;
    const int b = (a + 1 + static_cast<int>(seed / 7) % (nodes - 1)) % nodes;
    link.slow_a = std::min(a, b);
    link.slow_b = std::max(a, b);
    const int rounds = muster::bench::node_rounds(nodes);
    node += names(Hunt(slow, seed).in_rounds(rounds), {slow.slow_node}) ? 1 : 0;
    pair += names(Hunt(link, seed).in_rounds(nodes), {link.slow_a, link.slow_b}) ? 1 : 0;
    exchange += names(Hunt(link, seed).all_to_all(), {link.slow_a, link.slow_b}) ? 1 : 0;
    alarms += Hunt(clean, seed).in_rounds(nodes).slow.empty() ? 0 : 1;
    exchange_alarms += Hunt(clean, seed).all_to_all().slow.empty() ? 0 : 1;
  }
  const auto share = [](unsigned count) { return static_cast<double>(count) / kRuns; };
  return {{"nodes", nodes},
          {"sigma", sigma},
          {"runs", kRuns},
          {"slow_node_in_log2_rounds", share(node)},
          {"slow_pair_in_all_rounds", share(pair)},
          {"slow_pair_by_all_to_all", share(exchange)},
          {"false_alarms_in_all_rounds", share(alarms)},
          {"false_alarms_by_all_to_all", share(exchange_alarms)}};
}

}  // namespace

int main() {
  Json result = {{"schema_version", 1}, {"drop", kDrop}, {"rows", Json::array()}};
  for (const double sigma : {0.02, 0.05}) {
    for (const int nodes : {8, 16, 32, 64}) result["rows"].push_back(row(nodes, sigma));
  }
  std::cout << result.dump(1) << '\n';
}
