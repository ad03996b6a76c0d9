#include "engine/bench/reduction.h"

#include <vector>

#include <gtest/gtest.h>

#include "engine/bench/pattern.h"

namespace muster::measure {
namespace {

// Whatever two ranks hold, combined and scaled, is what the pattern says must come out.
TEST(Reduction, IsWhatThePatternExpectsOfTwoRanks) {
  for (const DataType type : all_data_types()) {
    for (const Reduction how : {Reduction::kSum, Reduction::kProd, Reduction::kMin, Reduction::kMax,
                                Reduction::kAvg, Reduction::kMulSum}) {
      const Pattern pattern{Operation::kAllReduce, type, how, 2, 0, 7};
      constexpr std::size_t kElements = 67;  // no multiple of a vector
      std::vector<double> room[2] = {std::vector<double>(kElements),
                                     std::vector<double>(kElements)};
      for (const int rank : {0, 1}) {
        fill(pattern, rank, kElements, room[rank].data());
        if (how == Reduction::kMulSum)
          scale(type, pattern.factor(rank), room[rank].data(), room[rank].data(), kElements);
      }
      combine_function(type, how)(room[0].data(), room[1].data(), kElements);
      if (how == Reduction::kAvg) scale(type, 0.5, room[1].data(), room[1].data(), kElements);
      const Counts counts{kElements, kElements, kElements};
      EXPECT_EQ(count_wrong(pattern, 0, counts, room[1].data()), 0U)
          << to_string(type) << " " << to_string(how);
      store(type, room[1].data(), kElements - 1, pattern.reduced(kElements - 1) == 0 ? 1 : 0);
      EXPECT_EQ(count_wrong(pattern, 0, counts, room[1].data()), 1U)
          << to_string(type) << " " << to_string(how);
    }
  }
}

}  // namespace
}  // namespace muster::measure
