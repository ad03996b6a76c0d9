#include "engine/bench/monitor.h"

#include <gtest/gtest.h>

namespace muster::measure {
namespace {

using std::chrono::milliseconds;

TEST(Monitor, NamesWhoIsSilentAndWhoIsBehind) {
  const std::vector<Seat> seats = {{0, 1, "n1"}, {1, 2, "n1"}, {2, 3, "n2"}, {3, 4, "n2"}};
  const std::vector<Heard> heard = {{},
                                    {10, milliseconds(200), true},
                                    {10, milliseconds(4000), true},
                                    {0, milliseconds(0), false}};
  EXPECT_EQ(name_missing(seats, 10, heard, milliseconds(1500)),
            "rank 2 (host n2) has not been heard for 4.0 s; rank 3 (host n2) has never been heard");
  const std::vector<Heard> behind = {
      {}, {7, milliseconds(0), true}, {10, milliseconds(0), true}, {11, milliseconds(0), true}};
  EXPECT_EQ(name_missing(seats, 10, behind, milliseconds(1500)),
            "rank 1 (host n1) is 3 operations behind");
}

TEST(Monitor, SaysWhenNobodyIsMissing) {
  const std::vector<Seat> seats = {{0, 1, "n1"}, {1, 2, "n1"}};
  EXPECT_EQ(name_missing(seats, 4, {{}, {4, milliseconds(10), true}}, milliseconds(1500)),
            "all ranks wait for each other");
}

}  // namespace
}  // namespace muster::measure
