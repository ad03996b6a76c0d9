// A hunt by one all-to-all that tells the rate of every pair, and by rounds that measure again what
// it makes suspect.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "bench/baseline.h"
#include "bench/hunt_run.h"
#include "bench/read.h"

namespace muster::bench {
namespace {

/// The node that a name in the output means: "rank 3" is the fourth, else its own name or the first
/// label of a longer one.
std::optional<int> node_of(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::string_view kRank = "rank ";
  if (name.starts_with(kRank)) {
    int rank = -1;
    const auto [end, error] =
        std::from_chars(name.data() + kRank.size(), name.data() + name.size(), rank);
    const bool whole = error == std::errc() && end == name.data() + name.size();
    return whole && rank >= 0 && rank < static_cast<int>(names.size()) ? std::optional(rank)
                                                                       : std::nullopt;
  }
  const auto label = [](std::string_view full) { return full.substr(0, full.find('.')); };
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (name == names[at] || label(name) == names[at] || label(names[at]) == name)
      return static_cast<int>(at);
  }
  return std::nullopt;
}

/// The two nodes of a record such as "n1 <-> n2".
std::optional<std::vector<int>> pair_of(const Record& record,
                                        const std::vector<std::string>& names) {
  constexpr std::string_view kBetween = " <-> ";
  const std::string_view variant = record.variant;
  const auto cut = variant.find(kBetween);
  if (cut == std::string_view::npos) return std::nullopt;
  const auto a = node_of(variant.substr(0, cut), names);
  const auto b = node_of(variant.substr(cut + kBetween.size()), names);
  if (!a || !b || *a == *b) return std::nullopt;
  return std::vector<int>{std::min(*a, *b), std::max(*a, *b)};
}

}  // namespace

std::vector<Measurement> measure_all_pairs(const std::string& output,
                                           const std::vector<std::string>& names, int round) {
  const auto log = read_log(printed_json(output), "all-to-all");
  std::map<std::vector<int>, std::pair<std::uint64_t, double>> largest;
  if (log) {
    for (const Run& run : log->runs) {
      if (!run.wrong.empty()) continue;  // measure_output() says so
      for (const Record& record : run.records) {
        const auto nodes = pair_of(record, names);
        const auto rate = rate_of(record);
        if (!nodes || !rate || *rate <= 0) continue;
        const std::uint64_t size = record.size.value_or(0);
        const auto [known, added] = largest.emplace(*nodes, std::pair{size, *rate});
        if (!added && size >= known->second.first) known->second = {size, *rate};
      }
    }
  }
  std::vector<Measurement> measured;
  measured.reserve(largest.size());
  for (const auto& [nodes, row] : largest) measured.push_back({nodes, row.second, round, {}, {}});
  return measured;
}

std::vector<Round> confirming_rounds(int nodes, const HuntResult& suspects) {
  std::set<int> suspected(suspects.single.begin(), suspects.single.end());
  std::vector<std::pair<int, int>> wanted;
  for (const Slow& slow : suspects.slow) {
    if (slow.nodes.size() == 2) wanted.emplace_back(slow.nodes[0], slow.nodes[1]);
    suspected.insert(slow.nodes.begin(), slow.nodes.end());
  }
  for (const auto& pair : suspects.unended) {
    wanted.emplace_back(pair[0], pair[1]);
    suspected.insert(pair.begin(), pair.end());
  }
  // What is suspect by itself meets one that is not.
  std::vector<int> good;
  for (int node = 0; node < nodes; ++node) {
    if (suspected.count(node) == 0) good.push_back(node);
  }
  std::set<int> alone = suspected;
  for (const auto& [a, b] : wanted) {
    alone.erase(a);
    alone.erase(b);
  }
  auto next = good.begin();
  for (const int node : alone) {
    if (next != good.end()) wanted.emplace_back(node, *next++);
  }
  std::vector<Round> rounds;
  while (!wanted.empty()) {
    Round round;
    std::set<int> busy;
    std::vector<std::pair<int, int>> later;
    const auto place = [&](int a, int b) {
      busy.insert({a, b});
      round.trials.push_back({{std::min(a, b), std::max(a, b)}});
    };
    for (const auto& [a, b] : wanted) {
      if (busy.count(a) + busy.count(b) > 0) {
        later.emplace_back(a, b);
      } else {
        place(a, b);
      }
    }
    // The others are the measure of this round.
    std::optional<int> waiting;
    for (const int node : good) {
      if (busy.count(node) > 0) continue;
      if (waiting) {
        place(*waiting, node);
        waiting.reset();
      } else {
        waiting = node;
      }
    }
    rounds.push_back(std::move(round));
    wanted = std::move(later);
  }
  return rounds;
}

}  // namespace muster::bench
