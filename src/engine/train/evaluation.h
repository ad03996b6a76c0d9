// The loss on text that was held out.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/comm/communicator.h"
#include "engine/model/llama.h"
#include "engine/parallel/sharded.h"
#include "engine/train/token_shards.h"

namespace muster::train {

struct EvaluationOptions {
  std::int64_t seq_len = 1;
  std::int64_t micro_batch = 1;
  std::int64_t sequences = 1;  ///< how many to read, at most
  torch::Device device = torch::kCPU;
};

struct Evaluation {
  double loss = 0;  ///< mean cross-entropy of a token
  std::int64_t tokens =
      0;  ///< that it is the mean of; 0: the validation text is too short for a sequence
};

/// The same sequences each time, spread evenly over the validation text, shared by the ranks. Their
/// number is rounded down to what all ranks can share in whole micro-batches, or up to one each
/// when there are fewer. Collective.
Result<Evaluation> evaluate(comm::Communicator& comm, model::Llama& llama,
                            parallel::Sharded& sharded, TokenStream& stream,
                            const EvaluationOptions& options);

}  // namespace muster::train
