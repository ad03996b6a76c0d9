// Saves and loads the state of a training run, on all ranks together.
#pragma once

#include <torch/types.h>

#include <array>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/comm/communicator.h"
#include "engine/train/checkpoint.h"
#include "engine/train/faults.h"

namespace muster::train {

/// The part of the run's state that this rank holds: for each unit the shard's parameters and
/// Adam's moments (float32 [n]).
struct TrainState {
  std::vector<ParameterPlace> places;
  std::vector<Range> owned;  ///< one a unit
  std::vector<std::array<torch::Tensor, kStateCount>> shards;
};

/// A checkpoint that is on disk, whole.
struct Saved {
  std::int64_t step = 0;
  std::string path;
  std::string hash;
  std::uint64_t bytes = 0;
  double seconds = 0;  ///< from the copy of the state to the rename
};

class Checkpointer {
 public:
  /// `base` has all of the manifest but step, hash, files and tensors. Collective.
  Checkpointer(std::shared_ptr<comm::Communicator> comm, CheckpointStore store, TrainState state,
               Manifest base, int keep, Faults faults);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  const CheckpointStore& store() const { return store_; }

  /// Copies the state and begins to write it in the background. Nothing else may be pending.
  /// Collective.
  Result<void> start(std::int64_t step, const std::string& parameter_hash);

  /// Whether start() was called and finish() not yet.
  bool pending() const { return pending_.has_value(); }
  /// Whether this rank's part is written, or has failed.
  bool written() const;

  /// Waits until every rank has written its part; then rank 0 completes the checkpoint and removes
  /// old ones. An error of any rank is every rank's error, and leaves nothing of the attempt.
  /// Collective.
  Result<Saved> finish();

  /// Copies this rank's part out of a (verified) checkpoint. Errors: a parameter that is missing
  /// there, or of another shape.
  Result<void> load(const Checkpoint& checkpoint);

 private:
  struct Pending;

  std::vector<std::array<torch::Tensor, kStateCount>> snapshot() const;
  Result<Saved> commit(const Pending& pending, const std::vector<CheckpointFile>& files);

  std::shared_ptr<comm::Communicator> comm_;
  CheckpointStore store_;
  TrainState state_;
  Manifest base_;
  int keep_;
  Faults faults_;
  std::vector<std::vector<Piece>> written_by_;  ///< [rank]

  struct Pending {
    std::int64_t step = 0;
    std::string hash;
    std::chrono::steady_clock::time_point start;
    std::future<Result<CheckpointFile>> part;
  };
  std::optional<Pending> pending_;
};

}  // namespace muster::train
