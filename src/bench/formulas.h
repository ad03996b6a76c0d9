// The arithmetic of the benchmarks: from bytes and times to rates, and what payloads weigh.
// Sources: nccl-tests' PERFORMANCE page and sources, DeepEP's and pplx-garden's test programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::bench {

/// busbw / algbw for n ranks. all_reduce 2(n-1)/n; all_gather, reduce_scatter, alltoall, alltoallv,
/// gather, scatter (n-1)/n; broadcast, reduce, sendrecv, hypercube 1. Nothing for other operations.
/// One rank has factor 0 where it is (n-1)/n: nothing travelled.
std::optional<double> bus_factor(std::string_view operation, int ranks);

/// Bytes that algbw counts for a size as the table prints it (the larger of what is sent and what
/// is received): all of it, but for hypercube, which sends (n-1) of the n parts.
std::optional<double> base_bytes(std::string_view operation, double size, int ranks);

/// GB/s of 10^9 bytes. `microseconds` above 0.
double algbw(double bytes, double microseconds);

/// Elements a rank when `elements` are split n ways: rounded down to a multiple of 16 bytes, so
/// that small sizes can give none.
std::uint64_t split_count(std::uint64_t elements, int ranks, int element_bytes);

/// The number of ranks that a row's busbw/algbw implies, when the printed digits leave only one.
std::optional<int> implied_ranks(std::string_view operation, double algbw, double busbw);

/// Least squares of t(S) = latency + S / bandwidth over (bytes, microseconds). Nothing for fewer
/// than two sizes or times that do not grow.
struct Fit {
  double latency = 0;    ///< microseconds
  double bandwidth = 0;  ///< GB/s
};
std::optional<Fit> fit_time(const std::vector<std::pair<double, double>>& points);

/// Size at which the rate reaches half of its peak, interpolated in log2 of the size; points are
/// (bytes, GB/s) by size. Nothing when the first is over half already.
std::optional<double> half_peak_size(const std::vector<std::pair<double, double>>& points);

/// Median of the rates within 5 % of the peak. Nothing for no points.
std::optional<double> plateau(const std::vector<std::pair<double, double>>& points);

// Point to point, as OSU and NVSHMEM count it.

/// MB/s of 10^6 bytes of OSU's windows: size x window x iterations / seconds, of all pairs; twice
/// that when both directions are counted.
double window_rate(double size, int window, int iterations, double seconds, int pairs = 1,
                   bool both_directions = false);

/// Messages a second of such a rate.
double message_rate(double megabytes_per_second, double size);

/// Microseconds one way of a ping-pong: its time over twice its iterations.
double one_way_latency(double seconds, int iterations);

/// Bus bandwidth of NVSHMEM's collectives, whose size is that of one PE's part: alltoall, fcollect
/// (all_gather) and reduce_scatter move all parts, (n-1)/n of them between PEs; a reduction
/// 2(n-1)/n, a broadcast 1.
std::optional<double> nvshmem_busbw(std::string_view operation, double size, int pes,
                                    double microseconds);

// Expert parallelism: what dispatch and combine move.

enum class Payload { kBf16, kFp8, kLogfmt10 };

/// Bytes of one token's hidden vector: bf16 2 a value; fp8 1 a value and a 4-byte scale for 128;
/// logfmt10 10 bits a value and a 4-byte scale for 128.
double token_bytes(Payload payload, int hidden);

/// fp8 bytes / bf16 bytes: (1 + 4/128) / 2.
double fp8_factor();

/// Of one (token, expert) selection in the low-latency kernels: dispatch adds 16 bytes of header to
/// an fp8 token.
double low_latency_dispatch_bytes(Payload payload, int hidden);
double low_latency_combine_bytes(Payload payload, int hidden);

/// Bytes of a low-latency dispatch over all tokens: only valid selections (not -1) count.
double low_latency_total(const std::vector<std::vector<int>>& selections, double bytes_each);

/// Bytes that DeepEP's normal dispatch counts as RDMA: for every token the distinct nodes that its
/// experts are on, its own included, times the token in bf16. `experts_per_node` above 0.
double rdma_dispatch_bytes(const std::vector<std::vector<int>>& selections, int experts_per_node,
                           int hidden);

/// What pplx-garden counts: every token to every one of its experts.
double garden_dispatch_bytes(int tokens, int top_k, int hidden, double value_bytes, int scales,
                             double scale_bytes);
double garden_combine_bytes(int tokens, int top_k, int hidden, double value_bytes);

/// Distinct nodes a token's top-k of E experts touches on average when all are equally likely,
/// E/N of them on each of N nodes: N (1 - C(E - E/N, k) / C(E, k)).
double expected_nodes(int experts, int nodes, int top_k);

/// DeepEP's difference of two results: add 1 to both, then 1 - 2 sum(xy) / sum(x^2 + y^2).
double relative_difference(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace muster::bench
