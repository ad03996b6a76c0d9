// The published figures: what the file may hold, and that it holds what is known.
#include "facts/performance.h"

#include <gtest/gtest.h>

#include "facts/facts.h"
#include "testing.h"

namespace muster::facts {
namespace {

std::string with_points(const std::string& points) {
  return "apiVersion: muster/v1\nkind: PerformanceFloors\nperformance:\n"
         "  - {name: a, instance: p5.48xlarge, nodes: 2, operation: all_reduce, points: " +
         points + ", source: here, date: 2026-11-30}\n";
}

TEST(Performance, EveryRowIsOfAKnownInstance) {
  const auto floors = load_performance(real_file_system(), testing::source_dir());
  const auto instances = load_instances(real_file_system(), testing::source_dir());
  ASSERT_TRUE(floors && instances);
  EXPECT_GE(floors->size(), 20U);
  for (const PerformanceFloor& floor : *floors) {
    EXPECT_TRUE(find_instance(*instances, floor.instance)) << floor.name;
    EXPECT_FALSE(floor.source.empty() || floor.date.empty()) << floor.name;
    EXPECT_DOUBLE_EQ(floor.tolerance, 0.1) << floor.name;
  }
}

TEST(Performance, PointsRiseAndHaveAFigure) {
  EXPECT_TRUE(parse_performance(with_points("[{size: 1 MiB, busbw: 16}]"), "f.yaml"));
  const auto none = parse_performance(with_points("[{size: 1 MiB}]"), "f.yaml");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.findings().front().rule, "facts-performance");
  EXPECT_EQ(none.findings().front().where.line, 4);
  EXPECT_FALSE(parse_performance(
      with_points("[{size: 2 MiB, busbw: 16}, {size: 1 MiB, busbw: 16}]"), "f.yaml"));
  EXPECT_FALSE(parse_performance(with_points("[{size: 1 MiB, busbw: 16, x: 1}]"), "f.yaml"));
}

}  // namespace
}  // namespace muster::facts
