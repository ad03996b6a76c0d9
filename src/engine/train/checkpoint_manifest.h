// What a checkpoint says about itself: manifest.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/train/checkpoint_layout.h"

namespace muster::train {

/// What decides which windows the next step reads.
struct DataState {
  std::string hash;  ///< of the training tokens
  std::uint64_t seed = 0;
  std::int64_t seq_len = 0;
  std::int64_t global_batch = 0;
  std::int64_t micro_batch = 0;
  int world = 0;
  std::uint64_t windows = 0;

  bool operator==(const DataState&) const = default;
};

/// The optimizer's figures, for the record and to say when a resumed run changes them.
struct OptimizerFigures {
  double lr = 0, min_lr = 0, weight_decay = 0, beta1 = 0, beta2 = 0, clip = 0;
  std::int64_t warmup = 0;
  std::int64_t steps = 0;

  bool operator==(const OptimizerFigures&) const = default;
};

/// A rank's file of a checkpoint.
struct CheckpointFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string digest;

  bool operator==(const CheckpointFile&) const = default;
};

/// A run of elements of a parameter, and where its states lie in its file.
struct Slice {
  int file = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t offset[kStateCount] = {};  ///< bytes from the file's start

  bool operator==(const Slice&) const = default;
};

struct CheckpointTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<Slice> slices;  ///< in the order of their elements

  std::int64_t elements() const;
  bool operator==(const CheckpointTensor&) const = default;
};

struct Manifest {
  std::int64_t step = 0;
  std::string parameter_hash;
  std::string model_config;  ///< config.json as text
  std::string tokenizer;     ///< tokenizer.json's digest, empty when there is none
  std::string precision;
  std::string strategy;
  DataState data;
  OptimizerFigures optimizer;
  std::vector<CheckpointFile> files;
  std::vector<CheckpointTensor> tensors;

  bool operator==(const Manifest&) const = default;
};

/// Indented JSON; equal manifests give equal bytes.
std::string write_manifest(const Manifest& manifest);

/// Errors (each names the file and what it found): not JSON, another version, a field missing or of
/// another type, a file name that leaves the directory, slices that leave their file or do not
/// cover each parameter exactly once.
Result<Manifest> parse_manifest(std::string_view text, const std::string& file);

/// Whether a run with `now` may go on from a checkpoint made with `saved`: error findings say what
/// differs and what would do. The number of ranks and the micro-batch may change as long as the
/// global batch does not.
Findings check_data_state(const DataState& saved, const DataState& now,
                          const std::string& checkpoint);

}  // namespace muster::train
