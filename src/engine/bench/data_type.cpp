#include "engine/bench/data_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace muster::measure {
namespace {

/// A small floating-point format: sign, exponent, mantissa.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  ///< without: all ones are NaN, the rest of the top exponent are values

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
};

constexpr Format kHalfFormat{5, 10, true};
constexpr Format kE4m3Format{4, 3, false};
constexpr Format kE5m2Format{5, 2, true};

double decode(const Format& format, unsigned bits) {
  const unsigned mantissa = bits & ((1U << format.mantissa_bits) - 1);
  const int top = (1 << format.exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & top;
  const double sign = (bits >> (format.bits() - 1)) != 0 ? -1.0 : 1.0;
  const unsigned ones = (1U << format.mantissa_bits) - 1;
  if (exponent == top && (format.has_infinity || mantissa == ones)) {
    if (format.has_infinity && mantissa == 0) return sign * std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - format.bias() - format.mantissa_bits);
  return sign * std::ldexp(mantissa + (1U << format.mantissa_bits),
                           exponent - format.bias() - format.mantissa_bits);
}

unsigned encode(const Format& format, double value) {
  const unsigned top = (1U << format.exponent_bits) - 1;
  const unsigned ones = (1U << format.mantissa_bits) - 1;
  const unsigned sign = std::signbit(value) ? 1U << (format.bits() - 1) : 0;
  const unsigned infinite = top << format.mantissa_bits;
  // The largest finite value: all ones but the last bit where there is no infinity.
  const unsigned largest = format.has_infinity ? infinite - 1 : (infinite | ones) - 1;
  if (std::isnan(value)) return sign | infinite | ones;
  value = std::abs(value);
  if (value == 0) return sign;
  if (std::isinf(value)) return sign | (format.has_infinity ? infinite : largest);
  int exponent = 0;
  std::frexp(value, &exponent);  // value = [0.5, 1) * 2^exponent
  exponent = std::max(exponent - 1, 1 - format.bias());
  // In units of the last place; std::nearbyint rounds ties to even.
  double units = std::nearbyint(std::ldexp(value, format.mantissa_bits - exponent));
  if (units >= std::ldexp(1.0, format.mantissa_bits + 1)) {
    units /= 2;
    ++exponent;
  }
  if (exponent + format.bias() > static_cast<int>(top))
    return sign | (format.has_infinity ? infinite : largest);
  const auto whole = static_cast<unsigned>(units);
  // Subnormal numbers have no leading one; one that was rounded up to it fits by itself.
  const unsigned bits =
      whole < (1U << format.mantissa_bits)
          ? whole
          : whole - (1U << format.mantissa_bits) +
                (static_cast<unsigned>(exponent + format.bias()) << format.mantissa_bits);
  if (bits > largest) return sign | (format.has_infinity ? infinite : largest);
  return sign | bits;
}

template <int kBits>
std::array<float, 1U << kBits> table(const Format& format) {
  std::array<float, 1U << kBits> values{};
  for (unsigned bits = 0; bits < values.size(); ++bits)
    values[bits] = static_cast<float>(decode(format, bits));
  return values;
}

float bfloat16_value(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

std::uint16_t bfloat16_bits(double value) {
  const auto narrow = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  if (std::isnan(narrow)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}

template <typename T>
double load_as(const void* data, std::size_t index) {
  T value{};
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

template <typename T>
void store_as(void* data, std::size_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * sizeof(T), &value, sizeof(T));
}

template <typename T>
void store_integer(void* data, std::size_t index, double value) {
  using Limits = std::numeric_limits<T>;
  const double rounded = std::nearbyint(value);
  T whole = 0;
  if (rounded >= static_cast<double>(Limits::max())) {
    whole = Limits::max();
  } else if (rounded <= static_cast<double>(Limits::min())) {
    whole = Limits::min();
  } else {
    whole = static_cast<T>(rounded);
  }
  store_as(data, index, whole);
}

struct Row {
  DataType type;
  const char* name;
  std::size_t size;
  int mantissa;  ///< bits, of floating-point types
  int exact;
};

// f8e4m3 holds integers to 16, f8e5m2 to 8; beyond 2^24 nobody needs them here.
constexpr Row kRows[] = {
    {DataType::kInt8, "int8", 1, 0, 127},
    {DataType::kUint8, "uint8", 1, 0, 255},
    {DataType::kInt32, "int32", 4, 0, 1 << 24},
    {DataType::kUint32, "uint32", 4, 0, 1 << 24},
    {DataType::kInt64, "int64", 8, 0, 1 << 24},
    {DataType::kUint64, "uint64", 8, 0, 1 << 24},
    {DataType::kHalf, "half", 2, 10, 1 << 11},
    {DataType::kFloat, "float", 4, 23, 1 << 24},
    {DataType::kDouble, "double", 8, 52, 1 << 24},
    {DataType::kBfloat16, "bfloat16", 2, 7, 1 << 8},
    {DataType::kFloat8E4m3, "f8e4m3", 1, 3, 1 << 4},
    {DataType::kFloat8E5m2, "f8e5m2", 1, 2, 1 << 3},
};

const Row& row(DataType type) {
  return kRows[static_cast<std::size_t>(type)];
}

}  // namespace

const char* to_string(DataType type) {
  return row(type).name;
}

std::optional<DataType> data_type(std::string_view name) {
  if (name == "fp8_e4m3") return DataType::kFloat8E4m3;
  if (name == "fp8_e5m2") return DataType::kFloat8E5m2;
  for (const Row& row : kRows) {
    if (name == row.name) return row.type;
  }
  return std::nullopt;
}

const std::vector<DataType>& all_data_types() {
  static const std::vector<DataType> kAll = [] {
    std::vector<DataType> all;
    for (const Row& row : kRows) all.push_back(row.type);
    return all;
  }();
  return kAll;
}

std::size_t size_of(DataType type) {
  return row(type).size;
}

bool is_floating(DataType type) {
  return row(type).mantissa > 0;
}

int exact_integers(DataType type) {
  return row(type).exact;
}

double epsilon(DataType type) {
  return is_floating(type) ? std::ldexp(1.0, -row(type).mantissa) : 1.0;
}

double load(DataType type, const void* data, std::size_t index) {
  switch (type) {
    case DataType::kInt8:
      return load_as<std::int8_t>(data, index);
    case DataType::kUint8:
      return load_as<std::uint8_t>(data, index);
    case DataType::kInt32:
      return load_as<std::int32_t>(data, index);
    case DataType::kUint32:
      return load_as<std::uint32_t>(data, index);
    case DataType::kInt64:
      return load_as<std::int64_t>(data, index);
    case DataType::kUint64:
      return load_as<std::uint64_t>(data, index);
    case DataType::kFloat:
      return load_as<float>(data, index);
    case DataType::kDouble:
      return load_as<double>(data, index);
    case DataType::kBfloat16:
      return bfloat16_value(static_cast<std::uint16_t>(load_as<std::uint16_t>(data, index)));
    case DataType::kHalf: {
      static const auto kTable = table<16>(kHalfFormat);
      return kTable[static_cast<std::size_t>(load_as<std::uint16_t>(data, index))];
    }
    case DataType::kFloat8E4m3: {
      static const auto kTable = table<8>(kE4m3Format);
      return kTable[static_cast<std::size_t>(load_as<std::uint8_t>(data, index))];
    }
    case DataType::kFloat8E5m2: {
      static const auto kTable = table<8>(kE5m2Format);
      return kTable[static_cast<std::size_t>(load_as<std::uint8_t>(data, index))];
    }
  }
  return 0;
}

void store(DataType type, void* data, std::size_t index, double value) {
  switch (type) {
    case DataType::kInt8:
      return store_integer<std::int8_t>(data, index, value);
    case DataType::kUint8:
      return store_integer<std::uint8_t>(data, index, value);
    case DataType::kInt32:
      return store_integer<std::int32_t>(data, index, value);
    case DataType::kUint32:
      return store_integer<std::uint32_t>(data, index, value);
    case DataType::kInt64:
      return store_integer<std::int64_t>(data, index, value);
    case DataType::kUint64:
      return store_integer<std::uint64_t>(data, index, value);
    case DataType::kFloat:
      return store_as(data, index, static_cast<float>(value));
    case DataType::kDouble:
      return store_as(data, index, value);
    case DataType::kBfloat16:
      return store_as(data, index, bfloat16_bits(value));
    case DataType::kHalf:
      return store_as(data, index, static_cast<std::uint16_t>(encode(kHalfFormat, value)));
    case DataType::kFloat8E4m3:
      return store_as(data, index, static_cast<std::uint8_t>(encode(kE4m3Format, value)));
    case DataType::kFloat8E5m2:
      return store_as(data, index, static_cast<std::uint8_t>(encode(kE5m2Format, value)));
  }
}

}  // namespace muster::measure
