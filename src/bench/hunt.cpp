#include "bench/hunt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runs/statistics.h"

namespace muster::bench {
namespace {

/// A pair's measurement relative to the median of its round, as a logarithm.
struct Relative {
  int a = 0, b = 0;
  double value = 0;
  bool failed = false;
};

/// Of so few nodes a slow one is in half of all pairs and more, and the median says nothing.
bool are_few(int nodes) {
  constexpr int kFew = 5;
  return nodes <= kFew;
}

/// The value that a quarter of the others pass, or the largest.
double upper_quartile(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[(3 * values.size() + 3) / 4 - 1];
}

constexpr double kNormal = 1.4826;  ///< a normal distribution's deviation over its median one

/// Robust: a slow node among few, in a quarter of all pairs, hardly raises it.
double rough_noise(const std::vector<double>& values) {
  return kNormal * runs::median_absolute_deviation(values).value_or(0);
}

/// The standard deviation of what is not far from the middle: where no node is slow, steadier than
/// the median deviation, which it starts from.
double noise_of(const std::vector<double>& values) {
  constexpr double kFar = 3;
  constexpr double kCut = 1 / 0.9866;  // what a normal distribution loses beyond three deviations
  constexpr int kTimes = 4;
  const double middle = runs::median(values).value_or(0);
  double noise = rough_noise(values);
  for (int i = 0; i < kTimes; ++i) {
    double squares = 0;
    int near = 0;
    for (const double value : values) {
      const double apart = value - middle;
      if (std::abs(apart) > kFar * noise) continue;
      squares += apart * apart;
      ++near;
    }
    if (near < 2) break;
    noise = kCut * std::sqrt(squares / (near - 1));
  }
  return noise;
}

/// Of few nodes the better half alone; what it misses of the spread, the settings' least drops make
/// up for.
double noise_of_few(std::vector<double> values) {
  const double middle = runs::median(values).value_or(0);
  std::erase_if(values, [middle](double value) { return value <= middle; });
  return rough_noise(values);
}

/// The pairs, each relative to its round, and the noise of one measurement. What slows all of a
/// round (another job, a busy switch) does not make a node slow: such a round is measured by its
/// own median. The median of all serves the others, since that of a few pairs is noise as well. Of
/// few nodes the better pairs are the measure.
std::vector<Relative> relative_pairs(int nodes, const std::vector<Measurement>& measurements,
                                     double& noise) {
  std::map<int, std::vector<double>> rounds;
  std::vector<double> all;
  for (const Measurement& one : measurements) {
    if (one.nodes.size() != 2 || one.rate.value_or(0) <= 0) continue;
    rounds[one.round].push_back(std::log(*one.rate));
    all.push_back(std::log(*one.rate));
  }
  constexpr std::size_t kFewest = 3;  // a round of one or two pairs has no middle of its own
  std::map<int, double> middles;
  if (are_few(nodes)) {
    const double best = upper_quartile(all);
    noise = noise_of_few(all);
    for (const auto& [round, values] : rounds) middles[round] = best;
  } else {
    const double overall = runs::median(all).value_or(0);
    std::vector<double> within;
    for (const auto& [round, values] : rounds) {
      middles[round] = values.size() < kFewest ? overall : *runs::median(values);
      for (const double value : values) within.push_back(value - middles[round]);
    }
    noise = rough_noise(within);
    constexpr double kOfMedian = 1.2533;  // deviation of a median over that of a mean
    constexpr double kApart = 3;
    for (const auto& [round, values] : rounds) {
      const double error = kOfMedian * noise / std::sqrt(static_cast<double>(values.size()));
      if (std::abs(middles[round] - overall) <= kApart * error) middles[round] = overall;
    }
  }
  std::vector<Relative> relative;
  for (const Measurement& one : measurements) {
    if (one.nodes.size() != 2) continue;
    const int a = one.nodes[0], b = one.nodes[1];
    if (a < 0 || b < 0 || a >= nodes || b >= nodes || a == b) continue;
    if (one.rate.value_or(0) <= 0) {
      relative.push_back({a, b, 0, true});
      continue;
    }
    relative.push_back({a, b, std::log(*one.rate) - middles[one.round], false});
  }
  return relative;
}

/// Values of a node's measurements with nodes that are not named yet, best first.
std::vector<double> values_of(int node, const std::vector<Relative>& pairs,
                              const std::set<int>& named) {
  std::vector<double> values;
  for (const Relative& pair : pairs) {
    if (pair.failed || (pair.a != node && pair.b != node)) continue;
    if (named.count(pair.a == node ? pair.b : pair.a) == 0) values.push_back(pair.value);
  }
  std::sort(values.rbegin(), values.rend());
  return values;
}

/// Whether a node is slow by its measurements, best first: all of them, but for one of three and
/// more, and in the middle by more than the noise explains. One slow pair among good ones is not a
/// slow node.
bool is_slow_node(const std::vector<double>& values, double noise, const HuntSettings& settings) {
  if (values.size() < 2) return false;
  const double least = std::log(1 - settings.node_drop);
  const double nearly_best = values.size() == 2 ? values[0] : values[1];
  const double middle = *runs::median(values);
  const double error = noise / std::sqrt(static_cast<double>(values.size()));
  return middle < least && middle < -settings.sigmas * error && nearly_best < 0.6 * least;
}

/// Nodes for which no measurement came to an end, of at least two.
void name_failed(int nodes, const std::vector<Relative>& pairs, HuntResult& result,
                 std::set<int>& named) {
  for (int node = 0; node < nodes; ++node) {
    int failed = 0, ended = 0;
    for (const Relative& pair : pairs) {
      if (pair.a == node || pair.b == node) ++(pair.failed ? failed : ended);
    }
    if (failed < 2 || ended > 0) continue;
    result.slow.push_back({{node}, 1, failed, true});
    named.insert(node);
  }
}

void name_slow_nodes(int nodes, const std::vector<Relative>& pairs, const HuntSettings& settings,
                     HuntResult& result, std::set<int>& named) {
  for (;;) {
    int worst = -1;
    double lowest = 0;
    std::size_t measured = 0;
    for (int node = 0; node < nodes; ++node) {
      if (named.count(node) > 0) continue;
      const auto values = values_of(node, pairs, named);
      if (!is_slow_node(values, result.noise, settings)) continue;
      const double middle = *runs::median(values);
      if (worst >= 0 && middle >= lowest) continue;
      worst = node;
      lowest = middle;
      measured = values.size();
    }
    if (worst < 0) return;
    result.slow.push_back({{worst}, 1 - std::exp(lowest), static_cast<int>(measured), false});
    named.insert(worst);
  }
}

/// The noise by the pairs of nodes that are not named.
double noise_of_the_rest(const std::vector<Relative>& pairs, const std::set<int>& named) {
  std::vector<double> values;
  for (const Relative& pair : pairs) {
    if (!pair.failed && named.count(pair.a) + named.count(pair.b) == 0)
      values.push_back(pair.value);
  }
  return noise_of(values);
}

void name_slow_pairs(const std::vector<Relative>& pairs, const HuntSettings& settings,
                     HuntResult& result, const std::set<int>& named) {
  std::map<std::pair<int, int>, std::vector<double>> by_pair;
  std::set<int> single;
  for (const Relative& pair : pairs) {
    if (named.count(pair.a) > 0 || named.count(pair.b) > 0) continue;
    auto& values = by_pair[std::minmax(pair.a, pair.b)];
    if (!pair.failed) values.push_back(pair.value);
  }
  for (const auto& [key, values] : by_pair) {
    if (values.empty()) {
      result.unended.push_back({key.first, key.second});
      continue;
    }
    const double middle = *runs::median(values);
    const double error = result.noise / std::sqrt(static_cast<double>(values.size()));
    if (middle >= std::min(std::log(1 - settings.pair_drop), -settings.pair_sigmas * error))
      continue;
    // Each of the two must have been well with somebody else; else it may be the node.
    bool decided = true;
    for (const int node : {key.first, key.second}) {
      const auto own = values_of(node, pairs, named);
      if (own.empty() || own.front() < 0.6 * std::log(1 - settings.node_drop)) {
        decided = false;
        single.insert(node);
      }
    }
    if (decided) {
      result.slow.push_back(
          {{key.first, key.second}, 1 - std::exp(middle), static_cast<int>(values.size()), false});
    }
  }
  result.single.assign(single.begin(), single.end());
}

}  // namespace

HuntResult judge_pairs(int nodes, const std::vector<Measurement>& measurements,
                       const HuntSettings& settings) {
  HuntResult result;
  const auto pairs = relative_pairs(nodes, measurements, result.noise);
  result.measurements = static_cast<std::size_t>(
      std::count_if(pairs.begin(), pairs.end(), [](const Relative& pair) { return !pair.failed; }));
  std::set<int> named;
  name_failed(nodes, pairs, result, named);
  name_slow_nodes(nodes, pairs, settings, result, named);
  if (!are_few(nodes)) result.noise = noise_of_the_rest(pairs, named);
  name_slow_pairs(pairs, settings, result, named);
  std::stable_sort(result.slow.begin(), result.slow.end(),
                   [](const Slow& a, const Slow& b) { return a.drop > b.drop; });
  std::vector<double> good;
  for (const Measurement& one : measurements) {
    const bool touches = std::any_of(one.nodes.begin(), one.nodes.end(),
                                     [&named](int node) { return named.count(node) > 0; });
    if (!touches && one.nodes.size() == 2 && one.rate) good.push_back(*one.rate);
  }
  result.median = runs::median(good).value_or(0);
  for (int node = 0; node < nodes; ++node) {
    const bool seen = std::any_of(pairs.begin(), pairs.end(), [node](const Relative& pair) {
      return !pair.failed && (pair.a == node || pair.b == node);
    });
    if (!seen && named.count(node) == 0) result.untested.push_back(node);
  }
  return result;
}

HuntSettings for_first_look(HuntSettings settings) {
  constexpr double kSooner = 0.75;
  constexpr double kPairSigmas = 4;
  settings.pair_drop *= kSooner;
  settings.pair_sigmas = std::min(settings.pair_sigmas, kPairSigmas);
  return settings;
}

std::optional<int> slow_half(double first, double second, const HuntSettings& settings) {
  if (first <= 0 || second <= 0) return std::nullopt;
  if (first < second * (1 - settings.node_drop)) return 0;
  if (second < first * (1 - settings.node_drop)) return 1;
  return std::nullopt;
}

std::vector<int> slow_joiners(const std::vector<Measurement>& groups,
                              const HuntSettings& settings) {
  double before = 0;
  std::set<int> known;
  for (const Measurement& group : groups) {
    const double rate = group.rate.value_or(0);
    if (before > 0 && rate < before * (1 - settings.node_drop)) {
      std::vector<int> fresh;
      for (const int node : group.nodes) {
        if (known.count(node) == 0) fresh.push_back(node);
      }
      return fresh;
    }
    known.insert(group.nodes.begin(), group.nodes.end());
    before = rate;
  }
  return {};
}

}  // namespace muster::bench
