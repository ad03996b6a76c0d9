#include "engine/bench/reduction.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace muster::measure {
namespace {

template <Reduction kHow, typename T>
T reduced(T a, T b) {
  if constexpr (kHow == Reduction::kProd) return static_cast<T>(a * b);
  if constexpr (kHow == Reduction::kMin) return std::min(a, b);
  if constexpr (kHow == Reduction::kMax) return std::max(a, b);
  return static_cast<T>(a + b);
}

template <Reduction kHow, typename T>
void plain(const void* in, void* inout, std::size_t elements) {
  const T* __restrict from = static_cast<const T*>(in);
  T* __restrict to = static_cast<T*>(inout);
  for (std::size_t i = 0; i < elements; ++i) to[i] = reduced<kHow>(from[i], to[i]);
}

template <Reduction kHow, DataType kType>
void software(const void* in, void* inout, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    store(kType, inout, i,
          reduced<kHow>(static_cast<float>(load(kType, in, i)),
                        static_cast<float>(load(kType, inout, i))));
}

float widen(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// The type of most training: written so that the compiler makes vector code of it. No NaN is
/// looked for.
template <Reduction kHow>
void bfloat16(const void* in, void* inout, std::size_t elements) {
  const auto* from = static_cast<const std::uint16_t*>(in);
  auto* to = static_cast<std::uint16_t*>(inout);
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = reduced<kHow>(widen(from[i]), widen(to[i]));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    to[i] = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

template <Reduction kHow>
Combine function_for(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return &plain<kHow, std::int8_t>;
    case DataType::kUint8:
      return &plain<kHow, std::uint8_t>;
    case DataType::kInt32:
      return &plain<kHow, std::int32_t>;
    case DataType::kUint32:
      return &plain<kHow, std::uint32_t>;
    case DataType::kInt64:
      return &plain<kHow, std::int64_t>;
    case DataType::kUint64:
      return &plain<kHow, std::uint64_t>;
    case DataType::kHalf:
      return &software<kHow, DataType::kHalf>;
    case DataType::kFloat:
      return &plain<kHow, float>;
    case DataType::kDouble:
      return &plain<kHow, double>;
    case DataType::kBfloat16:
      return &bfloat16<kHow>;
    case DataType::kFloat8E4m3:
      return &software<kHow, DataType::kFloat8E4m3>;
    case DataType::kFloat8E5m2:
      return &software<kHow, DataType::kFloat8E5m2>;
  }
  return nullptr;
}

}  // namespace

Combine combine_function(DataType type, Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
      return function_for<Reduction::kProd>(type);
    case Reduction::kMin:
      return function_for<Reduction::kMin>(type);
    case Reduction::kMax:
      return function_for<Reduction::kMax>(type);
    default:
      return function_for<Reduction::kSum>(type);
  }
}

void scale(DataType type, double factor, const void* from, void* to, std::size_t elements) {
  if (type == DataType::kFloat) {
    const auto* source = static_cast<const float*>(from);
    auto* target = static_cast<float*>(to);
    const auto narrow = static_cast<float>(factor);
    for (std::size_t i = 0; i < elements; ++i) target[i] = source[i] * narrow;
    return;
  }
  for (std::size_t i = 0; i < elements; ++i) {
    const double value = load(type, from, i) * factor;
    // 21 * (1.0 / 7) is a little less than 3.
    store(type, to, i, is_floating(type) ? value : std::floor(value + 1e-9));
  }
}

}  // namespace muster::measure
