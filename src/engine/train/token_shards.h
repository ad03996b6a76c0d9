// Token shards: text as numbers on disk, mapped into memory, checked block by block before use.
//
// One file, little-endian:
//   0   8 bytes   "MUSTERTK"
//   8   u32       version, 1
//   12  u32       bytes of a token, 2 or 4
//   16  u64       tokens
//   24  u64       vocabulary: every token is smaller
//   32  u64       bytes of a block of the payload (the last one may be shorter)
//   40  u64       XXH3-64 of the block table
//   48  u64       0
//   56  u64       XXH3-64 of bytes 0 … 55
//   64            the tokens
//   then          the block table: XXH3-64 of each block of the payload, u64 each
// The header holds the table's hash and the table the blocks': so the header stands for the whole
// file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/train/files.h"

namespace muster::train {

/// Writes one shard, whole or absent.
class TokenShardWriter {
 public:
  static Result<TokenShardWriter> create(const std::filesystem::path& path,
                                         std::uint64_t vocabulary);
  /// Tokens must be in [0, vocabulary).
  Result<void> append(const std::vector<std::int32_t>& tokens);
  Result<void> close();
  std::uint64_t tokens() const { return tokens_.size(); }

 private:
  std::filesystem::path path_;
  std::uint64_t vocabulary_ = 0;
  std::vector<std::int32_t> tokens_;
};

/// One shard, open for reading.
class TokenShard {
 public:
  /// Checks header, size and block table. Errors name the file and the byte offset.
  static Result<TokenShard> open(const std::filesystem::path& path);

  std::uint64_t tokens() const { return tokens_; }
  std::uint64_t vocabulary() const { return vocabulary_; }
  /// Stands for the whole content.
  std::string hash() const;

  /// Copies tokens [first, first+count) to `out`. Each block is checked (its hash, and that all its
  /// tokens are in the vocabulary) when it is first touched. Not for use by several threads at
  /// once.
  Result<void> read(std::uint64_t first, std::uint64_t count, std::int64_t* out);

  /// Checks every block.
  Result<void> verify();

 private:
  explicit TokenShard(MappedFile file) : file_(std::move(file)) {}
  Result<void> check_block(std::uint64_t block);
  std::int64_t token(std::uint64_t index) const;

  MappedFile file_;
  std::uint64_t tokens_ = 0;
  std::uint64_t vocabulary_ = 0;
  std::uint64_t width_ = 0;
  std::uint64_t block_bytes_ = 0;
  std::vector<bool> checked_;
};

/// Shards of one split, in order, as one sequence of tokens; or a part of it.
class TokenStream {
 public:
  static Result<TokenStream> open(const std::vector<std::filesystem::path>& paths);

  std::uint64_t tokens() const { return end_ - begin_; }
  std::uint64_t vocabulary() const;
  std::string hash() const;
  std::size_t shards() const { return shards_.size(); }

  /// From now on only tokens [begin, end) of what it was.
  void narrow(std::uint64_t begin, std::uint64_t end);

  Result<void> read(std::uint64_t first, std::uint64_t count, std::int64_t* out);

  /// How many windows of `length` inputs with their targets (length+1 tokens, each window one
  /// target further) it has.
  std::uint64_t windows(std::int64_t length) const;

 private:
  std::vector<TokenShard> shards_;
  std::vector<std::uint64_t> starts_;  ///< of each shard, and the end of the last
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace muster::train
