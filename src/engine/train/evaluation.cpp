#include "engine/train/evaluation.h"

#include <torch/torch.h>

#include <algorithm>

#include "engine/train/agreement.h"
#include "engine/train/batches.h"

namespace muster::train {

Result<Evaluation> evaluate(comm::Communicator& comm, model::Llama& llama,
                            parallel::Sharded& sharded, TokenStream& stream,
                            const EvaluationOptions& options) {
  const auto available = static_cast<std::int64_t>(stream.windows(options.seq_len));
  if (available == 0) return Evaluation{};
  const torch::NoGradGuard no_grad;
  const std::int64_t world = comm.size();
  const std::int64_t wanted = std::clamp<std::int64_t>(options.sequences, 1, available);
  const std::int64_t batch = wanted >= world * options.micro_batch ? options.micro_batch : 1;
  const std::int64_t rounds = std::max<std::int64_t>(1, wanted / (world * batch));
  const std::int64_t total = rounds * world * batch;
  // A rank that can't read goes on with zeros, so that the others don't wait for it; all learn of
  // it at the end.
  Result<void> reading;
  double sum_of_losses = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<std::uint64_t> windows;
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::int64_t index = (round * world + comm.rank()) * batch + i;
      windows.push_back(static_cast<std::uint64_t>(total <= available ? index * available / total
                                                                      : index % available));
    }
    auto read = read_batch(stream, options.seq_len, windows, options.device);
    if (!read) {
      reading = read.error();
      const torch::Tensor zeros = torch::zeros(
          {batch, options.seq_len}, torch::TensorOptions(torch::kInt64).device(options.device));
      read = Batch{zeros, zeros};
    }
    sum_of_losses += llama.loss(read->ids, read->targets, sharded).item<double>();
  }
  const torch::Tensor sums = sum(
      comm, torch::tensor({sum_of_losses / static_cast<double>(rounds), reading.ok() ? 0.0 : 1.0},
                          torch::kFloat64));
  if (!reading) return reading.error();
  if (sums[1].item<double>() > 0)
    return failure("data", "another rank could not read its validation text",
                   "see the message of that rank");
  return Evaluation{sums[0].item<double>() / static_cast<double>(world), total * options.seq_len};
}

}  // namespace muster::train
