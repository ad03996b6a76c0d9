// Which windows of the training text a micro-batch holds: a pure function, so that nothing needs to
// be remembered to resume, and the world's size changes who reads a window but not which are read.
//
// The run is one long sequence of draws 0, 1, 2, …; step s (from 0) of global batch G takes draws
// s·G … s·G+G−1. Draw d belongs to epoch d / W of W windows, and takes the window that the epoch's
// permutation puts at d mod W. So an epoch visits every window once, and a batch may end one epoch
// and begin the next.
#pragma once

#include <cstdint>
#include <vector>

namespace muster::train {

/// A permutation of 0 … size−1 that is computed, not stored: a balanced Feistel network of six
/// rounds over the next power of four, walked along its cycle until the value falls below `size`
/// (Black and Rogaway, 2002).
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key);
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  static constexpr int kRounds = 6;
  std::uint64_t size_;
  std::uint64_t keys_[kRounds];
  int half_bits_;
};

struct SamplerOptions {
  std::uint64_t windows = 0;  ///< how many windows the data has; at least 1
  std::uint64_t seed = 0;
  std::int64_t global_batch = 1;  ///< windows of a step, all ranks together
  std::int64_t micro_batch = 1;   ///< windows of one forward pass
  int world = 1;
  int rank = 0;
};

class Sampler {
 public:
  /// global_batch must be a multiple of micro_batch × world (the caller has checked it).
  explicit Sampler(SamplerOptions options);

  /// Micro-batches of a step on each rank.
  std::int64_t accumulation() const { return accumulation_; }

  /// The windows of micro-batch `micro` (from 0) of `step` (from 0) on this rank; `micro_batch` of
  /// them.
  std::vector<std::uint64_t> windows(std::int64_t step, std::int64_t micro) const;

  /// The window of one draw of the whole run.
  std::uint64_t draw(std::uint64_t index) const;

 private:
  SamplerOptions options_;
  std::int64_t accumulation_;
};

}  // namespace muster::train
