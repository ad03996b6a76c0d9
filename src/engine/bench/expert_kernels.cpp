#include "engine/bench/expert_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/bench/expert_data.h"

// Each kernel is one body, compiled for what every x86-64 has and for AVX2, chosen as it runs.
#if defined(__x86_64__)
#define MUSTER_AVX2 __attribute__((target("avx2")))
#endif
#define MUSTER_BODY inline __attribute__((always_inline)) void

namespace muster::measure {
namespace {

/// Channels of a row that are summed while they lie in the first cache.
constexpr std::size_t kChunk = 1024;

MUSTER_BODY add(float* __restrict sum, const std::uint16_t* __restrict row, float weight,
                std::size_t channels) {
  for (std::size_t c = 0; c < channels; ++c) sum[c] += weight * bf16_to_float(row[c]);
}

MUSTER_BODY round_to(std::uint16_t* __restrict out, const float* __restrict sum,
                     std::size_t channels) {
  for (std::size_t c = 0; c < channels; ++c) out[c] = float_to_bf16(sum[c]);
}

MUSTER_BODY add_two(std::uint16_t* __restrict out, const std::uint16_t* __restrict a,
                    const std::uint16_t* __restrict b, std::size_t channels) {
  for (std::size_t c = 0; c < channels; ++c)
    out[c] = float_to_bf16(bf16_to_float(a[c]) + bf16_to_float(b[c]));
}

MUSTER_BODY weigh_body(const std::uint16_t* const* rows, const float* weights, int count,
                       std::size_t channels, std::uint16_t* out) {
  alignas(64) float sum[kChunk];
  for (std::size_t at = 0; at < channels; at += kChunk) {
    const std::size_t length = std::min(kChunk, channels - at);
    std::memset(sum, 0, length * sizeof(float));
    for (int i = 0; i < count; ++i) add(sum, rows[i] + at, weights ? weights[i] : 1.0F, length);
    round_to(out + at, sum, length);
  }
}

MUSTER_BODY cast_body(const std::uint16_t* __restrict row, std::size_t channels,
                      std::uint8_t* __restrict out, float* __restrict scales) {
  for (std::size_t block = 0; block < channels / kScaleBlock; ++block) {
    const std::uint16_t* values = row + block * kScaleBlock;
    std::uint32_t largest = 0;  // magnitudes of floats order as their bits do
    for (int c = 0; c < kScaleBlock; ++c)
      largest = std::max(largest, static_cast<std::uint32_t>(values[c] & 0x7fff));
    const float most = std::max(1e-4F, bf16_to_float(static_cast<std::uint16_t>(largest)));
    const float factor = 448.0F / most;
    scales[block] = most / 448.0F;
    for (int c = 0; c < kScaleBlock; ++c) {
      const float value = bf16_to_float(values[c]) * factor;
      const auto bits = std::bit_cast<std::uint32_t>(value);
      const std::uint32_t magnitude = bits & 0x7fffffff;
      // Seven bits of exponent bias and three of mantissa; below 2^-6 in steps of 2^-9.
      const std::uint32_t rounded = magnitude + 0x7ffff + ((magnitude >> 20) & 1);
      const std::uint32_t normal = (rounded >> 20) - (120U << 3);
      const auto small = std::bit_cast<std::uint32_t>(
          std::bit_cast<float>(magnitude) + 16384.0F);  // 2^14: its last bit is worth 2^-9
      // A mask instead of a branch: the loop is to be one of vectors.
      const std::uint32_t is_small = 0U - static_cast<std::uint32_t>(magnitude < (121U << 23));
      const std::uint32_t code =
          ((small - std::bit_cast<std::uint32_t>(16384.0F)) & is_small) | (normal & ~is_small);
      out[block * kScaleBlock + static_cast<std::size_t>(c)] =
          static_cast<std::uint8_t>(std::min(code, 0x7eU) | (bits >> 31 << 7));
    }
  }
}

#if defined(__x86_64__)
MUSTER_AVX2 void weigh_avx2(const std::uint16_t* const* rows, const float* weights, int count,
                            std::size_t channels, std::uint16_t* out) {
  weigh_body(rows, weights, count, channels, out);
}
MUSTER_AVX2 void add_two_avx2(std::uint16_t* out, const std::uint16_t* a, const std::uint16_t* b,
                              std::size_t channels) {
  add_two(out, a, b, channels);
}
MUSTER_AVX2 void cast_avx2(const std::uint16_t* row, std::size_t channels, std::uint8_t* out,
                           float* scales) {
  cast_body(row, channels, out, scales);
}
bool has_avx2() {
  static const bool kHas = __builtin_cpu_supports("avx2") != 0;
  return kHas;
}
#endif

void add_pair(std::uint16_t* out, const std::uint16_t* a, const std::uint16_t* b,
              std::size_t channels) {
#if defined(__x86_64__)
  if (has_avx2()) return add_two_avx2(out, a, b, channels);
#endif
  add_two(out, a, b, channels);
}

void weigh(const std::uint16_t* const* rows, const float* weights, int count, std::size_t channels,
           std::uint16_t* out) {
#if defined(__x86_64__)
  if (has_avx2()) return weigh_avx2(rows, weights, count, channels, out);
#endif
  weigh_body(rows, weights, count, channels, out);
}

}  // namespace

float fp8_to_float(std::uint8_t code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

std::uint8_t float_to_fp8(float value) {
  const float magnitude = std::min(std::fabs(value), 448.0F);
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, f of [0.5, 1)
  // Three bits after the leading one; below the smallest normal number, 2^-6, all are 2^-9 apart.
  const int step = magnitude < 0x1p-6F ? -9 : exponent - 4;
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -step)));
  // A magnitude that rounds up to the next power of two counts on by itself.
  const int code = ((step + 9) << 3) + units;
  return static_cast<std::uint8_t>(code | (std::signbit(value) ? 0x80 : 0));
}

void sum_rows(const std::uint16_t* const* rows, int count, std::size_t channels,
              std::uint16_t* out) {
  switch (count) {
    case 0:
      std::memset(out, 0, channels * sizeof *out);
      return;
    case 1:
      std::memcpy(out, rows[0], channels * sizeof *out);
      return;
    case 2:
      add_pair(out, rows[0], rows[1], channels);
      return;
    default:
      weigh(rows, nullptr, count, channels, out);
  }
}

void weigh_rows(const std::uint16_t* const* rows, const float* weights, int count,
                std::size_t channels, std::uint16_t* out) {
  weigh(rows, weights, count, channels, out);
}

void cast_to_fp8(const std::uint16_t* row, std::size_t channels, std::uint8_t* out, float* scales) {
#if defined(__x86_64__)
  if (has_avx2()) return cast_avx2(row, channels, out, scales);
#endif
  cast_body(row, channels, out, scales);
}

}  // namespace muster::measure
