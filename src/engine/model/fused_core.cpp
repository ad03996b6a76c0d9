#include "engine/model/fused_core.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <new>

#include "engine/model/gradient_slot.h"

#include <torch/torch.h>

namespace muster::model::fused {
namespace {

struct FreeDeleter {
  void operator()(void* block) const { std::free(block); }
};

struct Block {
  std::unique_ptr<void, FreeDeleter> data;
  std::size_t bytes = 0;
};

}  // namespace

void* scratch(Scratch purpose, std::size_t bytes) {
  thread_local std::array<Block, static_cast<std::size_t>(Scratch::kCount)> blocks;
  Block& block = blocks[static_cast<std::size_t>(purpose)];
  if (bytes > block.bytes) {
    constexpr std::size_t kAlignment = 64;
    block.bytes = 0;
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    block.data.reset();
    block.data.reset(std::aligned_alloc(kAlignment, rounded));
    if (!block.data) throw std::bad_alloc();
    block.bytes = rounded;
  }
  return block.data.get();
}

Matrix scratch_matrix(Scratch purpose, torch::ScalarType type, std::int64_t rows,
                      std::int64_t columns) {
  const auto bytes = static_cast<std::size_t>(rows * columns) * c10::elementSize(type);
  return dense(scratch(purpose, bytes), type, rows, columns);
}

void norm_forward(const torch::Tensor& x, const torch::Tensor& weight, double eps, const Matrix& y,
                  const torch::Tensor& inverse) {
  const auto columns = x.size(-1);
  const auto rows = x.numel() / columns;
  with_type(x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    at::parallel_for(0, rows, 64, [&](std::int64_t begin, std::int64_t end) {
      vector_kernels().rows<T>().rms_norm(elements<T>(x) + begin * columns, elements<T>(weight),
                                          static_cast<T*>(y.data) + begin * columns,
                                          elements<float>(inverse) + begin, end - begin, columns,
                                          static_cast<float>(eps));
    });
  });
}

torch::Tensor norm_backward(const float* dy, const torch::Tensor& x, const torch::Tensor& weight,
                            const torch::Tensor& inverse, const torch::Tensor& residual,
                            const torch::Tensor& dx) {
  const auto columns = x.size(-1);
  const auto rows = x.numel() / columns;
  constexpr std::int64_t kBlock = 64;
  const auto blocks = (rows + kBlock - 1) / kBlock;
  float* partials = scratch_of<float>(Scratch::kPartials, blocks * columns);
  std::fill(partials, partials + blocks * columns, 0.0f);
  torch::Tensor dw = torch::empty_like(weight);
  with_type(x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto block = begin; block < end; ++block) {
        const auto first = block * kBlock;
        const auto offset = first * columns;
        vector_kernels().rows<T>().rms_norm_backward(
            dy + offset, elements<T>(x) + offset, elements<T>(weight),
            elements<float>(inverse) + first,
            residual.defined() ? elements<T>(residual) + offset : nullptr, elements<T>(dx) + offset,
            partials + block * columns, std::min(kBlock, rows - first), columns);
      }
    });
    for (std::int64_t block = 1; block < blocks; ++block)
      vector_kernels().wide.accumulate(partials + block * columns, partials, 1.0f, columns);
    vector_kernels().rows<T>().narrow(partials, elements<T>(dw), 1.0f, columns);
  });
  return dw;
}

torch::Tensor weight_gradient(const torch::Tensor& weight, const Matrix& dy, const Matrix& x) {
  if (!weight.requires_grad()) return {};
  const GradientSlot slot = take_gradient_slot(weight);
  if (slot.view.defined()) {
    multiply(dy.transposed(), x, as_matrix(slot.view),
             slot.accumulate ? Into::kAdd : Into::kOverwrite);
    return {};
  }
  torch::Tensor gradient = torch::empty_like(weight, weight.options().requires_grad(false));
  multiply(dy.transposed(), x, as_matrix(gradient));
  return gradient;
}

}  // namespace muster::model::fused
