// Which rounds to run, and what to do about what they found.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "bench/hunt.h"

namespace muster::bench {
namespace {

using Json = nlohmann::ordered_json;

/// "node-07" -> {"node-", "07"}; no digits at the end: {name, ""}.
std::pair<std::string, std::string> split_name(const std::string& name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
  return {name.substr(0, at), name.substr(at)};
}

std::vector<std::string> names_of(const std::vector<int>& nodes,
                                  const std::vector<std::string>& names) {
  std::vector<std::string> list;
  list.reserve(nodes.size());
  for (const int node : nodes) list.push_back(names.at(static_cast<std::size_t>(node)));
  return list;
}

std::string drop_words(const Slow& slow) {
  return slow.failed
             ? fmt::format("nothing with it came to an end in {} tries", slow.measured)
             : fmt::format("{:.0f} % below the median pair in {} {}", 100 * slow.drop,
                           slow.measured, slow.measured == 1 ? "measurement" : "measurements");
}

}  // namespace

std::vector<Round> round_robin(int nodes) {
  std::vector<Round> rounds;
  if (nodes < 2) return rounds;
  const int seats = nodes + nodes % 2;  // an empty seat when odd: who meets it rests
  for (int round = 0; round + 1 < seats; ++round) {
    Round one;
    for (int table = 0; table < seats / 2; ++table) {
      // The last seat stays, the others move on by one each round.
      const int turning = seats - 1;
      const int a = table == 0 ? seats - 1 : (round + table) % turning;
      const int b = (round + turning - table) % turning;
      if (a < nodes && b < nodes) one.trials.push_back({{std::min(a, b), std::max(a, b)}});
    }
    rounds.push_back(std::move(one));
  }
  return rounds;
}

int node_rounds(int nodes) {
  if (nodes < 2) return 0;
  const int wanted = static_cast<int>(std::ceil(std::log2(nodes))) + 1;
  return std::min(wanted, static_cast<int>(round_robin(nodes).size()));
}

std::vector<Round> growing_groups(const std::vector<int>& order) {
  std::vector<Round> rounds;
  for (std::size_t size = 2; order.size() >= 2; size *= 2) {
    const std::size_t count = std::min(size, order.size());
    Round round;
    round.trials.push_back({{order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)}});
    rounds.push_back(std::move(round));
    if (count == order.size()) break;
  }
  return rounds;
}

Round halves(const std::vector<int>& suspects, const std::vector<int>& cleared) {
  Round round;
  if (suspects.empty()) return round;
  const std::size_t first = (suspects.size() + 1) / 2;
  const std::size_t size = std::max<std::size_t>(first, 2);
  auto fill = cleared.begin();
  for (const bool second : {false, true}) {
    const auto from = suspects.begin() + static_cast<std::ptrdiff_t>(second ? first : 0);
    const auto to = second ? suspects.end() : suspects.begin() + static_cast<std::ptrdiff_t>(first);
    Trial trial{{from, to}};
    while (trial.nodes.size() < size && fill != cleared.end()) trial.nodes.push_back(*fill++);
    round.trials.push_back(std::move(trial));
  }
  return round;
}

std::string slurm_node_list(const std::vector<std::string>& names) {
  // By what stands before the number and how wide the number is.
  std::map<std::pair<std::string, std::size_t>, std::vector<long long>> groups;
  std::vector<std::string> parts;
  std::set<std::pair<std::string, std::size_t>> padded;
  for (const std::string& name : names) {
    const auto [stem, digits] = split_name(name);
    if (digits.size() > 1 && digits[0] == '0') padded.insert({stem, digits.size()});
  }
  for (const std::string& name : names) {
    const auto [stem, digits] = split_name(name);
    long long number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || error != std::errc()) {
      parts.push_back(name);
      continue;
    }
    const bool wide = padded.count({stem, digits.size()}) > 0;
    groups[{stem, wide ? digits.size() : 0}].push_back(number);
  }
  for (auto& [key, numbers] : groups) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const auto text = [width = key.second](long long number) {
      return fmt::format("{:0{}}", number, width);
    };
    std::string ranges;
    for (std::size_t i = 0; i < numbers.size();) {
      std::size_t last = i;
      while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
      ranges += (ranges.empty() ? "" : ",") + text(numbers[i]);
      if (last > i) ranges += "-" + text(numbers[last]);
      i = last + 1;
    }
    parts.push_back(numbers.size() == 1 ? key.first + ranges
                                        : fmt::format("{}[{}]", key.first, ranges));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

Json hunt_actions(const HuntResult& result, const std::vector<std::string>& names) {
  std::vector<std::string> bad;
  Json plan = Json::array(), found = Json::array();
  for (const Slow& slow : result.slow) {
    const auto who = names_of(slow.nodes, names);
    found.push_back({{"nodes", who},
                     {"kind", slow.nodes.size() == 1 ? "node" : "pair"},
                     {"drop", slow.drop},
                     {"measured", slow.measured},
                     {"failed", slow.failed}});
    if (slow.nodes.size() != 1) {
      plan.push_back(
          fmt::format("# between {} and {}: {}; look at their links and switch ports, "
                      "draining either would not mend it",
                      who[0], who[1], drop_words(slow)));
      continue;
    }
    bad.push_back(who[0]);
    plan.push_back(fmt::format("scontrol update NodeName={} State=DRAIN Reason=\"muster hunt: {}\"",
                               who[0], drop_words(slow)));
    plan.push_back(fmt::format("kubectl cordon {}", who[0]));
    plan.push_back(fmt::format(
        "kubectl drain {} --ignore-daemonsets --delete-emptydir-data --timeout=10m", who[0]));
  }
  return {{"found", std::move(found)},
          {"nodes", bad},
          {"slurm", slurm_node_list(bad)},
          {"kubernetes", bad},
          {"plan", std::move(plan)}};
}

Verdict hunt_verdict(const HuntResult& result, const std::vector<std::string>& names) {
  Verdict verdict;
  constexpr std::size_t kFewest = 2;  // one rate alone is neither slow nor fast
  if (result.measurements < kFewest && result.slow.empty()) {
    verdict.add("measured", Outcome::kUnknown,
                result.measurements == 0 ? "nothing was measured"
                                         : "one measurement alone has nothing to be held against");
    return verdict;
  }
  std::vector<std::string> missing = names_of(result.untested, names);
  for (const auto& pair : result.unended)
    missing.push_back(fmt::format("{}", fmt::join(names_of(pair, names), " with ")));
  if (!missing.empty()) {
    verdict.add("measured", Outcome::kUnknown,
                fmt::format("not measured: {}", fmt::join(missing, ", ")));
  } else {
    verdict.add("measured", Outcome::kPass,
                fmt::format("{} measurements of {} nodes, noise {:.1f} %", result.measurements,
                            names.size(), 100 * result.noise));
  }
  std::vector<std::string> nodes, pairs;
  for (const Slow& slow : result.slow) {
    const auto who = names_of(slow.nodes, names);
    auto& list = slow.nodes.size() == 1 ? nodes : pairs;
    list.push_back(fmt::format("{}: {}", fmt::join(who, " and "), drop_words(slow)));
  }
  if (!nodes.empty()) {
    verdict.add("nodes", Outcome::kFail, fmt::format("slow: {}", fmt::join(nodes, "; ")));
  } else if (!result.single.empty()) {
    verdict.add("nodes", Outcome::kUnknown,
                fmt::format("slow in all that was measured of them, and too little was: {}; one "
                            "more round decides",
                            fmt::join(names_of(result.single, names), ", ")));
  } else {
    verdict.add("nodes", Outcome::kPass, fmt::format("none of {} is slow", names.size()));
  }
  if (!pairs.empty())
    verdict.add("pairs", Outcome::kFail, fmt::format("slow: {}", fmt::join(pairs, "; ")));
  return verdict;
}

}  // namespace muster::bench
