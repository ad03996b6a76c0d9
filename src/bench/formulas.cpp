#include "bench/formulas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "runs/statistics.h"

namespace muster::bench {
namespace {

constexpr double kBytesPerGigabyte = 1e9;
constexpr int kScaleBlock = 128;  ///< values that share one scale
constexpr double kScaleBytes = 4;
constexpr double kHeaderBytes = 16;  ///< of a low-latency fp8 message

bool is_share_of_others(std::string_view operation) {
  constexpr std::array<std::string_view, 6> kOperations = {
      "all_gather", "reduce_scatter", "alltoall", "alltoallv", "gather", "scatter"};
  return std::find(kOperations.begin(), kOperations.end(), operation) != kOperations.end();
}

/// log of n over k.
double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

/// The power of ten of the last digit that a rate was printed with: two decimals below 100 000.
double print_step(double value) {
  return value < 1000 ? 0.01 : value < 10000 ? 0.1 : 1;
}

}  // namespace

std::optional<double> bus_factor(std::string_view operation, int ranks) {
  if (ranks < 1) return std::nullopt;
  const double n = ranks;
  if (operation == "all_reduce") return 2 * (n - 1) / n;
  if (is_share_of_others(operation)) return (n - 1) / n;
  if (operation == "broadcast" || operation == "reduce" || operation == "sendrecv" ||
      operation == "hypercube") {
    return 1.0;
  }
  return std::nullopt;
}

std::optional<double> base_bytes(std::string_view operation, double size, int ranks) {
  if (!bus_factor(operation, ranks)) return std::nullopt;
  if (operation == "hypercube") return size * (ranks - 1) / ranks;
  return size;
}

double algbw(double bytes, double microseconds) {
  return bytes / (microseconds * 1e-6) / kBytesPerGigabyte;
}

std::uint64_t split_count(std::uint64_t elements, int ranks, int element_bytes) {
  const auto multiple = static_cast<std::uint64_t>(std::max(1, 16 / element_bytes));
  const std::uint64_t each = elements / static_cast<std::uint64_t>(ranks);
  return each / multiple * multiple;
}

std::optional<int> implied_ranks(std::string_view operation, double algbw, double busbw) {
  const bool reduce = operation == "all_reduce";
  if ((!reduce && !is_share_of_others(operation)) || algbw <= 0 || busbw <= 0) return std::nullopt;
  const double scale = reduce ? 2 : 1;
  // Both were rounded to print width: the factor lies between these two.
  const double low = (busbw - print_step(busbw) / 2) / (algbw + print_step(algbw) / 2) / scale;
  const double high = (busbw + print_step(busbw) / 2) / (algbw - print_step(algbw) / 2) / scale;
  if (low <= 0 || high >= 1 || low > high) return std::nullopt;
  const double fewest = 1 / (1 - low), most = 1 / (1 - high);
  const double whole = std::ceil(fewest - 1e-9);
  if (whole > most + 1e-9 || whole + 1 <= most + 1e-9 || whole > 1e6) return std::nullopt;
  return static_cast<int>(whole);
}

std::optional<Fit> fit_time(const std::vector<std::pair<double, double>>& points) {
  if (points.size() < 2) return std::nullopt;
  double mean_size = 0, mean_time = 0;
  for (const auto& [size, time] : points) {
    mean_size += size / static_cast<double>(points.size());
    mean_time += time / static_cast<double>(points.size());
  }
  double together = 0, squares = 0;
  for (const auto& [size, time] : points) {
    together += (size - mean_size) * (time - mean_time);
    squares += (size - mean_size) * (size - mean_size);
  }
  if (squares <= 0 || together <= 0) return std::nullopt;
  const double slope = together / squares;  // microseconds a byte
  return Fit{mean_time - slope * mean_size, 1 / slope / 1000};
}

std::optional<double> half_peak_size(const std::vector<std::pair<double, double>>& points) {
  double peak = 0;
  for (const auto& point : points) peak = std::max(peak, point.second);
  const double half = peak / 2;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto& [size, rate] = points[i];
    const auto& [size_before, rate_before] = points[i - 1];
    if (rate_before >= half || rate < half || size_before <= 0) continue;
    const double part = (half - rate_before) / (rate - rate_before);
    return std::exp2(std::log2(size_before) + part * std::log2(size / size_before));
  }
  return std::nullopt;
}

std::optional<double> plateau(const std::vector<std::pair<double, double>>& points) {
  double peak = 0;
  for (const auto& point : points) peak = std::max(peak, point.second);
  std::vector<double> high;
  for (const auto& point : points) {
    if (point.second >= 0.95 * peak) high.push_back(point.second);
  }
  return runs::median(std::move(high));
}

double window_rate(double size, int window, int iterations, double seconds, int pairs,
                   bool both_directions) {
  return size * window * iterations / seconds / 1e6 * pairs * (both_directions ? 2 : 1);
}

double message_rate(double megabytes_per_second, double size) {
  return 1e6 * megabytes_per_second / size;
}

double one_way_latency(double seconds, int iterations) {
  return seconds * 1e6 / (2.0 * iterations);
}

std::optional<double> nvshmem_busbw(std::string_view operation, double size, int pes,
                                    double microseconds) {
  const auto factor = bus_factor(operation, pes);
  if (!factor) return std::nullopt;
  return algbw(is_share_of_others(operation) ? size * pes : size, microseconds) * *factor;
}

double token_bytes(Payload payload, int hidden) {
  const double scales = static_cast<double>(hidden) / kScaleBlock * kScaleBytes;
  switch (payload) {
    case Payload::kBf16:
      return 2.0 * hidden;
    case Payload::kFp8:
      return hidden + scales;
    case Payload::kLogfmt10:
      return hidden * 10.0 / 8 + scales;
  }
  return 0;
}

double fp8_factor() {
  return (1 + kScaleBytes / kScaleBlock) / 2;
}

double low_latency_dispatch_bytes(Payload payload, int hidden) {
  return token_bytes(payload, hidden) + (payload == Payload::kFp8 ? kHeaderBytes : 0);
}

double low_latency_combine_bytes(Payload payload, int hidden) {
  return token_bytes(payload, hidden);
}

double low_latency_total(const std::vector<std::vector<int>>& selections, double bytes_each) {
  double total = 0;
  for (const auto& token : selections) {
    total += bytes_each * static_cast<double>(std::count_if(
                              token.begin(), token.end(), [](int expert) { return expert != -1; }));
  }
  return total;
}

double rdma_dispatch_bytes(const std::vector<std::vector<int>>& selections, int experts_per_node,
                           int hidden) {
  double total = 0;
  for (const auto& token : selections) {
    std::set<int> nodes;
    for (const int expert : token) {
      if (expert >= 0) nodes.insert(expert / experts_per_node);
    }
    total += static_cast<double>(nodes.size()) * token_bytes(Payload::kBf16, hidden);
  }
  return total;
}

double garden_dispatch_bytes(int tokens, int top_k, int hidden, double value_bytes, int scales,
                             double scale_bytes) {
  return static_cast<double>(tokens) * top_k * (hidden * value_bytes + scales * scale_bytes);
}

double garden_combine_bytes(int tokens, int top_k, int hidden, double value_bytes) {
  return static_cast<double>(tokens) * top_k * hidden * value_bytes;
}

double expected_nodes(int experts, int nodes, int top_k) {
  const double elsewhere = experts - static_cast<double>(experts) / nodes;
  if (elsewhere < top_k) return nodes;  // too few elsewhere: every token touches every node
  return nodes * (1 - std::exp(log_choose(elsewhere, top_k) - log_choose(experts, top_k)));
}

double relative_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double product = 0, squares = 0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    const double a = x[i] + 1, b = y[i] + 1;
    product += a * b;
    squares += a * a + b * b;
  }
  return squares > 0 ? 1 - 2 * product / squares : 0;
}

}  // namespace muster::bench
