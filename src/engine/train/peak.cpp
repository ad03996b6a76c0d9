#include "engine/train/peak.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/model/matmul.h"
#include "engine/model/ops_vector.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

namespace muster::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The shortest of the runs that fit into `seconds`, at least two, after one to warm up.
template <typename Body>
double best_seconds(double seconds, const Body& body) {
  body();
  const auto start = Clock::now();
  double best = 0;
  for (int run = 0; run < 2 || seconds_since(start) < seconds; ++run) {
    const auto begin = Clock::now();
    body();
    const double took = seconds_since(begin);
    best = run == 0 ? took : std::min(best, took);
  }
  return best;
}

// A copy reads and writes every byte. 128 MiB: no cache of a core holds it.
double measure_memory(double seconds) {
  constexpr std::int64_t kCount = 16 << 20;
  const auto from = torch::ones({kCount});
  const auto to = torch::zeros({kCount});
  const auto took = best_seconds(seconds, [&] {
    at::parallel_for(0, kCount, 1 << 18, [&](std::int64_t begin, std::int64_t end) {
      model::vector_kernels().wide.narrow(from.data_ptr<float>() + begin,
                                          to.data_ptr<float>() + begin, 2.0f, end - begin);
    });
  });
  return 2.0 * sizeof(float) * kCount / took;
}

Peak measure_cuda(torch::ScalarType dtype, torch::Device device) {
  constexpr std::int64_t kSize = 4096;
  constexpr int kRepeats = 20;
  const auto a = torch::randn({kSize, kSize}, device).to(dtype);
  const auto b = torch::randn({kSize, kSize}, device).to(dtype);
  const auto wait = [&](const torch::Tensor& y) { y.select(0, 0).sum().item(); };
  const auto product = best_seconds(0.3, [&] {
    torch::Tensor y;
    for (int i = 0; i < kRepeats; ++i) y = torch::matmul(a, b);
    wait(y);
  });
  auto c = torch::empty({64 << 20}, a.options().dtype(torch::kFloat32));
  const auto d = torch::ones_like(c);
  const auto copy = best_seconds(0.2, [&] {
    for (int i = 0; i < kRepeats; ++i) c.copy_(d);
    wait(c.unsqueeze(1));
  });
  return {kRepeats * 2.0 * kSize * kSize * kSize / product,
          kRepeats * 2.0 * static_cast<double>(c.nbytes()) / copy};
}

}  // namespace

double measure_product(torch::ScalarType dtype, std::int64_t rows, std::int64_t inner,
                       std::int64_t columns, double seconds) {
  const auto x = torch::randn({rows, inner}).to(dtype);
  const auto weight = torch::randn({columns, inner}).to(dtype);
  const auto y = torch::empty({rows, columns}, x.options());
  const auto took = best_seconds(seconds, [&] {
    model::multiply(model::as_matrix(x), model::as_matrix(weight).transposed(),
                    model::as_matrix(y));
  });
  return 2.0 * static_cast<double>(rows) * static_cast<double>(inner) *
         static_cast<double>(columns) / took;
}

Peak measure_peak(torch::ScalarType dtype, torch::Device device) {
  const torch::NoGradGuard no_grad;
  if (!device.is_cpu()) return measure_cuda(dtype, device);
  // Small enough for a core's cache, up to a wide layer: which is fastest depends on the processor.
  struct Shape {
    std::int64_t rows, inner, columns;
  };
  constexpr std::array<Shape, 3> kShapes = {
      {{512, 512, 512}, {1024, 576, 1536}, {1024, 1024, 1024}}};
  Peak peak;
  for (const auto& shape : kShapes)
    peak.flops_per_second =
        std::max(peak.flops_per_second,
                 measure_product(dtype, shape.rows, shape.inner, shape.columns, 0.15));
  peak.bytes_per_second = measure_memory(0.15);
  return peak;
}

}  // namespace muster::train
