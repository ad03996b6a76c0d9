// A hash of parameters that does not depend on how they are cut into shards: the sum over all
// elements of a mix of the parameter's name, the element's index and the value's bits. Sums of
// parts add up to the sum of the whole.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::parallel {

/// Two sums modulo 2^64, of two independent mixes.
using PartialHash = std::array<std::uint64_t, 2>;

/// Adds elements [first, first + count) of a parameter to `sum`.
void add_to_hash(PartialHash& sum, std::string_view name, const float* values, std::int64_t first,
                 std::int64_t count);

/// 32 hexadecimal digits.
std::string to_string(const PartialHash& sum);

}  // namespace muster::parallel
