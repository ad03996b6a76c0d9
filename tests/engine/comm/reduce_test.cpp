#include "engine/comm/reduce.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <torch/torch.h>

#include <limits>

namespace muster::comm {
namespace {

// The same by ATen, one source after the other, in float32 for bfloat16.
torch::Tensor reference(const std::vector<torch::Tensor>& sources, torch::Tensor out,
                        const Reduction& how) {
  const auto wide = [](const torch::Tensor& tensor) {
    return tensor.scalar_type() == torch::kBFloat16 ? tensor.to(torch::kFloat32) : tensor;
  };
  torch::Tensor result = wide(sources[0]).clone();
  for (std::size_t i = 1; i < sources.size(); ++i) {
    const torch::Tensor next = wide(sources[i]);
    result = how.op == Op::kSum   ? result + next
             : how.op == Op::kMax ? torch::max(result, next)
                                  : torch::min(result, next);
  }
  if (how.scale != 1.0) result = result * how.scale;
  if (how.accumulate) result = wide(out) + result;
  return result.to(out.scalar_type());
}

torch::Tensor values(std::int64_t count, torch::ScalarType type) {
  if (torch::isFloatingType(type)) return torch::randn({count}, torch::kFloat64).to(type);
  return torch::randint(0, 200, {count}, torch::kInt64).to(type);
}

void compare(const std::vector<torch::Tensor>& sources, const torch::Tensor& before,
             const Reduction& how) {
  torch::Tensor out = before.clone();
  std::vector<const void*> pointers;
  for (const auto& source : sources) pointers.push_back(source.data_ptr());
  reduce(out.data_ptr(), out.scalar_type(), pointers, sources[0].scalar_type(), out.numel(), how);
  const torch::Tensor expected = reference(sources, before, how);
  // A scaled sum may be fused with the addition that follows it.
  const bool exact = how.scale == 1.0 || !how.accumulate;
  const bool same =
      exact ? torch::equal(out, expected)
            : torch::allclose(out.to(torch::kFloat64), expected.to(torch::kFloat64), 1e-2, 1e-5);
  RC_ASSERT(same);
}

RC_GTEST_PROP(Reduce, EqualsAtenInRankOrder, ()) {
  static const std::vector<std::pair<torch::ScalarType, torch::ScalarType>> kTypes = {
      {torch::kFloat32, torch::kFloat32},  {torch::kBFloat16, torch::kBFloat16},
      {torch::kBFloat16, torch::kFloat32}, {torch::kFloat64, torch::kFloat64},
      {torch::kInt64, torch::kInt64},      {torch::kInt32, torch::kInt32},
      {torch::kUInt8, torch::kUInt8}};
  const auto [in_type, out_type] = *rc::gen::elementOf(kTypes);
  const auto count =
      *rc::gen::elementOf(std::vector<std::int64_t>{1, 3, 17, 2047, 2048, 2049, 5000});
  const auto number = *rc::gen::inRange(1, 6);
  Reduction how(*rc::gen::element(Op::kSum, Op::kMax, Op::kMin));
  if (torch::isFloatingType(in_type)) how.scale = *rc::gen::element(1.0, 0.25, 1.0 / 3);
  how.accumulate = *rc::gen::arbitrary<bool>();
  torch::manual_seed(*rc::gen::inRange(0, 1 << 20));
  std::vector<torch::Tensor> sources;
  for (int i = 0; i < number; ++i) sources.push_back(values(count, in_type));
  compare(sources, values(count, out_type), how);
}

TEST(Reduce, RoundsBfloat16ToNearestEvenAndKeepsNan) {
  const torch::Tensor floats = torch::tensor({1.0F, 1.00390625F, 1.01171875F, -3.14159F, 3.4e38F,
                                              std::numeric_limits<float>::infinity(),
                                              std::numeric_limits<float>::quiet_NaN()});
  const torch::Tensor narrow = floats.to(torch::kBFloat16);
  torch::Tensor zero = torch::zeros_like(narrow);
  torch::Tensor out = torch::empty_like(narrow);
  reduce(out.data_ptr(), torch::kBFloat16, {narrow.data_ptr(), zero.data_ptr()}, torch::kBFloat16,
         out.numel(), {});
  EXPECT_TRUE(torch::equal(out.slice(0, 0, 6), narrow.slice(0, 0, 6)));
  EXPECT_TRUE(out[6].isnan().item<bool>());
  // 1 + 2^-8 lies between two bfloat16 values: it goes to the even one.
  const torch::Tensor one = torch::ones({1}, torch::kBFloat16);
  const torch::Tensor half_step = torch::full({1}, 0.00390625, torch::kBFloat16);
  torch::Tensor sum = torch::empty({1}, torch::kBFloat16);
  reduce(sum.data_ptr(), torch::kBFloat16, {one.data_ptr(), half_step.data_ptr()}, torch::kBFloat16,
         1, {});
  EXPECT_EQ(sum.item<float>(), 1.0F);
}

TEST(Reduce, ANanOnAnyRankStaysInMaximaAndMinima) {
  const torch::Tensor nan = torch::full({1}, std::numeric_limits<float>::quiet_NaN());
  const torch::Tensor one = torch::ones({1});
  torch::Tensor out = torch::empty({1});
  for (const Op op : {Op::kMax, Op::kMin}) {
    reduce(out.data_ptr(), torch::kFloat32, {nan.data_ptr(), one.data_ptr()}, torch::kFloat32, 1,
           op);
    EXPECT_TRUE(std::isnan(out.item<float>()));
    reduce(out.data_ptr(), torch::kFloat32, {one.data_ptr(), nan.data_ptr()}, torch::kFloat32, 1,
           op);
    EXPECT_TRUE(std::isnan(out.item<float>()));
  }
}

TEST(Reduce, IntegersWrap) {
  const torch::Tensor most =
      torch::full({1}, std::numeric_limits<std::int64_t>::max(), torch::kInt64);
  torch::Tensor out = torch::empty({1}, torch::kInt64);
  reduce(out.data_ptr(), torch::kInt64, {most.data_ptr(), most.data_ptr()}, torch::kInt64, 1, {});
  EXPECT_EQ(out.item<std::int64_t>(), -2);
}

}  // namespace
}  // namespace muster::comm
