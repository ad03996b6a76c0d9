// Every fused operation against plain ATen in float32: values and gradients, float32 tightly,
// bfloat16 within its rounding.
//
// Tolerances are relative to the largest element. float32: sums of up to a few thousand terms in
// another order, 1e-5. bfloat16 keeps 8 bits, so one rounding is 2^-9 (0.2 %) of a value; an
// operation rounds its result once (0.4 % allows for the largest element next to a power of two), a
// half block rounds five intermediate results, whose errors average over the sums that follow: 2 %.
#include "compare.h"

#include <cmath>

#include <rapidcheck/gtest.h>

namespace muster::model {
namespace {

constexpr double kExact = 1e-5;
constexpr double kRounded = 6e-3;
constexpr double kComposed = 2e-2;

Rope rope_of(std::int64_t positions, std::int64_t dim) {
  const auto exponent = torch::arange(0, dim, 2, torch::kFloat32) / static_cast<double>(dim);
  const auto angle =
      torch::outer(torch::arange(positions, torch::kFloat32), torch::pow(10000.0, -exponent));
  return {angle.cos(), angle.sin()};
}

torch::Tensor normal(std::vector<std::int64_t> shape, double scale = 1.0) {
  return torch::randn(shape) * scale;
}

Comparison single(torch::ScalarType type) {
  return {type, type == torch::kFloat32 ? kExact : kRounded};
}

Comparison composed(torch::ScalarType type) {
  return {type, type == torch::kFloat32 ? kExact : kComposed};
}

/// Attention's gradients are sums of p · (dp - delta), which cancel when few positions are seen.
Comparison cancelling(torch::ScalarType type) {
  Comparison comparison = composed(type);
  comparison.floor = 1.0;
  return comparison;
}

class Fused : public testing::TestWithParam<torch::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(Types, Fused, testing::Values(torch::kFloat32, torch::kBFloat16),
                         [](const auto& info) {
                           return info.param == torch::kFloat32 ? "float32" : "bfloat16";
                         });

void check_linear(torch::ScalarType type, std::int64_t rows, std::int64_t in, std::int64_t out) {
  expect_same([](const Kernels& k, const auto& x) { return k.linear(x[0], x[1]); },
              {normal({rows, in}), normal({out, in}, 0.1)}, single(type));
}

void check_norm(torch::ScalarType type, std::int64_t rows, std::int64_t columns) {
  // The reference's own rounding of x / rms is part of the definition: in bfloat16 it is a second
  // one.
  const double limit = type == torch::kFloat32 ? kExact : 2 * kRounded;
  expect_same([](const Kernels& k, const auto& x) { return k.rms_norm(x[0], x[1], 1e-5); },
              {normal({1, rows, columns}), normal({columns})}, {type, limit});
}

void check_swiglu(torch::ScalarType type, std::int64_t rows, std::int64_t columns) {
  expect_same([](const Kernels& k, const auto& x) { return k.swiglu(x[0], x[1]); },
              {normal({rows, columns}, 3.0), normal({rows, columns})}, single(type));
}

struct AttentionCase {
  std::int64_t batch, length, heads, kv_heads, dim;
};

void check_attention(torch::ScalarType type, const AttentionCase& c) {
  const Rope rope = rope_of(c.length + 3, c.dim);
  const AttentionShape shape = {c.heads, c.kv_heads, c.dim};
  expect_same(
      [&](const Kernels& k, const auto& x) { return k.attention(x[0], x[1], x[2], rope, shape); },
      {normal({c.batch, c.length, c.heads * c.dim}),
       normal({c.batch, c.length, c.kv_heads * c.dim}),
       normal({c.batch, c.length, c.kv_heads * c.dim})},
      cancelling(type));
}

void check_attention_half(torch::ScalarType type, const AttentionCase& c, std::int64_t hidden) {
  const Rope rope = rope_of(c.length, c.dim);
  const AttentionShape shape = {c.heads, c.kv_heads, c.dim};
  const double scale = 1.0 / std::sqrt(static_cast<double>(hidden));
  expect_same(
      [&](const Kernels& k, const auto& x) {
        return k.attention_half(x[0], x[1], 1e-5, x[2], x[3], x[4], x[5], rope, shape);
      },
      {normal({c.batch, c.length, hidden}), normal({hidden}),
       normal({c.heads * c.dim, hidden}, scale), normal({c.kv_heads * c.dim, hidden}, scale),
       normal({c.kv_heads * c.dim, hidden}, scale), normal({hidden, c.heads * c.dim}, scale)},
      cancelling(type));
}

void check_mlp_half(torch::ScalarType type, std::int64_t rows, std::int64_t hidden,
                    std::int64_t inner) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(hidden));
  expect_same([&](const Kernels& k,
                  const auto& x) { return k.mlp_half(x[0], x[1], 1e-5, x[2], x[3], x[4]); },
              {normal({1, rows, hidden}), normal({hidden}), normal({inner, hidden}, scale),
               normal({inner, hidden}, scale), normal({hidden, inner}, scale)},
              composed(type));
}

void check_head(std::int64_t rows, std::int64_t width, std::int64_t vocabulary,
                std::int64_t ignored, const Comparison& comparison) {
  auto targets = torch::randint(vocabulary, {rows}, torch::kInt64);
  for (std::int64_t i = 0; i < ignored; ++i) targets[(i * 7) % rows] = -100;
  expect_same([&](const Kernels& k, const auto& x) { return k.head_loss(x[0], x[1], targets); },
              {normal({rows, width}), normal({vocabulary, width}, 0.3)}, comparison);
}

void check_embedding(torch::ScalarType type, std::int64_t count, std::int64_t vocabulary,
                     std::int64_t width) {
  const auto ids = torch::randint(vocabulary, {1, count}, torch::kInt64);
  expect_same([&](const Kernels& k, const auto& x) { return k.embedding(ids, x[0]); },
              {normal({vocabulary, width})}, single(type));
}

TEST_P(Fused, Linear) {
  torch::manual_seed(1);
  check_linear(GetParam(), 64, 96, 160);
  check_linear(GetParam(), 1, 64, 1);
}

TEST_P(Fused, RmsNorm) {
  torch::manual_seed(2);
  check_norm(GetParam(), 200, 576);
  check_norm(GetParam(), 1, 8);
}

TEST_P(Fused, Swiglu) {
  torch::manual_seed(3);
  check_swiglu(GetParam(), 33, 97);
}

TEST_P(Fused, AttentionOfTheModelsShapes) {
  torch::manual_seed(4);
  for (const auto& c : {AttentionCase{2, 200, 9, 3, 64}, AttentionCase{1, 1, 4, 1, 80},
                        AttentionCase{1, 130, 8, 2, 128}, AttentionCase{1, 77, 3, 3, 64}}) {
    SCOPED_TRACE(testing::Message() << c.batch << ' ' << c.length << ' ' << c.heads << ' '
                                    << c.kv_heads << ' ' << c.dim);
    check_attention(GetParam(), c);
  }
}

TEST_P(Fused, AttentionHalf) {
  torch::manual_seed(5);
  check_attention_half(GetParam(), {2, 65, 9, 3, 64}, 576);
  check_attention_half(GetParam(), {1, 1, 2, 1, 8}, 24);
}

TEST_P(Fused, MlpHalf) {
  torch::manual_seed(6);
  check_mlp_half(GetParam(), 100, 576, 1536);
  check_mlp_half(GetParam(), 1, 8, 24);
}

TEST_P(Fused, HeadLoss) {
  torch::manual_seed(7);
  check_head(70, 64, 1000, 0, composed(GetParam()));
  check_head(40, 32, 517, 11, composed(GetParam()));
  check_head(1, 8, 3, 0, composed(GetParam()));
}

TEST_P(Fused, HeadLossInSeveralPieces) {
  // So wide a vocabulary that the logits of 50 rows are made in fifteen pieces. The reference sums
  // 600,011 terms one by one, and that is what limits the agreement in float32.
  torch::manual_seed(8);
  const double limit = GetParam() == torch::kFloat32 ? 1e-3 : kComposed;
  check_head(50, 4, 600011, 3, {GetParam(), limit});
}

TEST_P(Fused, HeadLossWithTargetsInEveryPiece) {
  // 2,100 rows take the fewest columns at a time: three pieces, the last one shorter. Targets are
  // the ends of every piece, and some rows do not count.
  torch::manual_seed(10);
  constexpr std::int64_t kRows = 2100, kVocabulary = 2999, kPiece = 1000;
  const auto ends =
      torch::tensor({0L, kPiece - 1, kPiece, 2 * kPiece - 1, 2 * kPiece, kVocabulary - 1, -100L});
  const auto targets = ends.repeat({kRows / 7});
  expect_same([&](const Kernels& k, const auto& x) { return k.head_loss(x[0], x[1], targets); },
              {normal({kRows, 16}), normal({kVocabulary, 16}, 0.3)}, composed(GetParam()));
}

TEST_P(Fused, Embedding) {
  torch::manual_seed(9);
  check_embedding(GetParam(), 100, 11, 48);
  check_embedding(GetParam(), 3, 1000, 17);
}

RC_GTEST_PROP(FusedProperty, AnyShape, ()) {
  torch::manual_seed(*rc::gen::inRange(0, 1000));
  const auto type = *rc::gen::element(torch::kFloat32, torch::kBFloat16);
  // In bfloat16 a single rounding decides a result of few rows: how near it is then says nothing of
  // us.
  const std::int64_t fewest = type == torch::kFloat32 ? 1 : 24;
  const auto kv_heads = *rc::gen::inRange<std::int64_t>(1, 4);
  const AttentionCase c = {*rc::gen::inRange<std::int64_t>(1, 4),
                           *rc::gen::inRange<std::int64_t>(fewest, 90),
                           kv_heads * *rc::gen::inRange<std::int64_t>(1, 5), kv_heads,
                           2 * *rc::gen::inRange<std::int64_t>(4, 40)};
  check_attention(type, c);
  check_attention_half(type, c, *rc::gen::inRange<std::int64_t>(8, 100));
  const auto rows = *rc::gen::inRange<std::int64_t>(fewest, 150);
  const auto columns = *rc::gen::inRange<std::int64_t>(4, 200);
  check_linear(type, rows, columns, *rc::gen::inRange<std::int64_t>(1, 120));
  check_norm(type, rows, columns);
  check_swiglu(type, rows, columns);
  check_mlp_half(type, rows, columns, *rc::gen::inRange<std::int64_t>(1, 300));
  check_head(rows, columns, *rc::gen::inRange<std::int64_t>(2, 700), rows / 3, composed(type));
  check_embedding(type, rows, *rc::gen::inRange<std::int64_t>(1, 50), columns);
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace muster::model
