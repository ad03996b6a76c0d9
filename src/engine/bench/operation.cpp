#include "engine/bench/operation.h"

#include <algorithm>

#include "bench/formulas.h"

namespace muster::measure {
namespace {

constexpr const char* kOperations[] = {"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                       "alltoallv",  "broadcast",  "reduce",         "gather",
                                       "scatter",    "sendrecv",   "hypercube"};
constexpr const char* kReductions[] = {"sum", "prod", "min", "max", "avg", "mulsum"};

}  // namespace

const char* to_string(Operation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}

std::optional<Operation> operation(std::string_view name) {
  for (const Operation candidate : all_operations()) {
    if (name == to_string(candidate)) return candidate;
  }
  return std::nullopt;
}

const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> kAll = [] {
    std::vector<Operation> all;
    for (std::size_t i = 0; i < std::size(kOperations); ++i)
      all.push_back(static_cast<Operation>(i));
    return all;
  }();
  return kAll;
}

bool reduces(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduceScatter ||
         operation == Operation::kReduce;
}

bool is_rooted(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kReduce ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

const char* to_string(Reduction reduction) {
  return kReductions[static_cast<std::size_t>(reduction)];
}

std::optional<Reduction> reduction(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kReductions); ++i) {
    if (name == kReductions[i]) return static_cast<Reduction>(i);
  }
  return std::nullopt;
}

std::size_t Counts::bytes(DataType type) const {
  return std::max(send, recv) * size_of(type);
}

Counts counts(Operation operation, std::size_t bytes, DataType type, int ranks) {
  const std::size_t whole = bytes / size_of(type), n = static_cast<std::size_t>(ranks);
  const std::size_t part = bench::split_count(whole, ranks, static_cast<int>(size_of(type)));
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBroadcast:
    case Operation::kReduce:
    case Operation::kSendRecv:
      return {whole, whole, whole};
    case Operation::kAllGather:
    case Operation::kGather:
    case Operation::kHypercube:
      return {part, part, part * n};
    case Operation::kReduceScatter:
    case Operation::kScatter:
      return {part, part * n, part};
    case Operation::kAllToAll:
      return {part, part * n, part * n};
    case Operation::kAllToAllV: {
      std::size_t most = 0;
      for (int rank = 0; rank < ranks; ++rank)
        most = std::max({most, offset_to(part, rank, ranks), offset_from(part, ranks, rank)});
      return {part, most, most};
    }
  }
  return {};
}

std::size_t part_to(std::size_t part, int from, int to) {
  return part * static_cast<std::size_t>((from + to) % 3);
}

std::size_t offset_to(std::size_t part, int from, int to) {
  std::size_t before = 0;
  for (int peer = 0; peer < to; ++peer) before += part_to(part, from, peer);
  return before;
}

std::size_t offset_from(std::size_t part, int from, int to) {
  std::size_t before = 0;
  for (int peer = 0; peer < from; ++peer) before += part_to(part, peer, to);
  return before;
}

}  // namespace muster::measure
