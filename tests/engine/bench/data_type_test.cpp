#include "engine/bench/data_type.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::measure {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double round_trip(DataType type, double value) {
  char place[8] = {};
  store(type, place, 0, value);
  return load(type, place, 0);
}

unsigned bits_of(DataType type, double value) {
  std::uint16_t place = 0;
  store(type, &place, 0, value);
  return place;
}

TEST(DataType, NamesAreNcclTests) {
  for (const DataType type : all_data_types()) EXPECT_EQ(data_type(to_string(type)), type);
  EXPECT_EQ(data_type("fp8_e4m3"), DataType::kFloat8E4m3);
  EXPECT_EQ(data_type("fp8_e5m2"), DataType::kFloat8E5m2);
  EXPECT_FALSE(data_type("float16"));
  EXPECT_EQ(all_data_types().size(), 12U);
}

// OCP 8-bit floating point specification, table 2, and IEEE 754.
TEST(DataType, EncodesTheLimitsOfItsFormats) {
  EXPECT_EQ(bits_of(DataType::kFloat8E4m3, 448), 0x7eU);
  EXPECT_EQ(bits_of(DataType::kFloat8E4m3, 1e6), 0x7eU);  // no infinity: the largest
  EXPECT_EQ(bits_of(DataType::kFloat8E4m3, std::ldexp(1, -6)), 0x08U);
  EXPECT_EQ(bits_of(DataType::kFloat8E4m3, std::ldexp(1, -9)), 0x01U);
  EXPECT_EQ(bits_of(DataType::kFloat8E5m2, 57344), 0x7bU);
  EXPECT_EQ(bits_of(DataType::kFloat8E5m2, 1e6), 0x7cU);
  EXPECT_EQ(bits_of(DataType::kFloat8E5m2, std::ldexp(1, -16)), 0x01U);
  EXPECT_EQ(bits_of(DataType::kHalf, 65504), 0x7bffU);
  EXPECT_EQ(bits_of(DataType::kHalf, 65520), 0x7c00U);  // halfway to the next: infinity
  EXPECT_EQ(bits_of(DataType::kHalf, -1), 0xbc00U);
  EXPECT_EQ(bits_of(DataType::kHalf, std::ldexp(1, -24)), 0x0001U);
  EXPECT_EQ(bits_of(DataType::kBfloat16, 1), 0x3f80U);
  EXPECT_EQ(bits_of(DataType::kBfloat16, -2.5), 0xc020U);
}

TEST(DataType, RoundsTiesToEven) {
  EXPECT_EQ(round_trip(DataType::kHalf, 2049), 2048);
  EXPECT_EQ(round_trip(DataType::kHalf, 2051), 2052);
  EXPECT_EQ(round_trip(DataType::kBfloat16, 257), 256);
  EXPECT_EQ(round_trip(DataType::kBfloat16, 259), 260);
  EXPECT_EQ(round_trip(DataType::kFloat8E4m3, 17), 16);
  EXPECT_EQ(round_trip(DataType::kFloat8E5m2, 9), 8);
  EXPECT_EQ(round_trip(DataType::kFloat8E5m2, 11), 12);
}

TEST(DataType, KeepsWhatIsNotANumber) {
  for (const DataType type : all_data_types()) {
    if (!is_floating(type)) continue;
    EXPECT_TRUE(std::isnan(round_trip(type, std::nan("")))) << to_string(type);
    const double large = round_trip(type, kInfinity);
    EXPECT_EQ(large, type == DataType::kFloat8E4m3 ? 448 : kInfinity) << to_string(type);
    EXPECT_TRUE(std::signbit(round_trip(type, -0.0))) << to_string(type);
  }
}

TEST(DataType, EveryPatternOfBitsComesBack) {
  for (const DataType type :
       {DataType::kHalf, DataType::kBfloat16, DataType::kFloat8E4m3, DataType::kFloat8E5m2}) {
    const unsigned count = size_of(type) == 1 ? 256 : 65536;
    for (unsigned bits = 0; bits < count; ++bits) {
      std::uint16_t place = static_cast<std::uint16_t>(bits);
      const double value = load(type, &place, 0);
      if (std::isnan(value)) continue;
      EXPECT_EQ(bits_of(type, value), bits) << to_string(type) << " " << value;
    }
  }
}

TEST(DataType, IntegersToTheNamedOneAreExactAndTheNextIsNot) {
  for (const DataType type : all_data_types()) {
    const int exact = exact_integers(type);
    for (int value = 0; value <= std::min(exact, 70000); ++value)
      ASSERT_EQ(round_trip(type, value), value) << to_string(type);
    EXPECT_EQ(round_trip(type, exact), exact) << to_string(type);
    if (exact < 1 << 24) {
      EXPECT_NE(round_trip(type, exact + 1), exact + 1) << to_string(type);
    }
  }
}

RC_GTEST_PROP(DataTypeProperty, ConversionIsMonotonous, ()) {
  const DataType type = *rc::gen::elementOf(all_data_types());
  const auto a = static_cast<double>(*rc::gen::inRange(-1000000, 1000000)) / 1024;
  const auto b = static_cast<double>(*rc::gen::inRange(-1000000, 1000000)) / 1024;
  RC_ASSERT((round_trip(type, a) <= round_trip(type, b)) || a > b);
}

RC_GTEST_PROP(DataTypeProperty, NoNeighbourIsNearer, ()) {
  const DataType type = *rc::gen::element(DataType::kHalf, DataType::kBfloat16,
                                          DataType::kFloat8E4m3, DataType::kFloat8E5m2);
  const auto value = static_cast<double>(*rc::gen::inRange(1, 400000)) / 1000;
  std::uint16_t place = 0;
  store(type, &place, 0, value);
  const double error = std::abs(load(type, &place, 0) - value);
  for (const int step : {-1, 1}) {
    auto neighbour = static_cast<std::uint16_t>(place + step);
    const double other = load(type, &neighbour, 0);
    RC_ASSERT(std::isnan(other) || std::abs(other - value) >= error);
  }
}

}  // namespace
}  // namespace muster::measure
