// What is taken for right, and that nothing else is.
#include "engine/bench/pattern.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::measure {
namespace {

constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kProd, Reduction::kMin,
                                     Reduction::kMax, Reduction::kAvg,  Reduction::kMulSum};

/// What a fabric without fault would leave on `rank`, made by the plainest means there are.
std::vector<char> plain_result(const Pattern& p, int rank, const Counts& counts) {
  const std::size_t width = size_of(p.type), part = counts.part;
  const auto r = static_cast<std::size_t>(rank);
  std::vector<std::vector<char>> sent;
  for (int from = 0; from < p.ranks; ++from) {
    sent.emplace_back(std::max<std::size_t>(1, counts.send * width));
    fill(p, from, counts.send, sent.back().data());
  }
  std::vector<char> out(std::max<std::size_t>(1, counts.recv * width), 0x5a);
  const auto copy = [&](std::size_t at, int from, std::size_t first, std::size_t count) {
    if (count > 0)
      std::memcpy(out.data() + at * width,
                  sent[static_cast<std::size_t>(from)].data() + first * width, count * width);
  };
  const auto reduce = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      double value = 0;
      for (int from = 0; from < p.ranks; ++from) {
        const double next = load(p.type, sent[static_cast<std::size_t>(from)].data(), first + i);
        switch (p.reduction) {
          case Reduction::kProd:
            value = from == 0 ? next : value * next;
            break;
          case Reduction::kMin:
            value = from == 0 ? next : std::min(value, next);
            break;
          case Reduction::kMax:
            value = from == 0 ? next : std::max(value, next);
            break;
          case Reduction::kMulSum:
            value += next * p.factor(from);
            break;
          default:
            value += next;
        }
      }
      if (p.reduction == Reduction::kAvg)
        value = is_floating(p.type) ? value / p.ranks
                                    : static_cast<double>(static_cast<long>(value) / p.ranks);
      store(p.type, out.data(), i, value);
    }
  };
  switch (p.operation) {
    case Operation::kAllReduce:
      reduce(0, part);
      break;
    case Operation::kReduce:
      if (rank == p.root) reduce(0, part);
      break;
    case Operation::kReduceScatter:
      reduce(part * r, part);
      break;
    case Operation::kBroadcast:
      copy(0, p.root, 0, part);
      break;
    case Operation::kScatter:
      copy(0, p.root, part * r, part);
      break;
    case Operation::kSendRecv:
      copy(0, (rank + p.ranks - 1) % p.ranks, 0, part);
      break;
    case Operation::kGather:
    case Operation::kAllGather:
    case Operation::kHypercube:
      for (int from = 0; from < p.ranks; ++from)
        copy(part * static_cast<std::size_t>(from), from, 0, part);
      break;
    case Operation::kAllToAll:
      for (int from = 0; from < p.ranks; ++from)
        copy(part * static_cast<std::size_t>(from), from, part * r, part);
      break;
    case Operation::kAllToAllV:
      for (int from = 0; from < p.ranks; ++from)
        copy(offset_from(part, from, rank), from, offset_to(part, from, rank),
             part_to(part, from, rank));
      break;
  }
  return out;
}

struct Drawn {
  Pattern pattern;
  int rank;
  Counts counts;
};

Drawn draw() {
  Drawn drawn;
  Pattern& p = drawn.pattern;
  p.operation = *rc::gen::elementOf(all_operations());
  p.type = *rc::gen::elementOf(all_data_types());
  p.reduction =
      *rc::gen::elementOf(std::vector<Reduction>(std::begin(kReductions), std::end(kReductions)));
  p.ranks = *rc::gen::inRange(1, 33);
  p.root = *rc::gen::inRange(0, p.ranks);
  p.seed = *rc::gen::inRange(0U, 100U);
  drawn.rank = *rc::gen::inRange(0, p.ranks);
  drawn.counts = counts(p.operation, *rc::gen::inRange<std::size_t>(0, 4096), p.type, p.ranks);
  return drawn;
}

RC_GTEST_PROP(PatternProperty, TheRightResultHasNothingWrong, ()) {
  const Drawn d = draw();
  RC_ASSERT(count_wrong(d.pattern, d.rank, d.counts,
                        plain_result(d.pattern, d.rank, d.counts).data()) == 0U);
}

RC_GTEST_PROP(PatternProperty, AnElementThatIsWrongIsCounted, ()) {
  const Drawn d = draw();
  const bool receives =
      !(d.pattern.operation == Operation::kReduce || d.pattern.operation == Operation::kGather) ||
      d.rank == d.pattern.root;
  RC_PRE(receives && d.counts.part > 0 && d.pattern.operation != Operation::kAllToAllV);
  std::vector<char> result = plain_result(d.pattern, d.rank, d.counts);
  const auto at = *rc::gen::inRange<std::size_t>(0, d.counts.part);
  store(d.pattern.type, result.data(), at, load(d.pattern.type, result.data(), at) * 2 + 1);
  RC_ASSERT(count_wrong(d.pattern, d.rank, d.counts, result.data()) == 1U);
}

// A transport that does nothing must not pass: neither poison nor the round before is right.
RC_GTEST_PROP(PatternProperty, WhatWasThereBeforeIsWrong, ()) {
  const Drawn d = draw();
  const bool receives =
      !(d.pattern.operation == Operation::kReduce || d.pattern.operation == Operation::kGather) ||
      d.rank == d.pattern.root;
  RC_PRE(receives && d.counts.part > 0 && d.pattern.operation != Operation::kAllToAllV);
  const std::vector<char> poison(d.counts.recv * size_of(d.pattern.type), 0x5a);
  RC_ASSERT(count_wrong(d.pattern, d.rank, d.counts, poison.data()) > 0U);
}

TEST(Pattern, SumsOfManyRanksStayExact) {
  for (const DataType type : all_data_types()) {
    for (const int ranks : {1, 2, 7, 8, 64, 300, 1000}) {
      for (const Reduction reduction : {Reduction::kSum, Reduction::kMulSum}) {
        const Pattern p{Operation::kAllReduce, type, reduction, ranks, 0, 3};
        for (std::size_t i = 0; i < 50; ++i) {
          EXPECT_LE(p.reduced(i), exact_integers(type)) << to_string(type) << ranks;
        }
      }
    }
  }
}

TEST(Pattern, RanksDiffer) {
  const Pattern p{Operation::kAllGather, DataType::kFloat, Reduction::kSum, 8, 0, 0};
  for (int rank = 1; rank < 8; ++rank) EXPECT_NE(p.input(rank, 5), p.input(0, 5));
}

}  // namespace
}  // namespace muster::measure
