#include "engine/train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace muster::train {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kBlockBytes = 1U << 20;
constexpr const char* kManifestName = "manifest.json";
constexpr const char* kChecksumsName = "checksums.xxh128";
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".tmp";

std::uint64_t blocks_before(std::uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes;
}

// Writes bytes on, block by block, and keeps each block's checksum.
class BlockWriter {
 public:
  explicit BlockWriter(OutputFile& file) : file_(file) { block_.reserve(kBlockBytes); }

  Result<void> write(const void* data, std::uint64_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const std::uint64_t part = std::min<std::uint64_t>(bytes, kBlockBytes - block_.size());
      block_.insert(block_.end(), at, at + part);
      at += part;
      bytes -= part;
      if (block_.size() == kBlockBytes) {
        if (auto flushed = flush(); !flushed) return flushed;
      }
    }
    return {};
  }

  // The last block, then the checksums.
  Result<void> finish() {
    if (auto flushed = flush(); !flushed) return flushed;
    return file_.write(checksums_.data(), checksums_.size() * sizeof(std::uint64_t));
  }

 private:
  Result<void> flush() {
    if (block_.empty()) return {};
    checksums_.push_back(digest64(block_.data(), block_.size()));
    auto written = file_.write(block_.data(), block_.size());
    block_.clear();
    return written;
  }

  OutputFile& file_;
  std::vector<char> block_;
  std::vector<std::uint64_t> checksums_;
};

Failure damaged(const fs::path& path, const std::string& what) {
  return Failure(error_at({path.string()}, "checkpoint-damaged", what,
                          "resume from another checkpoint of the run"));
}

// The lines of checksums.xxh128: name -> digest.
Result<std::map<std::string, std::string>> parse_checksums(const fs::path& path,
                                                           std::string_view text) {
  std::map<std::string, std::string> digests;
  std::size_t line_start = 0;
  int line = 1;
  while (line_start < text.size()) {
    const std::size_t line_end = text.find('\n', line_start);
    const std::string_view content = text.substr(
        line_start, line_end == std::string_view::npos ? line_end : line_end - line_start);
    if (line_end == std::string_view::npos || content.size() < 35 ||
        content.substr(32, 2) != "  ") {
      return Failure(error_at({path.string(), line, 1}, "checkpoint-damaged",
                              fmt::format("checksum list damaged at byte offset {}", line_start),
                              "resume from another checkpoint of the run"));
    }
    digests.emplace(content.substr(34), content.substr(0, 32));
    line_start = line_end + 1;
    ++line;
  }
  return digests;
}

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || name.size() < 8)
    return std::nullopt;
  return step;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

std::string shard_name(int rank, int world) {
  return fmt::format("shard-{:05}-of-{:05}.safetensors", rank, world);
}

ShardLayout lay_out(const std::vector<ParameterPlace>& places, const std::vector<Piece>& pieces) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "muster-checkpoint"}};
  std::uint64_t at = 0;
  ShardLayout layout;
  for (const Piece& piece : pieces) {
    const std::string name =
        fmt::format("{}[{}:{}]", places[static_cast<std::size_t>(piece.parameter)].name,
                    piece.begin, piece.end);
    auto& offsets = layout.offsets.emplace_back();
    for (int state = 0; state < kStateCount; ++state) {
      const std::uint64_t end = at + static_cast<std::uint64_t>(piece.elements()) * sizeof(float);
      header[fmt::format("{}.{}", name, kStates[state])] = {
          {"dtype", "F32"}, {"shape", {piece.elements()}}, {"data_offsets", {at, end}}};
      offsets[static_cast<std::size_t>(state)] = at;
      at = end;
    }
  }
  // The header's own length decides how many blocks there are, and that is written in the header:
  // two rounds settle it, since the padding leaves room for the digits.
  std::string text;
  std::uint64_t blocks = blocks_before(at);
  for (int round = 0; round < 4; ++round) {
    header["block_checksums"] = {
        {"dtype", "U8"}, {"shape", {blocks * 8}}, {"data_offsets", {at, at + blocks * 8}}};
    text = header.dump();
    text.resize((text.size() + 63) / 64 * 64, ' ');
    const std::uint64_t needed = blocks_before(8 + text.size() + at);
    if (needed == blocks) break;
    blocks = needed;
  }
  const std::uint64_t length = text.size();
  layout.header.resize(sizeof length);
  std::memcpy(layout.header.data(), &length, sizeof length);
  layout.header += text;
  for (auto& offsets : layout.offsets) {
    for (std::uint64_t& offset : offsets) offset += layout.header.size();
  }
  layout.checksums_at = layout.header.size() + at;
  layout.bytes = layout.checksums_at + blocks * 8;
  return layout;
}

Result<CheckpointFile> write_shard(const fs::path& directory, const std::string& name,
                                   const std::vector<ParameterPlace>& places,
                                   const std::vector<Piece>& pieces, const StateReader& read) {
  const ShardLayout layout = lay_out(places, pieces);
  auto file = OutputFile::create(directory / name);
  if (!file) return file.error();
  BlockWriter blocks(*file);
  if (auto written = blocks.write(layout.header.data(), layout.header.size()); !written)
    return written.error();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (int state = 0; state < kStateCount; ++state) {
      const float* elements = read(static_cast<int>(i), state);
      auto written =
          blocks.write(elements, static_cast<std::uint64_t>(pieces[i].elements()) * sizeof(float));
      if (!written) return written.error();
    }
  }
  if (auto written = blocks.finish(); !written) return written.error();
  CheckpointFile result{name, file->bytes_written(), file->hex()};
  if (result.bytes != layout.bytes)
    throw std::logic_error("checkpoint: a shard's size is not what its layout says");
  if (auto closed = file->close(); !closed) return closed.error();
  return result;
}

std::vector<CheckpointTensor> index_tensors(const std::vector<ParameterPlace>& places,
                                            const std::vector<std::vector<Piece>>& written) {
  std::vector<CheckpointTensor> tensors;
  tensors.reserve(places.size());
  for (const ParameterPlace& place : places) tensors.push_back({place.name, place.shape, {}});
  for (std::size_t rank = 0; rank < written.size(); ++rank) {
    const ShardLayout layout = lay_out(places, written[rank]);
    for (std::size_t i = 0; i < written[rank].size(); ++i) {
      const Piece& piece = written[rank][i];
      Slice slice{static_cast<int>(rank), piece.begin, piece.end, {}};
      std::copy(layout.offsets[i].begin(), layout.offsets[i].end(), slice.offset);
      tensors[static_cast<std::size_t>(piece.parameter)].slices.push_back(slice);
    }
  }
  for (CheckpointTensor& tensor : tensors) {
    std::sort(tensor.slices.begin(), tensor.slices.end(),
              [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
  }
  return tensors;
}

// CheckpointStore

std::vector<std::int64_t> CheckpointStore::steps() const {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_, error)) {
    if (const auto step = step_of(entry.path().filename().string())) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

Result<fs::path> CheckpointStore::begin(std::int64_t step) const {
  const fs::path directory = path(step).string() + std::string(kUnfinished);
  if (auto removed = remove_tree(directory); !removed) return removed.error();
  if (auto made = make_directory(directory); !made) return made.error();
  return directory;
}

void CheckpointStore::discard(std::int64_t step) const {
  (void)remove_tree(path(step).string() + std::string(kUnfinished));
}

Result<fs::path> CheckpointStore::commit(const Manifest& manifest) const {
  const fs::path final_path = path(manifest.step);
  const fs::path directory = final_path.string() + std::string(kUnfinished);
  for (const CheckpointFile& file : manifest.files) {
    std::error_code error;
    if (fs::file_size(directory / file.name, error) != file.bytes || error) {
      return Failure(error_at({(directory / file.name).string()}, kWriteRule,
                              "a rank wrote this file, but it is not to be seen from rank 0",
                              "--out must be on a file system that all nodes share"));
    }
  }
  const std::string text = write_manifest(manifest);
  std::string checksums = fmt::format("{}  {}\n", digest(text), kManifestName);
  for (const CheckpointFile& file : manifest.files)
    checksums += fmt::format("{}  {}\n", file.digest, file.name);
  if (auto written = write_file(directory / kManifestName, text); !written) return written.error();
  if (auto written = write_file(directory / kChecksumsName, checksums); !written)
    return written.error();
  if (auto synced = sync_directory(directory); !synced) return synced.error();
  // A checkpoint of that step may be there already (damaged, or made by a run that was resumed from
  // an earlier one): change places with it in one move, then remove it.
  if (::syscall(SYS_renameat2, AT_FDCWD, directory.c_str(), AT_FDCWD, final_path.c_str(),
                RENAME_EXCHANGE) == 0) {
    if (auto removed = remove_tree(directory); !removed) return removed.error();
  } else {
    if (errno != ENOENT) {  // no exchange on this file system
      if (auto removed = remove_tree(final_path); !removed) return removed.error();
    }
    if (::rename(directory.c_str(), final_path.c_str()) != 0)
      return cannot_write(final_path, errno);
  }
  if (auto synced = sync_directory(root_); !synced) return synced.error();
  return final_path;
}

Result<void> CheckpointStore::prune(std::int64_t step, int keep) const {
  int seen = 0;
  for (const std::int64_t candidate : steps()) {
    if (candidate > step || ++seen <= keep) continue;
    // Renamed first, so that a removal cut short leaves nothing that looks like a checkpoint.
    const fs::path doomed = path(candidate).string() + std::string(kUnfinished);
    if (::rename(path(candidate).c_str(), doomed.c_str()) != 0)
      return cannot_write(path(candidate), errno);
  }
  std::vector<fs::path> unfinished;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_, error)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(kUnfinished)) continue;
    name.resize(name.size() - kUnfinished.size());
    if (step_of(name)) unfinished.push_back(entry.path());
  }
  for (const fs::path& path : unfinished) {
    if (auto removed = remove_tree(path); !removed) return removed;
  }
  return {};
}

// Checkpoint

Result<Checkpoint> Checkpoint::open(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return Failure(error_at({directory.string()}, "checkpoint-missing",
                            "there is no checkpoint here",
                            "name a directory like OUT/checkpoints/step-00000050"));
  }
  auto checksums_file = MappedFile::open(directory / kChecksumsName);
  if (!checksums_file) return checksums_file.error();
  auto checksums = parse_checksums(directory / kChecksumsName, checksums_file->text());
  if (!checksums) return checksums.error();
  const fs::path manifest_path = directory / kManifestName;
  auto manifest_file = MappedFile::open(manifest_path);
  if (!manifest_file) return manifest_file.error();
  const std::string_view text = manifest_file->text();
  if (const auto listed = checksums->find(kManifestName);
      listed == checksums->end() || listed->second != digest(text)) {
    return damaged(
        manifest_path,
        fmt::format("the manifest ({} bytes, from byte offset 0) does not match its checksum in {}",
                    text.size(), kChecksumsName));
  }
  auto manifest = parse_manifest(text, manifest_path.string());
  if (!manifest) return manifest.error();
  Checkpoint checkpoint;
  checkpoint.path_ = directory;
  for (const CheckpointFile& entry : manifest->files) {
    if (const auto listed = checksums->find(entry.name);
        listed == checksums->end() || listed->second != entry.digest) {
      return damaged(
          directory / kChecksumsName,
          fmt::format("the checksum of {} is not the one that the manifest has", entry.name));
    }
    auto file = MappedFile::open(directory / entry.name);
    if (!file) return file.error();
    if (file->bytes().size() != entry.bytes) {
      return damaged(
          directory / entry.name,
          fmt::format("damaged at byte offset {}: the file has {} bytes where the manifest has {}",
                      std::min<std::uint64_t>(file->bytes().size(), entry.bytes),
                      file->bytes().size(), entry.bytes));
    }
    checkpoint.files_.push_back(std::move(*file));
  }
  checkpoint.manifest_ = std::move(*manifest);
  return checkpoint;
}

Result<void> Checkpoint::verify_file(std::size_t index) const {
  const auto bytes = files_[index].bytes();
  if (digest(bytes.data(), bytes.size()) == manifest_.files[index].digest) return {};
  // Which block? The file's last part has their checksums: 8 bytes for each block before it.
  std::uint64_t blocks = bytes.size() / (kBlockBytes + 8);
  while (blocks * 8 < bytes.size() && blocks_before(bytes.size() - blocks * 8) > blocks) ++blocks;
  const std::uint64_t table = bytes.size() - blocks * 8;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::uint64_t begin = block * kBlockBytes;
    std::uint64_t expected = 0;
    std::memcpy(&expected, bytes.data() + table + block * 8, sizeof expected);
    const std::uint64_t size = std::min(kBlockBytes, table - begin);
    if (digest64(bytes.data() + begin, size) != expected) {
      return damaged(files_[index].path(),
                     fmt::format("damaged at byte offset {}: the block of {} bytes that starts "
                                 "there does not match its checksum",
                                 begin, size));
    }
  }
  return damaged(
      files_[index].path(),
      fmt::format("damaged at or after byte offset {}: the file does not match its checksum",
                  table));
}

Result<void> Checkpoint::verify() const {
  for (std::size_t index = 0; index < files_.size(); ++index) {
    if (auto verified = verify_file(index); !verified) return verified;
  }
  return {};
}

void Checkpoint::read(std::size_t tensor, int state, std::int64_t begin, std::int64_t end,
                      float* out) const {
  for (const Slice& slice : manifest_.tensors[tensor].slices) {
    const std::int64_t from = std::max(begin, slice.begin);
    const std::int64_t to = std::min(end, slice.end);
    if (from >= to) continue;
    const std::byte* data =
        files_[static_cast<std::size_t>(slice.file)].bytes().data() + slice.offset[state];
    std::memcpy(out + (from - begin),
                data + static_cast<std::uint64_t>(from - slice.begin) * sizeof(float),
                static_cast<std::size_t>(to - from) * sizeof(float));
  }
}

std::optional<std::size_t> Checkpoint::find(const std::string& name) const {
  for (std::size_t index = 0; index < manifest_.tensors.size(); ++index) {
    if (manifest_.tensors[index].name == name) return index;
  }
  return std::nullopt;
}

}  // namespace muster::train
