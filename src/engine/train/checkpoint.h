// Checkpoints on disk.
//
//   DIR/step-00000050/
//     manifest.json                    step, model, data state, and where each parameter lies
//     shard-00000-of-00002.safetensors what one rank wrote: parameter, exp_avg, exp_avg_sq of its
//     pieces, float32 checksums.xxh128                 of all of the above, as `xxhsum -H128 -c`
//     reads them
//
// Parameters are addressed by name and element, so that any number of ranks can read what any other
// number wrote. A checkpoint is made beside (step-00000050.tmp) and renamed when every file is on
// disk: it is whole or absent.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/train/checkpoint_manifest.h"
#include "engine/train/files.h"

namespace muster::train {

/// "step-00000050".
std::string checkpoint_name(std::int64_t step);
/// "shard-00000-of-00002.safetensors".
std::string shard_name(int rank, int world);

/// What a rank's file will hold: the header and where each piece's states start, in bytes from the
/// file's start.
struct ShardLayout {
  std::string header;  ///< of the safetensors format, with its length in front
  std::vector<std::array<std::uint64_t, kStateCount>> offsets;  ///< one entry a piece
  std::uint64_t checksums_at = 0;  ///< byte offset of the block checksums, the last tensor
  std::uint64_t bytes = 0;         ///< of the whole file
};
ShardLayout lay_out(const std::vector<ParameterPlace>& places, const std::vector<Piece>& pieces);

/// Gives the elements of state `state` of piece `piece`.
using StateReader = std::function<const float*(int piece, int state)>;

/// Writes a rank's file into `directory`. Every block of 1 MiB gets a checksum inside the file, to
/// locate damage.
Result<CheckpointFile> write_shard(const std::filesystem::path& directory, const std::string& name,
                                   const std::vector<ParameterPlace>& places,
                                   const std::vector<Piece>& pieces, const StateReader& read);

/// The tensors of the manifest, from what each rank writes (`written[rank]`).
std::vector<CheckpointTensor> index_tensors(const std::vector<ParameterPlace>& places,
                                            const std::vector<std::vector<Piece>>& written);

/// The checkpoints of a run.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path path(std::int64_t step) const { return root_ / checkpoint_name(step); }

  /// Steps that have a directory of their name, newest first. Says nothing about whether they are
  /// whole.
  std::vector<std::int64_t> steps() const;

  /// An empty directory to write the files of `step` into; what an earlier attempt left is removed.
  Result<std::filesystem::path> begin(std::int64_t step) const;
  /// Adds manifest and checksums to the directory of begin() and gives it its name. The manifest's
  /// files must be there.
  Result<std::filesystem::path> commit(const Manifest& manifest) const;
  /// Removes the directory of begin().
  void discard(std::int64_t step) const;
  /// Removes all but the newest `keep` checkpoints up to `step`, and what dead attempts left.
  Result<void> prune(std::int64_t step, int keep) const;

 private:
  std::filesystem::path root_;
};

/// A checkpoint open for reading.
class Checkpoint {
 public:
  /// Reads and checks the manifest against checksums.xxh128; the other files are there and have
  /// their size.
  static Result<Checkpoint> open(const std::filesystem::path& directory);

  const std::filesystem::path& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }

  /// Checks one file against its checksum. The error names the first damaged block and its byte
  /// offset.
  Result<void> verify_file(std::size_t index) const;
  /// All files.
  Result<void> verify() const;

  /// Copies elements [begin, end) of a state of tensor `tensor` to `out`.
  void read(std::size_t tensor, int state, std::int64_t begin, std::int64_t end, float* out) const;

  /// Index of a tensor by name, or nothing.
  std::optional<std::size_t> find(const std::string& name) const;

 private:
  Checkpoint() = default;
  std::filesystem::path path_;
  Manifest manifest_;
  std::vector<MappedFile> files_;
};

}  // namespace muster::train
