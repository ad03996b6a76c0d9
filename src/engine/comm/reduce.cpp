#include "engine/comm/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace muster::comm {
namespace {

// What the kernels need, so that one function a machine level is enough.
struct Job {
  void* out;
  c10::ScalarType out_type;
  const void* const* sources;
  std::size_t source_count;
  c10::ScalarType type;
  std::int64_t count;
  Reduction how;
};

// bfloat16 as its bits.
struct Bf16 {
  std::uint16_t bits;
};

[[gnu::always_inline]] inline float widen(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
template <typename T>
[[gnu::always_inline]] inline T widen(T value) {
  return value;
}

template <typename Out, typename Accumulator>
[[gnu::always_inline]] inline Out narrow(Accumulator value) {
  if constexpr (std::is_same_v<Out, Bf16>) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return Bf16{static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x40U : rounded)};
  } else {
    return value;
  }
}

// Integers are added without sign, so that overflow wraps.
template <typename T>
[[gnu::always_inline]] inline T add(T left, T right) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(left) + static_cast<U>(right)));
  } else {
    return left + right;
  }
}

// A block of accumulators stays in the first-level cache, so each source is read once from memory
// and the result written once, whatever the number of sources.
constexpr std::int64_t kBlock = 2048;

template <typename In, typename Accumulator, typename Out>
[[gnu::always_inline]] inline void reduce_typed(const Job& job) {
  alignas(64) Accumulator sum[kBlock];
  auto* const out = static_cast<Out*>(job.out);
  const auto scale = static_cast<Accumulator>(job.how.scale);
  const bool scaled = std::is_floating_point_v<Accumulator> && job.how.scale != 1.0;
  for (std::int64_t begin = 0; begin < job.count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, job.count - begin);
    const auto* first = static_cast<const In*>(job.sources[0]) + begin;
    for (std::int64_t i = 0; i < n; ++i) sum[i] = widen(first[i]);
    for (std::size_t s = 1; s < job.source_count; ++s) {
      const auto* source = static_cast<const In*>(job.sources[s]) + begin;
      switch (job.how.op) {
        case Op::kSum:
          for (std::int64_t i = 0; i < n; ++i) sum[i] = add<Accumulator>(sum[i], widen(source[i]));
          break;
        case Op::kMax:  // written so that a NaN on either side stays
          for (std::int64_t i = 0; i < n; ++i) {
            const Accumulator value = widen(source[i]);
            sum[i] = (sum[i] > value || sum[i] != sum[i]) ? sum[i] : value;
          }
          break;
        case Op::kMin:
          for (std::int64_t i = 0; i < n; ++i) {
            const Accumulator value = widen(source[i]);
            sum[i] = (sum[i] < value || sum[i] != sum[i]) ? sum[i] : value;
          }
          break;
      }
    }
    if (scaled) {
      for (std::int64_t i = 0; i < n; ++i) sum[i] = static_cast<Accumulator>(sum[i] * scale);
    }
    if (job.how.accumulate) {
      for (std::int64_t i = 0; i < n; ++i) {
        sum[i] = add<Accumulator>(widen(out[begin + i]), sum[i]);
      }
    }
    for (std::int64_t i = 0; i < n; ++i) out[begin + i] = narrow<Out>(sum[i]);
  }
}

[[gnu::always_inline]] inline void reduce_any(const Job& job) {
  switch (job.type) {
    case c10::ScalarType::Float:
      return reduce_typed<float, float, float>(job);
    case c10::ScalarType::BFloat16:
      if (job.out_type == c10::ScalarType::Float) return reduce_typed<Bf16, float, float>(job);
      return reduce_typed<Bf16, float, Bf16>(job);
    case c10::ScalarType::Double:
      return reduce_typed<double, double, double>(job);
    case c10::ScalarType::Long:
      return reduce_typed<std::int64_t, std::int64_t, std::int64_t>(job);
    case c10::ScalarType::Int:
      return reduce_typed<std::int32_t, std::int32_t, std::int32_t>(job);
    case c10::ScalarType::Byte:
      return reduce_typed<std::uint8_t, std::uint8_t, std::uint8_t>(job);
    default:
      throw Error(std::string("no reduction of type ") + c10::toString(job.type));
  }
}

void reduce_portable(const Job& job) {
  reduce_any(job);
}

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void reduce_avx512(const Job& job) {
  reduce_any(job);
}
[[gnu::target("avx2,fma")]] void reduce_avx2(const Job& job) {
  reduce_any(job);
}
#endif

using Kernel = void (*)(const Job&);

Kernel best_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return reduce_avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return reduce_avx2;
#endif
  return reduce_portable;
}

}  // namespace

void reduce(void* out, c10::ScalarType out_type, const std::vector<const void*>& sources,
            c10::ScalarType type, std::int64_t count, const Reduction& how) {
  static const Kernel kernel = best_kernel();
  if (sources.empty() || count == 0) return;
  kernel(Job{out, out_type, sources.data(), sources.size(), type, count, how});
}

}  // namespace muster::comm
