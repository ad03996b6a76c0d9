#include "engine/bench/pattern.h"

#include <algorithm>
#include <cmath>

namespace muster::measure {
namespace {

/// Values that are moved, not summed: 1 to this. A prime below what the type holds, so that parts
/// of different ranks and places differ.
unsigned moved_values(DataType type) {
  const int exact = exact_integers(type);
  return exact >= 251 ? 251 : exact >= 113 ? 113 : exact >= 13 ? 13 : 7;
}

unsigned mixed(unsigned seed, int rank, std::size_t index) {
  return seed * 131U + static_cast<unsigned>(rank) * 37U +
         static_cast<unsigned>(index % 65521) * 5U;
}

}  // namespace

double Pattern::input(int from, std::size_t index) const {
  const unsigned mix = mixed(seed, from, index);
  if (!reduces(operation) || reduction == Reduction::kMin || reduction == Reduction::kMax)
    return 1 + mix % moved_values(type);
  if (reduction == Reduction::kProd) {
    // Three ranks at most give a factor of two.
    const auto turn =
        (static_cast<std::size_t>(from) + index + seed) % static_cast<std::size_t>(ranks);
    return turn < std::min<std::size_t>(3, index % 4) ? 2 : 1;
  }
  // The sum of all ranks stays exact, so do its parts; mulsum doubles some.
  const int limit = exact_integers(type) / (reduction == Reduction::kMulSum ? 2 : 1);
  if (ranks <= limit) return 1 + mix % std::min(251U, static_cast<unsigned>(limit / ranks));
  const auto every = static_cast<std::size_t>((ranks + limit - 1) / limit);
  return (static_cast<std::size_t>(from) + index + seed) % every == 0 ? 1 : 0;
}

double Pattern::reduced(std::size_t index) const {
  double result = 0;
  for (int from = 0; from < ranks; ++from) {
    const double value = input(from, index);
    switch (reduction) {
      case Reduction::kSum:
      case Reduction::kAvg:
        result += value;
        break;
      case Reduction::kMulSum:
        result += factor(from) * value;
        break;
      case Reduction::kProd:
        result = from == 0 ? value : result * value;
        break;
      case Reduction::kMin:
        result = from == 0 ? value : std::min(result, value);
        break;
      case Reduction::kMax:
        result = from == 0 ? value : std::max(result, value);
        break;
    }
  }
  if (reduction != Reduction::kAvg) return result;
  return is_floating(type) ? result / ranks : std::floor(result / ranks);
}

void fill(const Pattern& pattern, int rank, std::size_t elements, void* data) {
  for (std::size_t i = 0; i < elements; ++i) store(pattern.type, data, i, pattern.input(rank, i));
}

namespace {

class Comparison {
 public:
  Comparison(const Pattern& pattern, const void* data) : pattern_(pattern), data_(data) {}

  /// Elements [at, at + count) must be `from`'s elements from `first` on.
  void same_as(std::size_t at, std::size_t count, int from, std::size_t first) {
    for (std::size_t i = 0; i < count; ++i) expect(at + i, pattern_.input(from, first + i), 0);
  }

  void reduced(std::size_t count, std::size_t first) {
    const bool rounds = pattern_.reduction == Reduction::kAvg && is_floating(pattern_.type);
    const double relative = rounds ? 2 * epsilon(pattern_.type) : 0;
    for (std::size_t i = 0; i < count; ++i) expect(i, pattern_.reduced(first + i), relative);
  }

  std::size_t wrong() const { return wrong_; }

 private:
  void expect(std::size_t at, double value, double relative) {
    const double got = load(pattern_.type, data_, at);
    if (!(std::abs(got - value) <= relative * std::abs(value))) ++wrong_;
  }

  const Pattern& pattern_;
  const void* data_;
  std::size_t wrong_ = 0;
};

}  // namespace

std::size_t count_wrong(const Pattern& pattern, int rank, const Counts& counts, const void* data) {
  Comparison comparison(pattern, data);
  const std::size_t part = counts.part;
  switch (pattern.operation) {
    case Operation::kAllReduce:
      comparison.reduced(part, 0);
      break;
    case Operation::kReduce:
      if (rank == pattern.root) comparison.reduced(part, 0);
      break;
    case Operation::kReduceScatter:
      comparison.reduced(part, part * static_cast<std::size_t>(rank));
      break;
    case Operation::kBroadcast:
      comparison.same_as(0, part, pattern.root, 0);
      break;
    case Operation::kScatter:
      comparison.same_as(0, part, pattern.root, part * static_cast<std::size_t>(rank));
      break;
    case Operation::kSendRecv:
      comparison.same_as(0, part, (rank + pattern.ranks - 1) % pattern.ranks, 0);
      break;
    case Operation::kGather:
      if (rank != pattern.root) break;
      [[fallthrough]];
    case Operation::kAllGather:
    case Operation::kHypercube:
      for (int from = 0; from < pattern.ranks; ++from)
        comparison.same_as(part * static_cast<std::size_t>(from), part, from, 0);
      break;
    case Operation::kAllToAll:
      for (int from = 0; from < pattern.ranks; ++from)
        comparison.same_as(part * static_cast<std::size_t>(from), part, from,
                           part * static_cast<std::size_t>(rank));
      break;
    case Operation::kAllToAllV:
      for (int from = 0; from < pattern.ranks; ++from)
        comparison.same_as(offset_from(part, from, rank), part_to(part, from, rank), from,
                           offset_to(part, from, rank));
      break;
  }
  return comparison.wrong();
}

}  // namespace muster::measure
