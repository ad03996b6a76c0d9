// The arithmetic of dispatch and combine, over whole rows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace muster::measure {

inline float bf16_to_float(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}
/// To the nearest, ties to even. Of finite values.
inline std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float fp8_to_float(std::uint8_t code);
/// f8e4m3, to the nearest, ties to even; magnitudes above 448 become 448.
std::uint8_t float_to_fp8(float value);

/// out = row + row + …, added in float32 and rounded once. `count` may be 0: zeros.
void sum_rows(const std::uint16_t* const* rows, int count, std::size_t channels,
              std::uint16_t* out);
/// out = weight * row + …
void weigh_rows(const std::uint16_t* const* rows, const float* weights, int count,
                std::size_t channels, std::uint16_t* out);

/// Each block of 128 channels to f8e4m3 with the scale that brings its largest magnitude to 448, as
/// DeepEP casts: magnitudes below 1e-4 count as that.
void cast_to_fp8(const std::uint16_t* row, std::size_t channels, std::uint8_t* out, float* scales);

}  // namespace muster::measure
