#include "bench/ceiling.h"

#include <fmt/format.h>

#include "bench/formulas.h"

namespace muster::bench {
namespace {

/// GB/s of one NVLink in one direction: 25 from the second generation to the fourth, 50 since.
std::optional<double> nvlink_rate(const facts::Instance& instance) {
  if (!instance.nvlink || instance.nvlink->links.value_or(0) < 1) return std::nullopt;
  const int generation = instance.nvlink->generation.value_or(0);
  if (generation < 2) return std::nullopt;
  return *instance.nvlink->links * (generation >= 5 ? 50.0 : 25.0);
}

bool is_all_to_all(const std::string& operation) {
  return operation == "alltoall" || operation == "alltoallv";
}

bool moves_sums(const std::string& operation) {
  return operation == "all_reduce" || operation == "all_gather" || operation == "reduce_scatter";
}

Ceiling within_node(const std::string& operation, int ranks, double link) {
  Ceiling ceiling;
  ceiling.ring = link;
  // A switch that reduces sends every byte of an all_reduce out once and in once.
  ceiling.hard = operation == "all_reduce" ? link * *bus_factor(operation, ranks) : link;
  ceiling.how = fmt::format("NVLink {:g} GB/s a GPU in one direction", link);
  return ceiling;
}

}  // namespace

std::optional<Ceiling> ceiling_of(const facts::Instance& instance, const std::string& operation,
                                  int nodes, int ranks) {
  if (!bus_factor(operation, ranks) || nodes < 1 || ranks < 2 || ranks % nodes != 0)
    return std::nullopt;
  if (nodes == 1) {
    const auto link = nvlink_rate(instance);
    if (!link) return std::nullopt;
    return within_node(operation, ranks, *link);
  }
  if (!instance.network.gbps) return std::nullopt;
  const double node = *instance.network.gbps / 8;
  const double n = ranks, g = n / nodes, many = nodes;
  Ceiling ceiling;
  if (is_all_to_all(operation)) {
    // Of each rank's bytes the share for other nodes leaves by its share of the cards.
    ceiling.ring = ceiling.hard = node / g * (n - 1) / (n - g);
    ceiling.how = fmt::format("{:g} Gb/s a node / 8 / {:g} ranks × ({:g} - 1)/({:g} - {:g})",
                              *instance.network.gbps, g, n, n, g);
    return ceiling;
  }
  ceiling.ring = node;
  ceiling.hard = moves_sums(operation) ? node * (n - 1) / n * many / (many - 1) : node;
  ceiling.how = fmt::format("{:g} Gb/s a node / 8", *instance.network.gbps);
  return ceiling;
}

}  // namespace muster::bench
