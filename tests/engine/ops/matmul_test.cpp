// Matrix products in every layout against float64.
#include <stdexcept>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <torch/torch.h>

#include "compare.h"
#include "engine/model/matmul.h"

namespace muster::model {
namespace {

/// A matrix in memory of its own, by rows or by columns, with room between its lines.
torch::Tensor stored(std::int64_t rows, std::int64_t columns, bool by_columns, std::int64_t gap,
                     torch::ScalarType type) {
  const auto lines = by_columns ? columns : rows;
  const auto length = by_columns ? rows : columns;
  const auto room = torch::randn({lines, length + gap}).to(type);
  const auto view = room.slice(1, 0, length);
  return by_columns ? view.t() : view;
}

Matrix view_of(const torch::Tensor& t) {
  return {t.data_ptr(), t.scalar_type(), t.size(0), t.size(1), t.stride(0), t.stride(1)};
}

RC_GTEST_PROP(MatmulProperty, EveryLayoutAndType, ()) {
  torch::manual_seed(*rc::gen::inRange(0, 100000));
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(1, 70); };
  const auto gap = [] { return *rc::gen::element<std::int64_t>(0, 0, 3, 16); };
  const auto flag = [] { return *rc::gen::arbitrary<bool>(); };
  const auto rows = size(), inner = size(), columns = size();
  const auto type = *rc::gen::element(torch::kFloat32, torch::kBFloat16);
  const auto result_type = flag() ? torch::kFloat32 : type;
  const auto a = stored(rows, inner, flag(), gap(), type);
  const auto b = stored(inner, columns, flag(), gap(), type);
  const auto c = stored(rows, columns, flag(), gap(), result_type);
  const auto into = flag() ? Into::kAdd : Into::kOverwrite;
  const bool widened = type == torch::kBFloat16 && flag();
  auto expected = torch::matmul(a.to(torch::kFloat64), b.to(torch::kFloat64));
  if (into == Into::kAdd) expected = expected + c.to(torch::kFloat64);
  if (widened)
    detail::multiply_widened(view_of(a), view_of(b), view_of(c), into);
  else
    multiply(view_of(a), view_of(b), view_of(c), into);
  RC_ASSERT(distance(c, expected) <= (result_type == torch::kFloat32 ? 1e-5 : 5e-3));
}

TEST(Matmul, LeavesTheRoomBetweenRowsAlone) {
  const auto room = torch::full({8, 20}, 5.0);
  const auto a = torch::ones({8, 4}), b = torch::ones({4, 16});
  multiply(view_of(a), view_of(b), view_of(room.slice(1, 0, 16)));
  EXPECT_TRUE(torch::equal(room.slice(1, 16), torch::full({8, 4}, 5.0)));
  EXPECT_TRUE(torch::equal(room.slice(1, 0, 16), torch::full({8, 16}, 4.0)));
}

TEST(Matmul, NothingTimesSomething) {
  const auto a = torch::ones({0, 4}), b = torch::ones({4, 3}), c = torch::ones({0, 3});
  EXPECT_NO_THROW(multiply(view_of(a), view_of(b), view_of(c)));
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  const auto a = torch::ones({2, 3}), b = torch::ones({4, 5}), c = torch::ones({2, 5});
  EXPECT_THROW(multiply(view_of(a), view_of(b), view_of(c)), std::invalid_argument);
  const auto half = torch::ones({3, 5}, torch::kBFloat16);
  EXPECT_THROW(multiply(view_of(a), view_of(half), view_of(c)), std::invalid_argument);
  const auto integers = torch::ones({3, 5}, torch::kInt32);
  EXPECT_THROW(multiply(view_of(a), view_of(integers), view_of(c)), std::invalid_argument);
}

TEST(Matmul, TensorsOfAnyRankAreMatrices) {
  const auto t = torch::randn({2, 3, 4, 8});
  const auto m = as_matrix(t);
  EXPECT_EQ(m.rows, 24);
  EXPECT_EQ(m.columns, 8);
  EXPECT_EQ(m.row_stride, 8);
  EXPECT_EQ(as_matrix(torch::randn({1, 5, 6}).slice(2, 0, 4)).row_stride, 6);
  EXPECT_THROW(as_matrix(t.transpose(0, 1)), std::invalid_argument);
  EXPECT_THROW(as_matrix(t.transpose(2, 3)), std::invalid_argument);
}

}  // namespace
}  // namespace muster::model
