// One rank of a job that trains a small model by a strategy and compares it with a plain
// single-process run of libtorch's own optimizer, started by jobs_test:
//   parallel_check train STRATEGY SHARD_SIZE DTYPE OPTION…   options: accumulate, clip, recompute,
//   slots, prefetch0, native parallel_check silent RANK                               a rank stops
//   in backward: the others must name it
// Prints "hash H loss L" on rank 0; exit 3 when something differs.
#include <csignal>
#include <iostream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <torch/torch.h>

#include "engine/comm/communicator.h"
#include "engine/model/gradient_slot.h"
#include "engine/parallel/sharded.h"

namespace {

using namespace muster;  // NOLINT: a test program of one idea

constexpr std::int64_t kWidth = 24;
constexpr std::int64_t kClasses = 11;
constexpr std::int64_t kBatch = 16;
constexpr int kSteps = 8;

// x W^T with its own backward, which writes the weight's gradient into its slot when there is one.
struct SlotLinear : torch::autograd::Function<SlotLinear> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight) {
    context->save_for_backward({x, weight});
    return torch::matmul(x, weight.t());
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor gradient = torch::matmul(gradients[0].t(), saved[0]);
    const torch::Tensor before = torch::matmul(gradients[0], saved[1]);
    const model::GradientSlot slot = model::take_gradient_slot(saved[1]);
    if (!slot.view.defined()) return {before, gradient};
    slot.accumulate ? slot.view.add_(gradient) : slot.view.copy_(gradient);
    return {before, torch::Tensor()};
  }
};

struct LayerImpl : torch::nn::Module {
  LayerImpl() {
    weight = register_parameter("weight", torch::randn({kWidth, kWidth}) * 0.2);
    scale = register_parameter("scale", torch::ones({kWidth}));
    back = register_parameter("back", torch::randn({kWidth + 3, kWidth}) * 0.2);  // odd sizes
    unused = register_parameter("unused", torch::ones({5}));
  }
  torch::Tensor forward(const torch::Tensor& x, bool slots) {
    const torch::Tensor inner =
        slots ? SlotLinear::apply(x * scale, weight) : torch::matmul(x * scale, weight.t());
    const torch::Tensor wide = torch::tanh(torch::matmul(inner, back.t()));
    return x + torch::matmul(wide, back);  // twice the same parameter
  }
  torch::Tensor weight, scale, back, unused;
};
TORCH_MODULE(Layer);

struct ModelImpl : torch::nn::Module {
  ModelImpl() {
    embedding = register_parameter("embedding", torch::randn({kClasses, kWidth}) * 0.5);
    bias = register_parameter("bias", torch::zeros({kClasses}));
    for (int i = 0; i < 4; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), Layer()));
  }
  torch::Tensor loss(const torch::Tensor& ids, const torch::Tensor& targets,
                     model::UnitRunner& runner, bool slots) {
    torch::Tensor x = embedding.index_select(0, ids);
    for (Layer& layer : layers) {
      x = runner.run(
          *layer, [&](const torch::Tensor& in) { return layer->forward(in, slots); }, x);
    }
    const torch::Tensor scores = torch::addmm(bias, x, embedding.t());  // tied
    return torch::nll_loss(torch::log_softmax(scores.to(torch::kFloat32), 1), targets);
  }
  torch::Tensor embedding, bias;
  std::vector<Layer> layers;
};
TORCH_MODULE(Model);

Model make_model() {
  torch::manual_seed(11);
  return Model();
}

torch::Tensor ids_of(int step) {
  return (torch::arange(kBatch, torch::kInt64) * 5 + step * 3) % kClasses;
}
torch::Tensor targets_of(int step) {
  return (ids_of(step) * ids_of(step) + 1) % kClasses;
}

struct Settings {
  parallel::Options options;
  bool accumulate = false;
  bool clip = false;
  bool slots = false;
};

constexpr double kLimit = 0.5;

// The reference: one process, .grad, torch::optim. In bfloat16 the model's values are rounded
// copies of float32 masters, as in mixed precision everywhere, and each rank rounds its gradient of
// each micro-batch before the sum. That rounding does not stay small: AdamW divides by the
// gradient's own size, so an element whose parts nearly cancel moves by a whole learning rate one
// way or the other, and a run on the undivided batch is as far from ours as from float32 (some per
// cent). So the reference takes the batch in the same parts and sums them in float32 in the same
// order; then nothing but a float32 rounding is left to differ.
struct Reference {
  Reference(const Settings& chosen, int ranks)
      : settings(chosen), world(ranks), model(make_model()) {
    for (const auto& parameter : model->parameters()) masters.push_back(parameter.detach().clone());
    optimizer = std::make_unique<torch::optim::AdamW>(
        masters, torch::optim::AdamWOptions(0.01).weight_decay(0.1));
    copy_down();
  }
  void copy_down() {
    const torch::NoGradGuard no_grad;
    const auto parameters = model->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      torch::Tensor parameter = parameters[i];
      parameter.set_data(masters[i].to(settings.options.compute_dtype, false, true));
    }
  }
  // The loss of some rows, and the gradients, in the compute type.
  double gradients(int number, std::int64_t first, std::int64_t rows, int micro_batches) {
    model::UnitRunner plain;
    const torch::Tensor loss =
        model->loss(ids_of(number).narrow(0, first, rows),
                    targets_of(number).narrow(0, first, rows), plain, false) /
        micro_batches;
    loss.backward();
    return loss.item<double>();
  }
  // Adds the parameters' gradients to `sums`, in float32, and drops them.
  void take_gradients(std::vector<torch::Tensor>& sums) {
    const auto parameters = model->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      torch::Tensor parameter = parameters[i];
      if (parameter.grad().defined()) sums[i] += parameter.grad().to(torch::kFloat32);
      parameter.mutable_grad().reset();
    }
  }
  std::vector<torch::Tensor> zeros() const {
    std::vector<torch::Tensor> sums;
    for (const auto& master : masters) sums.push_back(torch::zeros_like(master));
    return sums;
  }
  // Of the ranks that share one copy of the parameters; the copies' sums are added last.
  int shard_size() const {
    if (settings.options.strategy == parallel::Strategy::kDdp) return 1;
    return settings.options.strategy == parallel::Strategy::kHybrid ? settings.options.shard_size
                                                                    : world;
  }
  double step(int number) {
    const int micro_batches = settings.accumulate ? 2 : 1;
    const std::int64_t rows = kBatch / world / micro_batches;
    std::vector<torch::Tensor> total = zeros();
    double loss = 0;
    for (int copy = 0; copy < world; copy += shard_size()) {
      std::vector<torch::Tensor> of_copy = zeros();
      for (int micro = 0; micro < micro_batches; ++micro) {
        std::vector<torch::Tensor> sums = zeros();
        for (int rank = copy; rank < copy + shard_size(); ++rank) {
          loss += gradients(number, (rank * micro_batches + micro) * rows, rows, micro_batches);
          take_gradients(sums);
        }
        for (std::size_t i = 0; i < sums.size(); ++i) of_copy[i] += sums[i] * (1.0 / world);
      }
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += of_copy[i];
    }
    const torch::NoGradGuard no_grad;
    double square = 0;
    for (std::size_t i = 0; i < masters.size(); ++i) {
      masters[i].mutable_grad() = total[i];
      square += total[i].to(torch::kFloat64).square().sum().item<double>();
    }
    norm = std::sqrt(square);
    if (settings.clip && norm > kLimit) {
      for (auto& master : masters) master.mutable_grad().mul_(kLimit / norm);
    }
    optimizer->step();
    copy_down();
    return loss / world;
  }
  Settings settings;
  int world;
  Model model;
  std::vector<torch::Tensor> masters;
  std::unique_ptr<torch::optim::AdamW> optimizer;
  double norm = 0;
};

int failures = 0;

void expect(bool condition, const std::string& what) {
  if (!condition && ++failures < 10) std::cerr << "FAILED: " << what << '\n';
}

bool close(double left, double right, double tolerance) {
  return std::abs(left - right) <= tolerance * std::max(1.0, std::abs(right));
}

double mean_over_ranks(comm::Communicator& comm, double value) {
  torch::Tensor mean = torch::full({1}, value, torch::kFloat64);
  comm.all_reduce(mean, comm::Reduction(comm::Op::kSum, 1.0 / comm.size()))->wait();
  return mean.item<double>();
}

void compare_parameters(parallel::Sharded& sharded, Reference& reference, double tolerance) {
  std::map<std::string, torch::Tensor> expected;
  std::size_t index = 0;
  for (const auto& item : reference.model->named_parameters())
    expected[item.key()] = reference.masters[index++].reshape({-1});
  expect(sharded.slots().size() == expected.size(), "every parameter has a slot");
  for (const parallel::ParameterSlot& slot : sharded.slots()) {
    const auto [begin, end] = sharded.owned_range(slot.shard);
    const std::int64_t from = std::max(begin, slot.unit_offset);
    const std::int64_t to = std::min(end, slot.unit_offset + slot.elements);
    if (from >= to) continue;
    const torch::Tensor ours =
        sharded.shards()[static_cast<std::size_t>(slot.shard)].parameters.narrow(0, from - begin,
                                                                                 to - from);
    const torch::Tensor theirs =
        expected.at(slot.name).narrow(0, from - slot.unit_offset, to - from);
    expect(torch::allclose(ours, theirs, tolerance, tolerance),
           fmt::format("{}: off by {:g}", slot.name, (ours - theirs).abs().max().item<double>()));
  }
}

// What bfloat16 costs: the first step's gradients are those of float32 on the undivided batch but
// for the roundings on the way. A path through the model has about 40 of them, each of at most u =
// 2^-8 and either sign: in the 2-norm not more than sqrt(40) u, which is under 8 u.
void expect_rounding_only(Settings settings, int world) {
  settings.clip = false;
  Reference rounded(settings, world);
  settings.accumulate = false;
  settings.options.strategy = parallel::Strategy::kDdp;
  settings.options.compute_dtype = torch::kFloat32;
  Reference exact(settings, 1);
  rounded.step(0);
  exact.step(0);
  constexpr double kUnitRoundoff = 1.0 / 256;
  const auto names = exact.model->named_parameters().keys();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const torch::Tensor& right = exact.masters[i].grad();
    const double off = (rounded.masters[i].grad() - right).norm().item<double>();
    const double size = right.norm().item<double>();
    expect(off <= 8 * kUnitRoundoff * size,
           fmt::format("{}: gradient off by {:g} of its size", names[i], off / size));
  }
}

int train(const Settings& settings, bool native) {
  comm::Options how;
  how.time_limit = std::chrono::seconds(60);
  how.deterministic = !native;
  const auto comm = comm::connect(comm::Transport::kAuto, how);
  Model model = make_model();
  parallel::Sharded sharded(comm, settings.options);
  for (std::size_t i = 0; i < model->layers.size(); ++i)
    sharded.wrap(*model->layers[i], "layer" + std::to_string(i));
  sharded.wrap(*model, "");
  const std::string first_hash = sharded.parameter_hash();
  std::vector<torch::Tensor> owned;
  for (const parallel::Shard& shard : sharded.shards()) owned.push_back(shard.parameters);
  torch::optim::AdamW optimizer(owned, torch::optim::AdamWOptions(0.01).weight_decay(0.1));
  Reference reference(settings, comm->size());

  // Sums of float32 in another order (of the MPI library, of the norm), whatever the compute type.
  constexpr double kTolerance = 2e-6;
  const int micro_batches = settings.accumulate ? 2 : 1;
  const std::int64_t rows = kBatch / comm->size() / micro_batches;
  double mean = 0;
  for (int step = 0; step < kSteps; ++step) {
    double loss_sum = 0;
    for (int micro = 0; micro < micro_batches; ++micro) {
      sharded.begin_micro_batch(micro + 1 == micro_batches);
      const std::int64_t first = (comm->rank() * micro_batches + micro) * rows;
      const torch::Tensor loss =
          model->loss(ids_of(step).narrow(0, first, rows), targets_of(step).narrow(0, first, rows),
                      sharded, settings.slots) /
          micro_batches;
      loss.backward();
      loss_sum += loss.item<double>();
    }
    sharded.finish_backward();
    const double norm = sharded.clip_gradients(settings.clip ? kLimit : 0);
    for (parallel::Shard& shard : sharded.shards())
      shard.parameters.mutable_grad() = shard.gradients;
    optimizer.step();
    const bool writes = step % 2 == 0;  // as a fused optimizer does, or not
    if (writes) {
      for (parallel::Shard& shard : sharded.shards()) {
        const torch::NoGradGuard no_grad;
        if (shard.compute.defined()) shard.compute.copy_(shard.parameters);
      }
    }
    sharded.parameters_changed(writes);
    mean = mean_over_ranks(*comm, loss_sum);
    const double expected = reference.step(step);
    expect(close(mean, expected, kTolerance),
           fmt::format("step {}: loss {:.9f}, reference {:.9f}", step, mean, expected));
    expect(close(norm, reference.norm, kTolerance),
           fmt::format("step {}: norm {:.9f}, reference {:.9f}", step, norm, reference.norm));
    if (step == 3) {  // an evaluation in between changes nothing
      const torch::NoGradGuard no_grad;
      sharded.zero_gradients();
      const double evaluated =
          model->loss(ids_of(step), targets_of(step), sharded, settings.slots).item<double>();
      model::UnitRunner plain;
      const double same =
          reference.model->loss(ids_of(step), targets_of(step), plain, false).item<double>();
      expect(close(evaluated, same, kTolerance),
             fmt::format("evaluation: {:.9f}, reference {:.9f}", evaluated, same));
    }
  }
  compare_parameters(sharded, reference, kTolerance);
  if (settings.options.compute_dtype != torch::kFloat32)
    expect_rounding_only(settings, comm->size());
  const std::string hash = sharded.parameter_hash();
  expect(hash.size() == 32 && hash != first_hash, "the hash changes with the parameters");
  const parallel::Held held = sharded.held();
  if (settings.options.strategy == parallel::Strategy::kFullShard && comm->size() > 1) {
    expect(held.gathered_units == 0, "all units are released between steps");
    // The first forward finds all of them gathered, as they were wrapped.
    expect(held.gradient_buffers == 0, "no gradient buffer is left");
    expect(held.most_gradient_buffers <= 3,
           fmt::format("{} gradient buffers at once", held.most_gradient_buffers));
  }
  if (comm->rank() == 0)
    std::cout << fmt::format("first {} hash {} loss {:.17g}\n", first_hash, hash, mean);
  return failures == 0 ? 0 : 3;
}

int silent(int who) {
  comm::Options how;
  how.time_limit = std::chrono::milliseconds(1500);
  const auto comm = comm::connect(comm::Transport::kAuto, how);
  Model model = make_model();
  parallel::Sharded sharded(comm, {});
  for (std::size_t i = 0; i < model->layers.size(); ++i)
    sharded.wrap(*model->layers[i], "layer" + std::to_string(i));
  sharded.wrap(*model, "");
  try {
    for (int step = 0; step < 3; ++step) {
      const torch::Tensor loss = model->loss(ids_of(step), targets_of(step), sharded, false);
      if (step == 1 && comm->rank() == who) raise(SIGSTOP);
      loss.backward();
      sharded.finish_backward();
      sharded.parameters_changed();
    }
  } catch (const comm::Timeout& timeout) {
    const bool named = timeout.missing().size() == 1 && timeout.missing()[0].rank == who;
    std::cout << (named ? "NAMED: " : "NOT NAMED: ") << timeout.what() << '\n' << std::flush;
    comm->abort(named ? 124 : 3);
  }
  return 3;
}

parallel::Strategy strategy_of(const std::string& name) {
  if (name == "ddp") return parallel::Strategy::kDdp;
  if (name == "shard_grad_op") return parallel::Strategy::kShardGradOp;
  if (name == "hybrid") return parallel::Strategy::kHybrid;
  return parallel::Strategy::kFullShard;
}

}  // namespace

int main(int argc, char** argv) {
  torch::set_num_threads(1);
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    if (args.size() >= 2 && args[0] == "silent") return silent(std::stoi(args[1]));
    if (args.size() >= 4 && args[0] == "train") {
      const std::set<std::string> flags(args.begin() + 4, args.end());
      Settings settings;
      settings.options.strategy = strategy_of(args[1]);
      settings.options.shard_size = std::stoi(args[2]);
      settings.options.compute_dtype = args[3] == "bf16" ? torch::kBFloat16 : torch::kFloat32;
      settings.options.activation_checkpointing = flags.count("recompute") > 0;
      settings.options.bucket_bytes = 4096;
      if (flags.count("prefetch0") > 0) settings.options.prefetch = 0;
      settings.accumulate = flags.count("accumulate") > 0;
      settings.clip = flags.count("clip") > 0;
      settings.slots = flags.count("slots") > 0;
      return train(settings, flags.count("native") > 0);
    }
  } catch (const std::exception& error) {
    std::cerr << "parallel_check: " << error.what() << '\n';
    return 1;
  }
  std::cerr << "usage: see the top of parallel_check.cpp\n";
  return 1;
}
