// Where a training step's time goes, one operation at a time: `ops_bench [seconds per operation]`.
// Shapes of SmolLM2-135M, two sequences of 512, bfloat16. Not a test: it decides nothing.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include <torch/torch.h>

#include "engine/model/matmul.h"
#include "engine/model/ops.h"
#include "engine/model/ops_vector.h"

namespace {

using torch::Tensor;
using namespace muster::model;

/// Seconds that this thread ran: what neighbours take does not count.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double limit = 0.5;

/// The best time of an operation and its rate; gflop may be 0 where bytes count.
void report(const char* name, double gflop, double gigabytes, const std::function<void()>& body) {
  body();
  double best = 1e9;
  const double start = now();
  for (int i = 0; i < 3 || now() - start < limit; ++i) {
    const double begin = now();
    body();
    best = std::min(best, now() - begin);
  }
  std::printf("%-34s %9.3f ms  %7.1f GFLOP/s  %6.1f GB/s\n", name, best * 1e3, gflop / best,
              gigabytes / best);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) limit = std::atof(argv[1]);
  torch::set_num_threads(1);
  std::printf("vector loops: %s\n", vector_kernels().name);
  constexpr std::int64_t kBatch = 2, kLength = 512, kHidden = 576, kInner = 1536, kHeads = 9,
                         kKvHeads = 3, kDim = 64, kVocabulary = 49152;
  constexpr double kTokens = kBatch * kLength;
  const auto options = torch::TensorOptions().dtype(torch::kBFloat16);
  const auto weight = [&](std::int64_t out, std::int64_t in) {
    return (torch::randn({out, in}) * 0.04).to(torch::kBFloat16).set_requires_grad(true);
  };
  const Tensor x = torch::randn({kBatch, kLength, kHidden}, options).set_requires_grad(true);
  const Tensor dy = torch::randn({kBatch, kLength, kHidden}, options);
  const Tensor norm = torch::ones({kHidden}, options).set_requires_grad(true);
  const Tensor q = weight(kHeads * kDim, kHidden), k = weight(kKvHeads * kDim, kHidden),
               v = weight(kKvHeads * kDim, kHidden), o = weight(kHidden, kHeads * kDim);
  const Tensor gate = weight(kInner, kHidden), up = weight(kInner, kHidden),
               down = weight(kHidden, kInner);
  const Tensor head = weight(kVocabulary, kHidden);
  const Tensor ids = torch::randint(kVocabulary, {kBatch, kLength}, torch::kInt64);
  const Tensor targets = ids.reshape({-1});
  const Tensor angle = torch::randn({kLength, kDim / 2});
  const Rope rope = {angle.cos(), angle.sin()};
  const AttentionShape shape = {kHeads, kKvHeads, kDim};
  const Kernels& kernels = fused_kernels();

  const double projections = 2e-9 * kTokens * kHidden * kDim * (2 * kHeads + 2 * kKvHeads);
  const double scores = 2e-9 * kBatch * kHeads * kDim * kLength * kLength;  // half of 2 products
  const double mlp = 2e-9 * kTokens * kHidden * kInner * 3;
  const double logits = 2e-9 * kTokens * kHidden * kVocabulary;

  const auto attend = [&] {
    return kernels.attention_half(x, norm, 1e-5, q, k, v, o, rope, shape);
  };
  const auto feed = [&] { return kernels.mlp_half(x, norm, 1e-5, gate, up, down); };
  report("attention half, forward", projections + scores, 0, [&] { attend(); });
  report("attention half, both", 3 * projections + 3.5 * scores, 0, [&] { attend().backward(dy); });
  report("mlp half, forward", mlp, 0, [&] { feed(); });
  report("mlp half, both", 3 * mlp, 0, [&] { feed().backward(dy); });

  const Tensor raw_q =
      torch::randn({kBatch, kLength, kHeads * kDim}, options).set_requires_grad(true);
  const Tensor raw_k =
      torch::randn({kBatch, kLength, kKvHeads * kDim}, options).set_requires_grad(true);
  const Tensor raw_v =
      torch::randn({kBatch, kLength, kKvHeads * kDim}, options).set_requires_grad(true);
  const auto alone = [&] { return kernels.attention(raw_q, raw_k, raw_v, rope, shape); };
  report("attention alone, forward", scores, 0, [&] { alone(); });
  report("attention alone, both", 3.5 * scores, 0, [&] { alone().backward(dy); });

  const double row_bytes = 1e-9 * 2 * kTokens * kHidden;
  report("rms_norm, both", 0, 7 * row_bytes, [&] { kernels.rms_norm(x, norm, 1e-5).backward(dy); });
  const Tensor a = torch::randn({kBatch, kLength, kInner}, options).set_requires_grad(true);
  const Tensor da = torch::randn({kBatch, kLength, kInner}, options);
  report("swiglu, both", 0, 1e-9 * 2 * kTokens * kInner * 8,
         [&] { kernels.swiglu(a, a).backward(da); });
  report("head loss, both", 3 * logits, 0, [&] {
    kernels.head_loss(x.view({-1, kHidden}), head, targets).backward();
  });
  report("embedding, both", 0, 1e-9 * 2 * kVocabulary * kHidden,
         [&] { kernels.embedding(ids, head).backward(dy); });

  const std::int64_t count = 16 << 20;
  const Tensor p = torch::zeros({count}), m = torch::zeros({count}), v2 = torch::zeros({count}),
               g = torch::ones({count}), copy = torch::zeros({count}, options);
  report("adamw, 16 Mi parameters", 0, 1e-9 * 30 * static_cast<double>(count), [&] {
    vector_kernels().adamw(p.data_ptr<float>(), m.data_ptr<float>(), v2.data_ptr<float>(),
                           g.data_ptr<float>(), static_cast<Bf16*>(copy.data_ptr()), count,
                           {.learning_rate = 1e-3f});
  });
  return 0;
}
