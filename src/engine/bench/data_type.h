// The element types of nccl-tests: their names, sizes and values, on a CPU that knows half of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace muster::measure {

enum class DataType {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kHalf,
  kFloat,
  kDouble,
  kBfloat16,
  kFloat8E4m3,
  kFloat8E5m2,
};

/// As nccl-tests prints them: "float", "bfloat16", "f8e4m3".
const char* to_string(DataType type);
/// Also the spellings of older versions: "fp8_e4m3", "fp8_e5m2". Empty: no such type.
std::optional<DataType> data_type(std::string_view name);
const std::vector<DataType>& all_data_types();

/// Bytes of an element.
std::size_t size_of(DataType type);
bool is_floating(DataType type);

/// Every integer from 0 to here is exact in the type, so are sums that stay below: 8 for f8e5m2
/// (two bits of mantissa), 127 for int8, at most 2^24 for any.
int exact_integers(DataType type);

/// Distance between values of the type near 1; 1 for integers.
double epsilon(DataType type);

double load(DataType type, const void* data, std::size_t index);
/// Rounds to the nearest, ties to even. Too large: infinity where the type has one (f8e4m3 and the
/// integers have none: their largest value).
void store(DataType type, void* data, std::size_t index, double value);

}  // namespace muster::measure
