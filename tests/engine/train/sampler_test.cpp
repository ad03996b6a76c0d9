#include "engine/train/sampler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace muster::train {
namespace {

RC_GTEST_PROP(Permutation, VisitsEveryIndexOnce, ()) {
  const auto size = *rc::gen::inRange<std::uint64_t>(1, 3000);
  const Permutation permutation(size, *rc::gen::arbitrary<std::uint64_t>());
  std::vector<bool> seen(size, false);
  for (std::uint64_t index = 0; index < size; ++index) {
    const std::uint64_t value = permutation(index);
    RC_ASSERT(value < size);
    RC_ASSERT(!seen[value]);
    seen[value] = true;
  }
}

TEST(Permutation, ShufflesAndDependsOnTheKey) {
  const Permutation one(1000, 1);
  const Permutation two(1000, 2);
  int in_place = 0;
  int alike = 0;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    in_place += one(index) == index;
    alike += one(index) == two(index);
  }
  EXPECT_LT(in_place, 20);
  EXPECT_LT(alike, 20);
}

TEST(Permutation, WorksForSizesBeyond32Bits) {
  const std::uint64_t size = (1ULL << 40) + 12345;
  const Permutation permutation(size, 7);
  for (std::uint64_t index = size - 100; index < size; ++index) EXPECT_LT(permutation(index), size);
}

struct Shape {
  std::uint64_t windows, seed;
  std::int64_t micro, accumulation;
  int world;
};

Shape any_shape() {
  return {*rc::gen::inRange<std::uint64_t>(1, 200), *rc::gen::arbitrary<std::uint64_t>(),
          *rc::gen::inRange<std::int64_t>(1, 4), *rc::gen::inRange<std::int64_t>(1, 5),
          *rc::gen::inRange(1, 6)};
}

// All windows of a step, in the order of the run's draws, whatever the ranks.
std::vector<std::uint64_t> whole_step(const Shape& shape, std::int64_t global, std::int64_t micro,
                                      int world, std::int64_t step) {
  std::vector<std::uint64_t> all;
  for (std::int64_t pass = 0; pass < global / (micro * world); ++pass) {
    for (int rank = 0; rank < world; ++rank) {
      const Sampler sampler({shape.windows, shape.seed, global, micro, world, rank});
      const auto part = sampler.windows(step, pass);
      all.insert(all.end(), part.begin(), part.end());
    }
  }
  return all;
}

RC_GTEST_PROP(Sampler, AnEpochHoldsEveryWindowOnce, ()) {
  const Shape shape = any_shape();
  const std::int64_t global = shape.micro * shape.accumulation * shape.world;
  std::vector<std::uint64_t> draws;
  for (std::int64_t step = 0; draws.size() < 2 * shape.windows; ++step) {
    const auto windows = whole_step(shape, global, shape.micro, shape.world, step);
    draws.insert(draws.end(), windows.begin(), windows.end());
  }
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto begin = draws.begin() + epoch * static_cast<std::ptrdiff_t>(shape.windows);
    std::vector<std::uint64_t> sorted(begin, begin + static_cast<std::ptrdiff_t>(shape.windows));
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint64_t> expected(shape.windows);
    std::iota(expected.begin(), expected.end(), 0);
    RC_ASSERT(sorted == expected);
  }
}

RC_GTEST_PROP(Sampler, AnyWorldReadsTheSameGlobalBatches, ()) {
  const Shape shape = any_shape();
  const std::int64_t global = shape.micro * shape.accumulation * shape.world;
  const auto step = *rc::gen::inRange<std::int64_t>(0, 50);
  RC_ASSERT(whole_step(shape, global, shape.micro, shape.world, step) ==
            whole_step(shape, global, 1, 1, step));
  RC_ASSERT(whole_step(shape, global, shape.micro, shape.world, step) ==
            whole_step(shape, global, global, 1, step));
}

// A loader that is advanced once a step and not once a micro-batch repeats data after a resume with
// accumulation.
RC_GTEST_PROP(Sampler, AfterAStopTheNextBatchIsTheOneThatIsDue, ()) {
  const Shape shape = any_shape();
  constexpr std::int64_t kAccumulation = 4;
  const std::int64_t global = shape.micro * kAccumulation * shape.world;
  const auto stop = *rc::gen::inRange<std::int64_t>(0, 30);
  for (int rank = 0; rank < shape.world; ++rank) {
    const Sampler uninterrupted(
        {shape.windows, shape.seed, global, shape.micro, shape.world, rank});
    RC_ASSERT(uninterrupted.accumulation() == kAccumulation);
    for (std::int64_t step = 0; step < stop; ++step)
      (void)uninterrupted.windows(step, kAccumulation - 1);
    const Sampler resumed({shape.windows, shape.seed, global, shape.micro, shape.world, rank});
    for (std::int64_t micro = 0; micro < kAccumulation; ++micro) {
      RC_ASSERT(resumed.windows(stop, micro) == uninterrupted.windows(stop, micro));
    }
  }
}

TEST(Sampler, RefusesBatchesThatDoNotDivide) {
  EXPECT_THROW(Sampler({10, 0, 7, 2, 2, 0}), std::invalid_argument);
  EXPECT_THROW(Sampler({0, 0, 4, 2, 2, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace muster::train
