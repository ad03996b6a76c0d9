#include "engine/bench/operation.h"

#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::measure {
namespace {

TEST(Operation, NamesComeBack) {
  for (const Operation one : all_operations()) EXPECT_EQ(operation(to_string(one)), one);
  EXPECT_EQ(all_operations().size(), 11U);
  EXPECT_FALSE(operation("allreduce"));
}

// nccl-tests' getCollByteCount: what each program prints for 1 MiB of float on 8 ranks.
TEST(Operation, CountsAreNcclTests) {
  const auto count = [](Operation one) { return counts(one, 1 << 20, DataType::kFloat, 8); };
  EXPECT_EQ(count(Operation::kAllReduce).part, 262144U);
  EXPECT_EQ(count(Operation::kAllReduce).bytes(DataType::kFloat), 1U << 20);
  EXPECT_EQ(count(Operation::kAllGather).part, 32768U);
  EXPECT_EQ(count(Operation::kAllGather).send, 32768U);
  EXPECT_EQ(count(Operation::kAllGather).recv, 262144U);
  EXPECT_EQ(count(Operation::kReduceScatter).send, 262144U);
  EXPECT_EQ(count(Operation::kReduceScatter).recv, 32768U);
  EXPECT_EQ(count(Operation::kAllToAll).send, 262144U);
  EXPECT_EQ(count(Operation::kSendRecv).part, 262144U);
}

TEST(Operation, SmallSizesOfPartsGiveNothing) {
  EXPECT_EQ(counts(Operation::kAllGather, 8, DataType::kFloat, 4).part, 0U);
  EXPECT_EQ(counts(Operation::kAllReduce, 8, DataType::kFloat, 4).part, 2U);
}

RC_GTEST_PROP(OperationProperty, NeverMoreThanAskedAndPartsAreAligned, ()) {
  const Operation one = *rc::gen::elementOf(all_operations());
  const DataType type = *rc::gen::elementOf(all_data_types());
  const auto bytes = *rc::gen::inRange<std::size_t>(0, 1 << 22);
  const int ranks = *rc::gen::inRange(1, 65);
  const Counts count = counts(one, bytes, type, ranks);
  // alltoallv's largest rank has up to a third more than the mean of the parts.
  const std::size_t most = one == Operation::kAllToAllV ? bytes * 2 : bytes;
  RC_ASSERT(count.bytes(type) <= most);
  RC_ASSERT(count.send >= count.part || one == Operation::kAllToAllV);
  if (count.send != count.part || count.recv != count.part)
    RC_ASSERT(count.part * size_of(type) % 16 == 0U);
}

RC_GTEST_PROP(OperationProperty, UnequalPartsAgreeOnBothSides, ()) {
  const int ranks = *rc::gen::inRange(1, 40);
  const int rank = *rc::gen::inRange(0, ranks);
  const std::size_t part = 16;
  std::size_t sent = 0, received = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    RC_ASSERT(offset_to(part, rank, peer) == sent);
    RC_ASSERT(offset_from(part, peer, rank) == received);
    sent += part_to(part, rank, peer);
    received += part_to(part, peer, rank);
  }
  const Counts count = counts(Operation::kAllToAllV, part * 4 * static_cast<std::size_t>(ranks),
                              DataType::kFloat, ranks);
  RC_ASSERT(sent <= count.send);
  RC_ASSERT(received <= count.recv);
}

}  // namespace
}  // namespace muster::measure
