// Trains a module of one's own, fully sharded over the ranks of a job. Start it as
//
//   sharded_mlp                      one process: needs neither MPI nor a rendezvous
//   mpirun -n 4 sharded_mlp          MPI
//   torchrun … / RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT in the environment: Gloo
//
// The loss is the same for any number of ranks.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "engine/comm/communicator.h"
#include "engine/parallel/sharded.h"

namespace {

using namespace muster;  // NOLINT: an example

// A residual layer: what is gathered, used and released as one.
struct LayerImpl : torch::nn::Module {
  explicit LayerImpl(std::int64_t width)
      : norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        up(register_module("up", torch::nn::Linear(width, 4 * width))),
        down(register_module("down", torch::nn::Linear(4 * width, width))) {}
  torch::Tensor forward(const torch::Tensor& x) { return x + down(torch::gelu(up(norm(x)))); }

  torch::nn::LayerNorm norm;
  torch::nn::Linear up, down;
};
TORCH_MODULE(Layer);

struct MlpImpl : torch::nn::Module {
  MlpImpl(std::int64_t in, std::int64_t width, std::int64_t classes, int depth)
      : first(register_module("first", torch::nn::Linear(in, width))),
        head(register_module("head", torch::nn::Linear(width, classes))) {
    for (int i = 0; i < depth; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), Layer(width)));
  }
  torch::Tensor forward(torch::Tensor x, parallel::Sharded& sharded) {
    x = torch::relu(first(x));
    for (Layer& layer : layers) {
      x = sharded.run(
          *layer, [&](const torch::Tensor& in) { return layer->forward(in); }, x);
    }
    return head(x);
  }

  torch::nn::Linear first, head;
  std::vector<Layer> layers;
};
TORCH_MODULE(Mlp);

// Pictures of ten kinds: a pattern for each, and noise. A function of the index, so that every rank
// sees its own part.
std::pair<torch::Tensor, torch::Tensor> examples(std::int64_t first, std::int64_t count) {
  torch::manual_seed(1);
  const torch::Tensor patterns = torch::randn({10, 64});
  std::vector<torch::Tensor> pictures;
  std::vector<std::int64_t> kinds;
  for (std::int64_t i = first; i < first + count; ++i) {
    torch::manual_seed(1000 + static_cast<std::uint64_t>(i));
    kinds.push_back(i * 7 % 10);
    pictures.push_back(patterns[kinds.back()] + torch::randn({64}));
  }
  return {torch::stack(pictures), torch::tensor(kinds, torch::kInt64)};
}

}  // namespace

int main() {
  try {
    constexpr std::int64_t kBatch = 32;
    const auto comm = comm::connect(comm::Transport::kAuto, {});
    const std::int64_t mine = kBatch / comm->size();

    torch::manual_seed(7);  // the same parameters on all ranks
    Mlp model(64, 48, 10, 3);

    parallel::Sharded sharded(comm, {});
    for (std::size_t i = 0; i < model->layers.size(); ++i)
      sharded.wrap(*model->layers[i], "layer" + std::to_string(i));
    sharded.wrap(*model, "");

    // Any optimizer will do that works on the shards: this is libtorch's own.
    std::vector<torch::Tensor> owned;
    for (parallel::Shard& shard : sharded.shards()) owned.push_back(shard.parameters);
    torch::optim::SGD optimizer(owned, torch::optim::SGDOptions(0.05).momentum(0.9));

    double loss_now = 0;
    for (int step = 0; step < 20; ++step) {
      const auto [pictures, kinds] = examples(step * kBatch + comm->rank() * mine, mine);
      const torch::Tensor loss =
          torch::cross_entropy_loss(model->forward(pictures, sharded), kinds);
      loss.backward();
      sharded.finish_backward();
      sharded.clip_gradients(1.0);
      for (parallel::Shard& shard : sharded.shards())
        shard.parameters.mutable_grad() = shard.gradients;
      optimizer.step();
      sharded.parameters_changed();

      torch::Tensor mean = loss.detach().to(torch::kFloat64).reshape({1});
      comm->all_reduce(mean, comm::Reduction(comm::Op::kSum, 1.0 / comm->size()))->wait();
      loss_now = mean.item<double>();
      if (comm->rank() == 0 && step % 5 == 0) std::printf("step %2d  loss %.6f\n", step, loss_now);
    }
    const std::string hash = sharded.parameter_hash();
    if (comm->rank() == 0)
      std::printf("%s, %d ranks: loss %.6f, parameters %s\n", comm->transport().c_str(),
                  comm->size(), loss_now, hash.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sharded_mlp: %s\n", error.what());
    return 1;
  }
}
