// Included once by each ops_vector_*.cpp, which is compiled for its instruction set. Nothing but
// fixed-width integers may be included here: an inline function of the standard library compiled
// for a newer processor could be the copy that the linker keeps for everybody.
#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <cstdint>

#include "engine/model/ops_vector.h"

namespace muster::model {
namespace {

constexpr int kLanes = 16;
typedef float Floats __attribute__((vector_size(64)));
typedef std::int32_t Ints __attribute__((vector_size(64)));
typedef std::uint32_t Words __attribute__((vector_size(64)));
typedef std::uint16_t Halves __attribute__((vector_size(32)));

#define MUSTER_INLINE static inline __attribute__((always_inline))

MUSTER_INLINE Floats splat(float x) {
  return Floats{} + x;
}

MUSTER_INLINE Floats load(const float* from) {
  Floats x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}

MUSTER_INLINE Floats load(const Bf16* from) {
  Halves bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  const Words wide = __builtin_convertvector(bits, Words) << 16;
  Floats x;
  __builtin_memcpy(&x, &wide, sizeof x);
  return x;
}

MUSTER_INLINE void store(Floats x, float* to) {
  __builtin_memcpy(to, &x, sizeof x);
}

// To the nearest bfloat16, ties to even. A NaN is cut instead of rounded, which could carry into
// its exponent; it stays one because arithmetic, which all of these come from, sets its upper bits.
MUSTER_INLINE Halves to_halves(Floats x) {
  Words bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const Words number = (Words)(x == x);
  const Words rounding = (((bits >> 16) & 1u) + 0x7fffu) & number;
  return __builtin_convertvector((bits + rounding) >> 16, Halves);
}

MUSTER_INLINE void store(Floats x, Bf16* to) {
  const Halves bits = to_halves(x);
  __builtin_memcpy(to, &bits, sizeof bits);
}

// The first n < 16 lanes; the others are 0.
template <typename T>
MUSTER_INLINE Floats load(const T* from, std::int64_t n) {
  T padded[kLanes] = {};
  for (std::int64_t i = 0; i < n; ++i) padded[i] = from[i];
  return load(padded);
}

template <typename T>
MUSTER_INLINE void store(Floats x, T* to, std::int64_t n) {
  T padded[kLanes];
  store(x, padded);
  for (std::int64_t i = 0; i < n; ++i) to[i] = padded[i];
}

// A value as it would be after a store and a load.
MUSTER_INLINE Floats rounded_as(Floats x, const float*) {
  return x;
}
MUSTER_INLINE Floats rounded_as(Floats x, const Bf16*) {
  const Words wide = __builtin_convertvector(to_halves(x), Words) << 16;
  Floats y;
  __builtin_memcpy(&y, &wide, sizeof y);
  return y;
}

// Always in the same order: halves onto halves.
MUSTER_INLINE float sum_of(Floats x) {
  float lane[kLanes];
  store(x, lane);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  return lane[0];
}

MUSTER_INLINE float maximum_of(Floats x) {
  float lane[kLanes];
  store(x, lane);
  float best = lane[0];
  for (int i = 1; i < kLanes; ++i) best = lane[i] > best ? lane[i] : best;
  return best;
}

MUSTER_INLINE Floats larger(Floats a, Floats b) {
  return a > b ? a : b;
}
MUSTER_INLINE Floats smaller(Floats a, Floats b) {
  return a < b ? a : b;
}

// a · b + c, in one rounding where the processor can. The compiler contracts nothing by itself
// (-ffp-contract=off): whole blocks and the rest of a row are computed alike.
MUSTER_INLINE Floats fused(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  Floats result;
  for (int half = 0; half < 2; ++half) {
    __m256 x, y, z;
    __builtin_memcpy(&x, reinterpret_cast<const char*>(&a) + half * 32, 32);
    __builtin_memcpy(&y, reinterpret_cast<const char*>(&b) + half * 32, 32);
    __builtin_memcpy(&z, reinterpret_cast<const char*>(&c) + half * 32, 32);
    x = _mm256_fmadd_ps(x, y, z);
    __builtin_memcpy(reinterpret_cast<char*>(&result) + half * 32, &x, 32);
  }
  return result;
#else
  return a * b + c;
#endif
}

// e^x to about 1 ulp: 2^n · e^r, |r| <= ln 2 / 2, e^r by the Cephes polynomial. Saturates outside
// [-87, 88].
MUSTER_INLINE Floats exponential(Floats x) {
  const Floats bounded = smaller(splat(88.0f), larger(splat(-87.0f), x));
  const Floats magic = splat(12582912.0f);  // 1.5 · 2^23: adding it rounds to an integer
  const Floats shifted = fused(bounded, splat(1.44269504088896341f), magic);
  const Floats n = shifted - magic;
  const Floats r = fused(n, splat(2.12194440e-4f), fused(n, splat(-0.693359375f), bounded));
  Floats poly = splat(1.9875691500e-4f);
  poly = fused(poly, r, splat(1.3981999507e-3f));
  poly = fused(poly, r, splat(8.3334519073e-3f));
  poly = fused(poly, r, splat(4.1665795894e-2f));
  poly = fused(poly, r, splat(1.6666665459e-1f));
  poly = fused(poly, r, splat(5.0000001201e-1f));
  poly = fused(poly, r * r, r) + 1.0f;
  const Ints power = (__builtin_convertvector(n, Ints) + 127) << 23;
  Floats scale;
  __builtin_memcpy(&scale, &power, sizeof scale);
  return poly * scale;
}

MUSTER_INLINE Floats sigmoid(Floats x) {
  return 1.0f / (1.0f + exponential(-x));
}

// Calls body(i, n) for every block of 16 and for the rest: body gets a tag that says which.
struct Whole {};
struct Part {
  std::int64_t n;
};
template <typename T>
MUSTER_INLINE Floats load(const T* from, Whole) {
  return load(from);
}
template <typename T>
MUSTER_INLINE Floats load(const T* from, Part part) {
  return load(from, part.n);
}
template <typename T>
MUSTER_INLINE void store(Floats x, T* to, Whole) {
  store(x, to);
}
template <typename T>
MUSTER_INLINE void store(Floats x, T* to, Part part) {
  store(x, to, part.n);
}

template <typename Body>
MUSTER_INLINE void for_lanes(std::int64_t count, const Body& body) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) body(i, Whole{});
  if (i < count) body(i, Part{count - i});
}

// ----------------------------------------------------------------------------------------
// normalisation

template <typename T>
void rms_norm(const T* x, const T* w, T* y, float* inverse, std::int64_t rows, std::int64_t columns,
              float eps) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    Floats squares{};
    for_lanes(columns, [&](std::int64_t i, auto part) {
      const Floats v = load(x + i, part);
      squares += v * v;
    });
    const float r = 1.0f / __builtin_sqrtf(sum_of(squares) / static_cast<float>(columns) + eps);
    inverse[row] = r;
    for_lanes(columns, [&](std::int64_t i, auto part) {
      store(rounded_as(load(x + i, part) * r, x) * load(w + i, part), y + i, part);
    });
  }
}

template <typename T>
void rms_norm_backward(const float* dy, const T* x, const T* w, const float* inverse,
                       const T* residual, T* dx, float* dw, std::int64_t rows,
                       std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row, dy += columns, x += columns, dx += columns) {
    const float r = inverse[row];
    Floats dots{};
    for_lanes(columns, [&](std::int64_t i, auto part) {
      const Floats g = load(dy + i, part);
      const Floats normed = load(x + i, part) * r;
      dots += g * load(w + i, part) * normed;
      store(load(dw + i, part) + g * normed, dw + i, part);
    });
    const float mean = sum_of(dots) / static_cast<float>(columns);
    for_lanes(columns, [&](std::int64_t i, auto part) {
      const Floats normed = load(x + i, part) * r;
      Floats d = r * (load(dy + i, part) * load(w + i, part) - normed * mean);
      if (residual != nullptr) d += load(residual + row * columns + i, part);
      store(d, dx + i, part);
    });
  }
}

// ----------------------------------------------------------------------------------------------
// attention

template <typename From, typename T>
void rotate(const From* x, std::int64_t x_stride, T* y, std::int64_t y_stride, const float* cos,
            const float* sin, std::int64_t positions, std::int64_t heads, std::int64_t half,
            float direction) {
  for (std::int64_t t = 0; t < positions; ++t, cos += half, sin += half) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const From* in = x + t * x_stride + head * 2 * half;
      T* out = y + t * y_stride + head * 2 * half;
      for_lanes(half, [&](std::int64_t i, auto part) {
        const Floats a = load(in + i, part);
        const Floats b = load(in + half + i, part);
        const Floats c = load(cos + i, part);
        const Floats s = load(sin + i, part) * direction;
        store(a * c - b * s, out + i, part);
        store(b * c + a * s, out + half + i, part);
      });
    }
  }
}

template <typename T>
MUSTER_INLINE void zero(T* to, std::int64_t count) {
  __builtin_memset(static_cast<void*>(to), 0, static_cast<std::size_t>(count) * sizeof(T));
}

template <typename T>
void causal_softmax(const float* scores, T* p, float* log_sum, std::int64_t rows,
                    std::int64_t columns, std::int64_t first, std::int64_t group, float scale) {
  for (std::int64_t row = 0; row < rows; ++row, scores += columns, p += columns) {
    const std::int64_t live = first + row / group + 1;
    Floats best = splat(scores[0]);
    std::int64_t i = 0;
    for (; i + kLanes <= live; i += kLanes) best = larger(load(scores + i), best);
    float top = maximum_of(best);
    for (; i < live; ++i) top = scores[i] > top ? scores[i] : top;

    // The scores' row is not needed again: it holds the exponentials.
    float* e = const_cast<float*>(scores);
    Floats sums{};
    for (i = 0; i + kLanes <= live; i += kLanes) {
      const Floats x = exponential((load(scores + i) - top) * scale);
      sums += x;
      store(x, e + i);
    }
    if (i < live) {
      const std::int64_t rest = live - i;
      store(exponential((load(scores + i, rest) - top) * scale), e + i, rest);
      sums += load(e + i, rest);
    }
    const float total = sum_of(sums);
    log_sum[row] = top * scale + __builtin_logf(total);
    const float factor = 1.0f / total;
    for_lanes(live,
              [&](std::int64_t j, auto part) { store(load(e + j, part) * factor, p + j, part); });
    zero(p + live, columns - live);
  }
}

template <typename T>
void causal_softmax_backward(const float* scores, const float* dp, const float* log_sum,
                             const float* delta, T* p, T* ds, std::int64_t rows,
                             std::int64_t columns, std::int64_t first, std::int64_t group,
                             float scale) {
  for (std::int64_t row = 0; row < rows;
       ++row, scores += columns, dp += columns, p += columns, ds += columns) {
    const std::int64_t live = first + row / group + 1;
    const float shift = log_sum[row];
    const float d = delta[row];
    for_lanes(live, [&](std::int64_t i, auto part) {
      const Floats x = exponential(load(scores + i, part) * scale - shift);
      store(x, p + i, part);
      store(x * (load(dp + i, part) - d) * scale, ds + i, part);
    });
    zero(p + live, columns - live);
    zero(ds + live, columns - live);
  }
}

template <typename T>
void row_dots(const T* a, const T* b, float* sums, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row, a += columns, b += columns) {
    Floats dots{};
    for_lanes(columns,
              [&](std::int64_t i, auto part) { dots += load(a + i, part) * load(b + i, part); });
    sums[row] = sum_of(dots);
  }
}

// ------------------------------------------------------------------------------------------
// feed-forward

template <typename T>
void swiglu(const T* gate, const T* up, T* y, std::int64_t count) {
  for_lanes(count, [&](std::int64_t i, auto part) {
    const Floats g = load(gate + i, part);
    store(g * sigmoid(g) * load(up + i, part), y + i, part);
  });
}

template <typename T>
void swiglu_backward(const T* gate, const T* up, const T* dy, T* y, T* dgate, T* dup,
                     std::int64_t count) {
  for_lanes(count, [&](std::int64_t i, auto part) {
    const Floats g = load(gate + i, part);
    const Floats u = load(up + i, part);
    const Floats d = load(dy + i, part);
    const Floats s = sigmoid(g);
    const Floats silu = g * s;
    if (y != nullptr) store(silu * u, y + i, part);
    store(d * u * s * (1.0f + g * (1.0f - s)), dgate + i, part);
    store(d * silu, dup + i, part);
  });
}

// ---------------------------------------------------------------------------------------------------
// loss

void log_sum(const float* logits, std::int64_t columns, LogSum& sum) {
  Floats best = splat(sum.top);
  std::int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) best = larger(load(logits + i), best);
  float top = maximum_of(best);
  for (; i < columns; ++i) top = logits[i] > top ? logits[i] : top;

  Floats sums{};
  for (i = 0; i + kLanes <= columns; i += kLanes) sums += exponential(load(logits + i) - top);
  if (i < columns) {
    float rest[kLanes];
    store(exponential(load(logits + i, columns - i) - top), rest);
    sums += load(rest, columns - i);
  }
  float rescale;
  store(exponential(splat(sum.top - top)), &rescale, 1);
  sum.total = sum.total * rescale + sum_of(sums);
  sum.top = top;
}

template <typename T>
void softmax_gradient(float* logits, const LogSum& sum, std::int64_t target, std::int64_t columns,
                      float scale) {
  const float factor = scale / sum.total;
  Floats at_target{};
  if (target >= 0) at_target = exponential(splat(logits[target] - sum.top)) * factor - scale;
  // A narrower T only ever overwrites what was read: element i lies at or before float i.
  T* gradient = reinterpret_cast<T*>(logits);
  for_lanes(columns, [&](std::int64_t i, auto part) {
    store(exponential(load(logits + i, part) - sum.top) * factor, gradient + i, part);
  });
  if (target >= 0) store(at_target, gradient + target, 1);
}

// -------------------------------------------------------------------------------------------------
// plain

template <typename From, typename To>
void accumulate(const From* x, To* y, float scale, std::int64_t count) {
  for_lanes(count, [&](std::int64_t i, auto part) {
    store(load(y + i, part) + load(x + i, part) * scale, y + i, part);
  });
}

template <typename From, typename To>
void scaled(const From* x, To* y, float scale, std::int64_t count) {
  for_lanes(count,
            [&](std::int64_t i, auto part) { store(load(x + i, part) * scale, y + i, part); });
}

// Written as a plain loop: every element by itself, so the compiler may use any width.
template <bool kCopy>
void adamw_pass(float* __restrict p, float* __restrict m, float* __restrict v,
                const float* __restrict g, Bf16* __restrict copy, std::int64_t count,
                const AdamwStep& step) {
  const float beta1 = step.beta1;
  const float beta2 = step.beta2;
  const float rest1 = 1.0f - beta1;
  const float rest2 = 1.0f - beta2;
  const float rate = step.learning_rate * step.correction1;
  const float correction2 = step.correction2;
  const float epsilon = step.epsilon;
  const float scale = step.gradient_scale;
  const float shrink = step.learning_rate * step.decay;
  for (std::int64_t i = 0; i < count; ++i) {
    const float gradient = g[i] * scale;
    const float first = m[i] * beta1 + gradient * rest1;
    const float second = v[i] * beta2 + gradient * gradient * rest2;
    const float old = p[i];
    const float updated =
        (old - old * shrink) - rate * first / (__builtin_sqrtf(second * correction2) + epsilon);
    m[i] = first;
    v[i] = second;
    p[i] = updated;
    if (kCopy) {
      std::uint32_t bits;
      __builtin_memcpy(&bits, &updated, sizeof bits);
      const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
      const std::uint32_t quiet = (bits >> 16) | 0x40u;
      copy[i].bits =
          static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
    }
  }
}

void adamw(float* p, float* m, float* v, const float* g, Bf16* copy, std::int64_t count,
           const AdamwStep& step) {
  if (copy != nullptr)
    adamw_pass<true>(p, m, v, g, copy, count, step);
  else
    adamw_pass<false>(p, m, v, g, copy, count, step);
}

template <typename T>
constexpr RowKernels<T> row_kernels() {
  return {
      rms_norm<T>,        rms_norm_backward<T>,       rotate<T, T>,         rotate<float, T>,
      causal_softmax<T>,  causal_softmax_backward<T>, row_dots<T>,          swiglu<T>,
      swiglu_backward<T>, softmax_gradient<T>,        accumulate<float, T>, accumulate<T, float>,
      scaled<float, T>,   accumulate<T, T>,           scaled<T, T>};
}

constexpr VectorKernels kernels_named(const char* name) {
  return {name, row_kernels<float>(), row_kernels<Bf16>(), log_sum, adamw};
}

}  // namespace
}  // namespace muster::model
