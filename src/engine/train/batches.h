// Windows of a token stream as the tensors that a model reads.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/train/token_shards.h"

namespace muster::train {

/// int64 [B, T] each; targets[b, t] is the token after ids[b, t].
struct Batch {
  torch::Tensor ids;
  torch::Tensor targets;
};

/// Window w of a stream is its tokens w·T … w·T+T; its last token is the first of the next.
Result<Batch> read_batch(TokenStream& stream, std::int64_t seq_len,
                         const std::vector<std::uint64_t>& windows, torch::Device device);

}  // namespace muster::train
