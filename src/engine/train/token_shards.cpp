#include "engine/train/token_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

namespace muster::train {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "token shards are little-endian");

namespace {

constexpr std::string_view kMagic = "MUSTERTK";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kHeaderBytes = 64;
constexpr std::uint64_t kBlockBytes = 1U << 20;
constexpr std::uint64_t kTableHashAt = 40;
constexpr std::uint64_t kHeaderHashAt = 56;

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void store(std::span<std::byte> bytes, std::uint64_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::uint64_t block_count(std::uint64_t payload, std::uint64_t block) {
  return (payload + block - 1) / block;
}

Failure damaged(const fs::path& path, std::uint64_t offset, const std::string& what) {
  return Failure(error_at({path.string()}, "token-shard-damaged",
                          fmt::format("token shard damaged at byte offset {}: {}", offset, what),
                          "prepare the data again from its text, or restore the file"));
}

}  // namespace

Result<TokenShardWriter> TokenShardWriter::create(const fs::path& path, std::uint64_t vocabulary) {
  TokenShardWriter writer;
  writer.path_ = path;
  writer.vocabulary_ = vocabulary;
  return writer;
}

Result<void> TokenShardWriter::append(const std::vector<std::int32_t>& tokens) {
  for (const std::int32_t token : tokens) {
    if (token < 0 || static_cast<std::uint64_t>(token) >= vocabulary_) {
      return Failure(
          error_at({path_.string()}, "token-range",
                   fmt::format("token {} is not in the vocabulary of {}", token, vocabulary_)));
    }
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return {};
}

Result<void> TokenShardWriter::close() {
  const std::uint32_t width = vocabulary_ <= 0x10000 ? 2 : 4;
  std::vector<std::byte> payload(tokens_.size() * width);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (width == 2) {
      store(payload, i * width, static_cast<std::uint16_t>(tokens_[i]));
    } else {
      store(payload, i * width, static_cast<std::uint32_t>(tokens_[i]));
    }
  }
  const std::uint64_t blocks = block_count(payload.size(), kBlockBytes);
  std::vector<std::byte> table(blocks * sizeof(std::uint64_t));
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::uint64_t begin = block * kBlockBytes;
    store(table, block * sizeof(std::uint64_t),
          digest64(payload.data() + begin,
                   std::min<std::uint64_t>(kBlockBytes, payload.size() - begin)));
  }
  std::array<std::byte, kHeaderBytes> header{};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  store(header, 8, kVersion);
  store(header, 12, width);
  store(header, 16, static_cast<std::uint64_t>(tokens_.size()));
  store(header, 24, vocabulary_);
  store(header, 32, kBlockBytes);
  store(header, kTableHashAt, digest64(table.data(), table.size()));
  store(header, kHeaderHashAt, digest64(header.data(), kHeaderHashAt));

  auto file = OutputFile::create(path_);
  if (!file) return file.error();
  for (const std::span<const std::byte> part :
       {std::span<const std::byte>(header), std::span<const std::byte>(payload),
        std::span<const std::byte>(table)}) {
    if (auto written = file->write(part.data(), part.size()); !written) return written;
  }
  return file->close();
}

Result<TokenShard> TokenShard::open(const fs::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  const auto bytes = file->bytes();
  if (bytes.size() < kHeaderBytes) {
    return damaged(path, bytes.size(),
                   fmt::format("the file ends inside the header of {} bytes", kHeaderBytes));
  }
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return damaged(path, 0, "this is not a token shard: it does not start with MUSTERTK");
  if (load<std::uint64_t>(bytes, kHeaderHashAt) != digest64(bytes.data(), kHeaderHashAt)) {
    return damaged(path, kHeaderHashAt, "the header does not match its checksum");
  }
  const auto version = load<std::uint32_t>(bytes, 8);
  if (version != kVersion)
    return damaged(
        path, 8,
        fmt::format("version {} is not known; this program reads version {}", version, kVersion));
  TokenShard shard(std::move(*file));
  shard.width_ = load<std::uint32_t>(bytes, 12);
  shard.tokens_ = load<std::uint64_t>(bytes, 16);
  shard.vocabulary_ = load<std::uint64_t>(bytes, 24);
  shard.block_bytes_ = load<std::uint64_t>(bytes, 32);
  if ((shard.width_ != 2 && shard.width_ != 4) || shard.block_bytes_ == 0 ||
      shard.block_bytes_ % shard.width_ != 0 || shard.tokens_ > (1ULL << 56)) {
    return damaged(path, 12, "the header's figures make no sense");
  }
  const std::uint64_t payload = shard.tokens_ * shard.width_;
  const std::uint64_t blocks = block_count(payload, shard.block_bytes_);
  const std::uint64_t expected = kHeaderBytes + payload + blocks * sizeof(std::uint64_t);
  if (bytes.size() != expected) {
    return damaged(
        path, std::min<std::uint64_t>(bytes.size(), expected),
        fmt::format("the file has {} bytes where its header asks for {}", bytes.size(), expected));
  }
  if (digest64(bytes.data() + kHeaderBytes + payload, blocks * sizeof(std::uint64_t)) !=
      load<std::uint64_t>(bytes, kTableHashAt)) {
    return damaged(path, kHeaderBytes + payload, "the block table does not match its checksum");
  }
  shard.checked_.assign(blocks, false);
  return shard;
}

std::string TokenShard::hash() const {
  return digest(file_.bytes().data(), kHeaderBytes);
}

std::int64_t TokenShard::token(std::uint64_t index) const {
  const std::uint64_t at = kHeaderBytes + index * width_;
  return width_ == 2 ? load<std::uint16_t>(file_.bytes(), at)
                     : load<std::uint32_t>(file_.bytes(), at);
}

Result<void> TokenShard::check_block(std::uint64_t block) {
  if (checked_[block]) return {};
  const std::uint64_t payload = tokens_ * width_;
  const std::uint64_t begin = block * block_bytes_;
  const std::uint64_t size = std::min(block_bytes_, payload - begin);
  const auto bytes = file_.bytes();
  if (digest64(bytes.data() + kHeaderBytes + begin, size) !=
      load<std::uint64_t>(bytes, kHeaderBytes + payload + block * sizeof(std::uint64_t))) {
    return damaged(
        file_.path(), kHeaderBytes + begin,
        fmt::format("the block of {} bytes that starts there does not match its checksum", size));
  }
  for (std::uint64_t index = begin / width_; index < (begin + size) / width_; ++index) {
    if (static_cast<std::uint64_t>(token(index)) >= vocabulary_) {
      return damaged(
          file_.path(), kHeaderBytes + index * width_,
          fmt::format("token {} is not in the vocabulary of {}", token(index), vocabulary_));
    }
  }
  checked_[block] = true;
  return {};
}

Result<void> TokenShard::read(std::uint64_t first, std::uint64_t count, std::int64_t* out) {
  if (count == 0) return {};
  const std::uint64_t last_byte = (first + count) * width_ - 1;
  for (std::uint64_t block = first * width_ / block_bytes_; block <= last_byte / block_bytes_;
       ++block) {
    if (auto checked = check_block(block); !checked) return checked;
  }
  for (std::uint64_t i = 0; i < count; ++i) out[i] = token(first + i);
  return {};
}

Result<void> TokenShard::verify() {
  for (std::uint64_t block = 0; block < checked_.size(); ++block) {
    if (auto checked = check_block(block); !checked) return checked;
  }
  return {};
}

Result<TokenStream> TokenStream::open(const std::vector<fs::path>& paths) {
  TokenStream stream;
  for (const fs::path& path : paths) {
    auto shard = TokenShard::open(path);
    if (!shard) return shard.error();
    stream.starts_.push_back(stream.end_);
    stream.end_ += shard->tokens();
    stream.shards_.push_back(std::move(*shard));
  }
  stream.starts_.push_back(stream.end_);
  return stream;
}

std::uint64_t TokenStream::vocabulary() const {
  std::uint64_t largest = 0;
  for (const TokenShard& shard : shards_) largest = std::max(largest, shard.vocabulary());
  return largest;
}

std::string TokenStream::hash() const {
  Digest all;
  for (const TokenShard& shard : shards_) all.update(shard.hash());
  all.update(fmt::format("{}-{}", begin_, end_));
  return all.hex();
}

void TokenStream::narrow(std::uint64_t begin, std::uint64_t end) {
  end_ = begin_ + std::min(end, tokens());
  begin_ = std::min(begin_ + begin, end_);
}

Result<void> TokenStream::read(std::uint64_t first, std::uint64_t count, std::int64_t* out) {
  std::uint64_t at = begin_ + first;
  while (count > 0) {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), at);
    const auto index = static_cast<std::size_t>(after - starts_.begin()) - 1;
    if (index >= shards_.size()) {
      return Failure(
          error_at({}, "token-range", fmt::format("token {} lies beyond the data's end", at)));
    }
    const std::uint64_t part = std::min(count, starts_[index + 1] - at);
    if (auto read = shards_[index].read(at - starts_[index], part, out); !read) return read;
    at += part;
    out += part;
    count -= part;
  }
  return {};
}

std::uint64_t TokenStream::windows(std::int64_t length) const {
  return tokens() == 0 ? 0 : (tokens() - 1) / static_cast<std::uint64_t>(length);
}

}  // namespace muster::train
