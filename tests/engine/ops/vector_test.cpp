// The tables of loops for every instruction set give the same bits; conversions are IEEE's.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <torch/torch.h>

#include "engine/model/ops_vector.h"

namespace muster::model {
namespace {

using Bytes = std::vector<char>;

template <typename T>
void keep(Bytes& bytes, const std::vector<T>& values) {
  const auto* data = reinterpret_cast<const char*>(values.data());
  bytes.insert(bytes.end(), data, data + values.size() * sizeof(T));
}

std::vector<float> numbers(std::int64_t count) {
  const auto t = torch::randn({count}) * 3;
  return {t.data_ptr<float>(), t.data_ptr<float>() + count};
}

template <typename T>
std::vector<T> as(const std::vector<float>& values);
template <>
std::vector<float> as<float>(const std::vector<float>& values) {
  return values;
}
template <>
std::vector<Bf16> as<Bf16>(const std::vector<float>& values) {
  std::vector<Bf16> result;
  for (const float x : values) result.push_back({c10::BFloat16(x).x});
  return result;
}

/// What has no exponential in it.
template <typename T>
Bytes run_exact(const VectorKernels& table, std::int64_t rows, std::int64_t columns,
                unsigned seed) {
  torch::manual_seed(seed);
  const RowKernels<T>& loops = table.rows<T>();
  const auto count = rows * columns;
  const auto size = static_cast<std::size_t>(count);
  const auto x = as<T>(numbers(count)), z = as<T>(numbers(count)), w = as<T>(numbers(columns));
  const auto wide = numbers(count), other = numbers(count);
  Bytes out;
  std::vector<T> y(size);
  std::vector<float> per_row(static_cast<std::size_t>(rows));
  std::vector<float> sums(static_cast<std::size_t>(columns));

  loops.rms_norm(x.data(), w.data(), y.data(), per_row.data(), rows, columns, 1e-5f);
  keep(out, y), keep(out, per_row);
  loops.rms_norm_backward(wide.data(), x.data(), w.data(), per_row.data(), z.data(), y.data(),
                          sums.data(), rows, columns);
  keep(out, y), keep(out, sums);
  if (columns % 2 == 0) {
    loops.rotate(x.data(), columns, y.data(), columns, wide.data(), other.data(), rows, 1,
                 columns / 2, 1.0f);
    keep(out, y);
    loops.rotate_wide(wide.data(), columns, y.data(), columns, wide.data(), other.data(), rows, 1,
                      columns / 2, -1.0f);
    keep(out, y);
  }
  loops.row_dots(x.data(), z.data(), per_row.data(), rows, columns);
  keep(out, per_row);
  auto sum = wide;
  loops.accumulate(x.data(), sum.data(), 0.3f, count);
  keep(out, sum);
  loops.accumulate_from_wide(wide.data(), y.data(), 0.3f, count);
  keep(out, y);
  loops.narrow(other.data(), y.data(), 0.7f, count);
  keep(out, y);
  loops.add(x.data(), y.data(), 0.3f, count);
  keep(out, y);
  loops.scale(z.data(), y.data(), 0.7f, count);
  keep(out, y);
  return out;
}

void append(std::vector<float>& out, const std::vector<float>& values) {
  out.insert(out.end(), values.begin(), values.end());
}
void append(std::vector<float>& out, const std::vector<Bf16>& values) {
  for (const auto x : values)
    out.push_back(static_cast<float>(c10::BFloat16(x.bits, c10::BFloat16::from_bits())));
}

/// The cross-entropy of one row of logits, taken in two pieces that meet at `cut`; each piece of
/// the row becomes its gradient times `scale`.
template <typename T>
float cross_entropy(const VectorKernels& table, std::vector<float>& logits, std::int64_t target,
                    std::int64_t cut, float scale) {
  const auto columns = static_cast<std::int64_t>(logits.size());
  const float goal = logits[static_cast<std::size_t>(target)];
  LogSum sum;
  table.log_sum(logits.data(), cut, sum);
  table.log_sum(logits.data() + cut, columns - cut, sum);
  const auto& gradient = table.rows<T>().softmax_gradient;
  gradient(logits.data(), sum, target < cut ? target : -1, cut, scale);
  gradient(logits.data() + cut, sum, target < cut ? -1 : target - cut, columns - cut, scale);
  return sum.top - goal + std::log(sum.total);
}

/// What has.
template <typename T>
std::vector<float> run_exponentials(const VectorKernels& table, std::int64_t rows,
                                    std::int64_t columns, unsigned seed) {
  torch::manual_seed(seed);
  const RowKernels<T>& loops = table.rows<T>();
  const auto count = rows * columns;
  const auto size = static_cast<std::size_t>(count);
  const auto x = as<T>(numbers(count)), z = as<T>(numbers(count));
  const auto wide = numbers(count), other = numbers(count), deltas = numbers(rows);
  std::vector<float> out, per_row(static_cast<std::size_t>(rows));
  std::vector<T> y(size), p(size), q(size);

  const auto group = 1 + rows / columns;
  auto scores = wide;
  loops.causal_softmax(scores.data(), y.data(), per_row.data(), rows, columns, 0, group, 0.5f);
  append(out, y), append(out, per_row);
  loops.causal_softmax_backward(wide.data(), other.data(), per_row.data(), deltas.data(), p.data(),
                                q.data(), rows, columns, 0, group, 0.5f);
  append(out, p), append(out, q);
  loops.swiglu(x.data(), z.data(), y.data(), count);
  append(out, y);
  loops.swiglu_backward(x.data(), z.data(), x.data(), y.data(), p.data(), q.data(), count);
  append(out, y), append(out, p), append(out, q);
  auto logits = wide;
  logits.resize(static_cast<std::size_t>(columns));
  const auto cut = columns / 3;
  out.push_back(cross_entropy<T>(table, logits, columns / 2, cut, 0.25f));
  const auto* gradient = reinterpret_cast<const T*>(logits.data());
  append(out, std::vector<T>(gradient, gradient + cut));
  gradient = reinterpret_cast<const T*>(logits.data() + cut);
  append(out, std::vector<T>(gradient, gradient + columns - cut));
  return out;
}

/// Within a few roundings of the type.
bool close(const std::vector<float>& a, const std::vector<float>& b, float step) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= step * std::fmax(1.0f, std::fabs(b[i])))) return false;
  return true;
}

Bytes run_adamw(const VectorKernels& table, std::int64_t count, unsigned seed) {
  torch::manual_seed(seed);
  auto p = numbers(count), m = numbers(count), v = numbers(count), g = numbers(count);
  for (auto& x : v) x = std::fabs(x);
  std::vector<Bf16> copy(static_cast<std::size_t>(count));
  table.adamw(p.data(), m.data(), v.data(), g.data(), copy.data(), count,
              {.learning_rate = 1e-2f, .decay = 0.1f, .correction1 = 3.0f, .correction2 = 2.0f});
  Bytes out;
  keep(out, p), keep(out, m), keep(out, v), keep(out, copy);
  return out;
}

RC_GTEST_PROP(VectorKernelsProperty, InstructionSetsAgree, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto columns = *rc::gen::inRange<std::int64_t>(1, 150);
  const auto seed = *rc::gen::arbitrary<unsigned>();
  const auto tables = all_vector_kernels();
  const VectorKernels& generic = *tables.tables[0];
  for (const auto* table : tables) {
    RC_ASSERT(run_exact<float>(*table, rows, columns, seed) ==
              run_exact<float>(generic, rows, columns, seed));
    RC_ASSERT(run_exact<Bf16>(*table, rows, columns, seed) ==
              run_exact<Bf16>(generic, rows, columns, seed));
    RC_ASSERT(run_adamw(*table, columns, seed) == run_adamw(generic, columns, seed));
    RC_ASSERT(close(run_exponentials<float>(*table, rows, columns, seed),
                    run_exponentials<float>(generic, rows, columns, seed), 0x1p-20f));
    RC_ASSERT(close(run_exponentials<Bf16>(*table, rows, columns, seed),
                    run_exponentials<Bf16>(generic, rows, columns, seed), 0x1p-7f));
  }
}

TEST(VectorKernels, ExponentialsAreAccurate) {
  // swiglu(x, 1) = x · sigmoid(x), over all that matters.
  std::vector<float> x, one, y;
  for (float v = -90; v < 90; v += 0.0371f) x.push_back(v);
  one.assign(x.size(), 1.0f);
  y.resize(x.size());
  for (const auto* table : all_vector_kernels()) {
    table->wide.swiglu(x.data(), one.data(), y.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = x[i] / (1.0 + std::exp(-static_cast<double>(x[i])));
      EXPECT_NEAR(y[i], expected, 4e-7 * std::fabs(expected) + 1e-35) << table->name << ' ' << x[i];
    }
  }
}

TEST(VectorKernels, NarrowingRoundsAsTorchDoes) {
  auto values = numbers(1000);
  for (const float x : {0.0f, -0.0f, 1e-40f, 3.0e38f, -3.4e38f, 1.0f + 0x1p-8f, 1.0f + 0x3p-8f,
                        std::numeric_limits<float>::infinity()})
    values.push_back(x);
  std::vector<Bf16> y(values.size());
  vector_kernels().half.narrow(values.data(), y.data(), 1.0f,
                               static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(y[i].bits, c10::BFloat16(values[i]).x) << values[i];
}

TEST(VectorKernels, NotANumberStaysOne) {
  const std::vector<float> values(20, std::numeric_limits<float>::quiet_NaN());
  std::vector<Bf16> y(values.size());
  vector_kernels().half.narrow(values.data(), y.data(), 1.0f, 20);
  for (const auto x : y)
    EXPECT_TRUE(std::isnan(static_cast<float>(c10::BFloat16(x.bits, c10::BFloat16::from_bits()))));

  for (const std::int64_t cut : {0, 3, 4, 20, 40}) {
    auto logits = numbers(40);
    logits[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(cross_entropy<float>(vector_kernels(), logits, 1, cut, 1.0f))) << cut;
  }
}

TEST(VectorKernels, SaturatedLogitsKeepTheLossFinite) {
  for (const std::int64_t cut : {0, 1, 2, 3}) {
    std::vector<float> logits = {1e4f, -1e4f, 0.0f};
    EXPECT_NEAR(cross_entropy<float>(vector_kernels(), logits, 1, cut, 1.0f), 2e4f, 1.0f) << cut;
    EXPECT_NEAR(logits[0], 1.0f, 1e-6f) << cut;
    EXPECT_NEAR(logits[1], -1.0f, 1e-6f) << cut;
  }
}

TEST(VectorKernels, CrossEntropyDoesNotDependOnWhereARowIsCut) {
  // Rising logits: every piece has a new largest one, by which the sum so far shrinks.
  for (const auto* table : all_vector_kernels()) {
    for (const std::int64_t cut : {0, 1, 16, 37, 99, 100}) {
      std::vector<float> logits(100);
      double total = 0;
      for (std::size_t i = 0; i < logits.size(); ++i) {
        logits[i] = 0.3f * static_cast<float>(i) - 200.0f;
        total += std::exp(0.3 * static_cast<double>(i));
      }
      const auto before = logits;
      EXPECT_NEAR(cross_entropy<float>(*table, logits, 37, cut, 2.0f), std::log(total) - 0.3 * 37,
                  2e-5)
          << table->name << ' ' << cut;
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const double p = std::exp(static_cast<double>(before[i]) + 200.0) / total;
        EXPECT_NEAR(logits[i], 2 * (p - (i == 37 ? 1 : 0)), 2e-5) << table->name << ' ' << cut;
      }
    }
  }
}

}  // namespace
}  // namespace muster::model
