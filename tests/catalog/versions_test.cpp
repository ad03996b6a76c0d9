#include "catalog/versions.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::catalog {
namespace {

TEST(Versions, NumericPartsDecide) {
  EXPECT_EQ(compare_versions("2.9", "2.28"), -1);
  EXPECT_EQ(compare_versions("2.28", "2.28.0"), 0);
  EXPECT_EQ(compare_versions("v2.30.4-1", "2.30.4"), 0);
  EXPECT_EQ(compare_versions("2.1.0+cu130", "2.0"), 1);
  EXPECT_EQ(compare_versions("main", "2.0"), std::nullopt);
  EXPECT_EQ(compare_versions("", "2.0"), std::nullopt);
  EXPECT_EQ(compare_versions("1..2", "2.0"), std::nullopt);
}

RC_GTEST_PROP(Versions, OrderIsThatOfTheNumbers,
              (std::vector<std::uint16_t> a, std::vector<std::uint16_t> b)) {
  RC_PRE(!a.empty() && !b.empty());
  const auto text = [](const auto& parts) { return fmt::format("{}", fmt::join(parts, ".")); };
  auto left = a, right = b;
  left.resize(std::max(a.size(), b.size()));
  right.resize(left.size());
  RC_ASSERT(compare_versions(text(a), text(b)) == std::optional<int>(left < right   ? -1
                                                                     : left > right ? 1
                                                                                    : 0));
}

TEST(Versions, FloatingImages) {
  for (const char* image : {"cuda", "nvcr.io/nvidia/pytorch", "host:5000/cuda", "cuda:latest",
                            "cuda:main", "${REGISTRY}/a:latest"}) {
    EXPECT_TRUE(floats(image)) << image;
  }
  for (const char* image : {"", "cuda:13.0", "host:5000/cuda:13.0", "cuda@sha256:00",
                            "${IMAGE_URI}", "cuda:latest-13.0"}) {
    EXPECT_FALSE(floats(image)) << image;
  }
}

}  // namespace
}  // namespace muster::catalog
