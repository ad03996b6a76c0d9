#include "engine/train/batches.h"

#include <torch/torch.h>

namespace muster::train {

Result<Batch> read_batch(TokenStream& stream, std::int64_t seq_len,
                         const std::vector<std::uint64_t>& windows, torch::Device device) {
  torch::Tensor tokens =
      torch::empty({static_cast<std::int64_t>(windows.size()), seq_len + 1}, torch::kInt64);
  std::int64_t* out = tokens.data_ptr<std::int64_t>();
  for (const std::uint64_t window : windows) {
    const auto length = static_cast<std::uint64_t>(seq_len);
    if (auto read = stream.read(window * length, length + 1, out); !read) return read.error();
    out += seq_len + 1;
  }
  return Batch{tokens.narrow(1, 0, seq_len).contiguous().to(device),
               tokens.narrow(1, 1, seq_len).contiguous().to(device)};
}

}  // namespace muster::train
