#include "engine/bench/expert_routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/bench/mix.h"

namespace muster::measure {
namespace {

/// How likely each expert is. The favourites are not the first ones, which would all be on one
/// rank, but spread by the seed.
std::vector<double> likelihoods(const ExpertShape& shape, unsigned seed) {
  const auto experts = static_cast<std::size_t>(shape.experts);
  std::vector<std::size_t> by_favour(experts);
  std::iota(by_favour.begin(), by_favour.end(), std::size_t{0});
  std::sort(by_favour.begin(), by_favour.end(), [seed](std::size_t a, std::size_t b) {
    return std::pair(mix(seed, 0xfa40, a), a) < std::pair(mix(seed, 0xfa40, b), b);
  });
  std::vector<double> all(experts, 1.0);
  const Skew& skew = shape.skew;
  for (std::size_t place = 0; place < experts; ++place) {
    double& one = all[by_favour[place]];
    if (skew.kind == Skew::Kind::kZipf)
      one = std::pow(static_cast<double>(place + 1), -skew.exponent);
    if (skew.kind == Skew::Kind::kHot) {
      const int cold = shape.experts - skew.hot_experts;
      one = static_cast<int>(place) < skew.hot_experts ? skew.hot_share / skew.hot_experts
                                                       : (1 - skew.hot_share) / cold;
    }
  }
  return all;
}

/// Smaller is picked earlier: the arrival time of a Poisson process whose rate is the likelihood,
/// so that the first k are a draw without replacement. Of equal likelihoods only the order counts.
double key(double likelihood, bool uniform, std::uint64_t random) {
  const double unit = (static_cast<double>(random >> 11) + 0.5) * 0x1p-53;
  return uniform ? unit : -std::log(unit) / likelihood;
}

/// Leaves only the experts of the `groups` nodes with the earliest expert each.
void limit_to_groups(const ExpertShape& shape, std::vector<std::pair<double, int>>& keys) {
  if (shape.groups >= shape.nodes) return;
  const int each = shape.experts / shape.nodes;
  std::vector<std::pair<double, int>> nodes;
  for (int node = 0; node < shape.nodes; ++node) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(node) * each;
    nodes.emplace_back(std::min_element(first, first + each)->first, node);
  }
  std::sort(nodes.begin(), nodes.end());
  std::vector<std::pair<double, int>> left;
  for (int i = 0; i < shape.groups; ++i) {
    const auto first =
        keys.begin() +
        static_cast<std::ptrdiff_t>(nodes[static_cast<std::size_t>(i)].second) * each;
    left.insert(left.end(), first, first + each);
  }
  keys = std::move(left);
}

double dispatch_token_bytes(const ExpertShape& shape) {
  return bench::token_bytes(shape.payload, shape.hidden);
}

/// `all` as the formulas take it: of one rank's tokens, the node of each selection as an "expert".
std::vector<std::vector<int>> nodes_touched(const ExpertShape& shape, const Routing& routing,
                                            const Placement& placement) {
  std::vector<std::vector<int>> tokens;
  for (int token = 0; token < routing.tokens(); ++token) {
    std::vector<int> nodes;
    for (int k = 0; k < routing.top_k; ++k) {
      const int expert = routing.experts_of(token)[k];
      nodes.push_back(
          expert < 0 ? -1 : placement.node_of[static_cast<std::size_t>(shape.rank_of(expert))]);
    }
    tokens.push_back(std::move(nodes));
  }
  return tokens;
}

Account account(const ExpertShape& shape, const std::vector<Routing>& all,
                const Placement& placement, int rank, bool low_latency, double token_bytes,
                double slot_bytes) {
  const Routing& own = all[static_cast<std::size_t>(rank)];
  Account account;
  if (low_latency) {
    const auto tokens = nodes_touched(shape, own, placement);
    account.slots = bench::low_latency_total(tokens, slot_bytes);
    account.rows = bench::low_latency_total(tokens, 1);
    return account;
  }
  account.rows = static_cast<double>(due_rows(shape, all, rank).size());
  account.local = account.rows * token_bytes;
  // The formula counts bf16; other payloads in proportion.
  const double share = token_bytes / bench::token_bytes(bench::Payload::kBf16, shape.hidden);
  account.across =
      bench::rdma_dispatch_bytes(nodes_touched(shape, own, placement), 1, shape.hidden) * share;
  return account;
}

}  // namespace

Routing route(const ExpertShape& shape, int rank, unsigned seed) {
  Routing routing;
  routing.top_k = shape.top_k;
  const auto picks = static_cast<std::size_t>(shape.top_k);
  const std::size_t total = static_cast<std::size_t>(shape.tokens) * picks;
  routing.experts.resize(total);
  routing.weights.resize(total);
  const std::vector<double> likely = likelihoods(shape, seed);
  const bool uniform = shape.skew.kind == Skew::Kind::kUniform;
  std::vector<std::pair<double, int>> keys;
  for (int token = 0; token < shape.tokens; ++token) {
    keys.clear();
    const std::uint64_t base =
        mix(seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(token));
    for (int expert = 0; expert < shape.experts; ++expert)
      keys.emplace_back(key(likely[static_cast<std::size_t>(expert)], uniform,
                            scramble(base + static_cast<std::uint64_t>(expert))),
                        expert);
    limit_to_groups(shape, keys);
    std::partial_sort(keys.begin(), keys.begin() + shape.top_k, keys.end());
    const std::size_t at = static_cast<std::size_t>(token) * picks;
    for (std::size_t k = 0; k < picks; ++k) {
      routing.experts[at + k] = keys[k].second;
      routing.weights[at + k] = (scramble(base ^ (k + 0x77)) & 1) != 0 ? 0.5F : 0.25F;
    }
  }
  // Void selections lie anywhere, each once.
  std::vector<std::size_t> places(total);
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.masked); ++i) {
    const std::uint64_t random = mix(seed, static_cast<std::uint64_t>(rank), 0x3a5c00000000ULL + i);
    std::swap(places[i], places[i + static_cast<std::size_t>(random % (total - i))]);
    routing.experts[places[i]] = -1;
  }
  return routing;
}

bool touches(const int* experts, int top_k, int first, int last) {
  for (int k = 0; k < top_k; ++k) {
    if (experts[k] >= first && experts[k] < last) return true;
  }
  return false;
}

std::vector<Due> due_rows(const ExpertShape& shape, const std::vector<Routing>& all, int rank) {
  const int first = rank * shape.experts_per_rank(), last = first + shape.experts_per_rank();
  std::vector<Due> due;
  for (int source = 0; source < shape.ranks; ++source) {
    const Routing& routing = all[static_cast<std::size_t>(source)];
    for (int token = 0; token < routing.tokens(); ++token) {
      if (touches(routing.experts_of(token), routing.top_k, first, last))
        due.push_back({source, token, -1, -1});
    }
  }
  return due;
}

std::vector<Due> due_slots(const ExpertShape& shape, const std::vector<Routing>& all, int rank) {
  const int first = rank * shape.experts_per_rank(), last = first + shape.experts_per_rank();
  std::vector<Due> due;
  for (int source = 0; source < shape.ranks; ++source) {
    const Routing& routing = all[static_cast<std::size_t>(source)];
    for (int token = 0; token < routing.tokens(); ++token) {
      for (int k = 0; k < routing.top_k; ++k) {
        const int expert = routing.experts_of(token)[k];
        if (expert >= first && expert < last) due.push_back({source, token, expert, k});
      }
    }
  }
  std::stable_sort(due.begin(), due.end(),
                   [](const Due& a, const Due& b) { return a.expert < b.expert; });
  return due;
}

Account account_dispatch(const ExpertShape& shape, const std::vector<Routing>& all,
                         const Placement& placement, int rank, bool low_latency) {
  return account(shape, all, placement, rank, low_latency, dispatch_token_bytes(shape),
                 bench::low_latency_dispatch_bytes(shape.payload, shape.hidden));
}

Account account_combine(const ExpertShape& shape, const std::vector<Routing>& all,
                        const Placement& placement, int rank, bool low_latency) {
  return account(shape, all, placement, rank, low_latency,
                 bench::token_bytes(bench::Payload::kBf16, shape.hidden),
                 bench::low_latency_combine_bytes(bench::Payload::kBf16, shape.hidden));
}

}  // namespace muster::measure
