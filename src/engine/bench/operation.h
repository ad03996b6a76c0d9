// What a collective moves: elements sent and received for a size in bytes, as nccl-tests counts
// them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/bench/data_type.h"

namespace muster::measure {

enum class Operation {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kAllToAllV,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSendRecv,
  kHypercube,
};

/// "all_reduce"; also the name of its nccl-tests program, less "_perf".
const char* to_string(Operation operation);
std::optional<Operation> operation(std::string_view name);
const std::vector<Operation>& all_operations();

bool reduces(Operation operation);
bool is_rooted(Operation operation);

enum class Reduction { kSum, kProd, kMin, kMax, kAvg, kMulSum };
const char* to_string(Reduction reduction);
std::optional<Reduction> reduction(std::string_view name);

/// Elements of one operation, the same on every rank.
struct Counts {
  std::size_t part = 0;  ///< the API's count: what nccl-tests prints as "count"
  std::size_t send = 0;  ///< elements in the send buffer
  std::size_t recv = 0;  ///< elements in the receive buffer
  /// Of an operation with a part for each rank, `part` is a multiple of 16 bytes and may be 0.
  std::size_t bytes(DataType type) const;  ///< as printed: the larger buffer
};

/// For a buffer of at most `bytes` bytes on each of `ranks` ranks.
/// Source: nccl-tests v2.18, the getCollByteCount function of each program.
Counts counts(Operation operation, std::size_t bytes, DataType type, int ranks);

/// Elements that rank `from` sends to rank `to` in alltoallv: 0, 1 or 2 parts, so that the sums
/// over peers differ between ranks by at most a part each way.
std::size_t part_to(std::size_t part, int from, int to);
/// Elements that rank `from` sends before those for `to`.
std::size_t offset_to(std::size_t part, int from, int to);
/// Elements that rank `to` receives before those from `from`.
std::size_t offset_from(std::size_t part, int from, int to);

}  // namespace muster::measure
