// The formats are git's: Documentation/gitformat-pack (pack version 2, index version 2).
#include "reorg/pack_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <zlib.h>

namespace muster::reorg {
namespace {

constexpr std::size_t kPackHeader = 12;  // PACK, version, count
constexpr std::uint32_t kPackVersion = 2;

class Sha1 {
 public:
  Sha1() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha1(), nullptr);
  }
  void update(std::string_view data) { EVP_DigestUpdate(context_.get(), data.data(), data.size()); }
  ObjectId digest() {
    ObjectId id;
    unsigned length = 0;
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    EVP_DigestFinal_ex(context_.get(), bytes.data(), &length);
    std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
    return id;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string_view bytes_of(const ObjectId& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

void put_number(std::string& text, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
}

/// Type and size of an entry: four bits of the size beside the type, then seven a byte.
std::string entry_header(PackedType type, std::size_t size) {
  std::string header;
  unsigned byte = static_cast<unsigned>(type) << 4 | (size & 15);
  size >>= 4;
  while (size > 0) {
    header += static_cast<char>(byte | 0x80);
    byte = size & 0x7f;
    size >>= 7;
  }
  header += static_cast<char>(byte);
  return header;
}

Failure disk_failure(const std::filesystem::path& path, const char* what) {
  return failure("git-pack", fmt::format("{}: {}: {}", path.string(), what,
                                         std::generic_category().message(errno)));
}

bool write_fully(int file, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(file, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

struct PackWriter::State {
  struct PackEntry {
    std::uint64_t offset = 0;
    std::uint32_t checksum = 0;
  };
  std::filesystem::path folder, path;
  int file = -1;
  std::mutex mutex;
  std::set<ObjectId> begun;  ///< given to a thread, or written
  std::map<ObjectId, PackEntry> entries;
  std::uint64_t size = kPackHeader;
  std::string waiting;  ///< not yet written

  ~State() {
    if (file >= 0) ::close(file);
    if (!path.empty()) ::unlink(path.c_str());
  }
  bool flush() {
    const bool done = write_fully(file, waiting);
    waiting.clear();
    return done;
  }
};

PackWriter::PackWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackWriter::~PackWriter() = default;

Result<std::unique_ptr<PackWriter>> PackWriter::create(const std::filesystem::path& objects) {
  auto state = std::make_unique<State>();
  state->folder = objects / "pack";
  std::error_code ignored;
  std::filesystem::create_directories(state->folder, ignored);
  std::string name = (state->folder / "tmp_pack_XXXXXX").string();
  state->file = ::mkostemp(name.data(), O_CLOEXEC);
  if (state->file < 0) return disk_failure(state->folder, "a pack can't be made");
  state->path = name;
  state->waiting.assign(kPackHeader, '\0');  // written at the end, when the count is known
  return std::unique_ptr<PackWriter>(new PackWriter(std::move(state)));
}

Result<ObjectId> PackWriter::add(PackedType type, std::string_view content) {
  Sha1 hash;
  hash.update(fmt::format("{} {}", type == PackedType::kTree ? "tree" : "blob", content.size()));
  hash.update(std::string_view("\0", 1));
  hash.update(content);
  const ObjectId id = hash.digest();
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->begun.insert(id).second) return id;
  }
  // Compressed outside the lock, so that threads do it side by side.
  std::string entry = entry_header(type, content.size());
  uLongf length = compressBound(static_cast<uLong>(content.size()));
  const std::size_t head = entry.size();
  entry.resize(head + length);
  if (compress2(reinterpret_cast<Bytef*>(entry.data() + head), &length,
                reinterpret_cast<const Bytef*>(content.data()), static_cast<uLong>(content.size()),
                Z_BEST_SPEED) != Z_OK) {
    return failure("git-pack", "an object can't be compressed");
  }
  entry.resize(head + length);
  const auto checksum = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(entry.data()), entry.size()));

  const std::lock_guard lock(state_->mutex);
  state_->entries[id] = {state_->size, checksum};
  state_->size += entry.size();
  state_->waiting += entry;
  constexpr std::size_t kChunk = std::size_t{4} << 20;
  if (state_->waiting.size() >= kChunk && !state_->flush())
    return disk_failure(state_->path, "the pack can't be written");
  return id;
}

Result<void> PackWriter::finish() {
  State& state = *state_;
  if (state.entries.empty()) return {};
  std::string header = "PACK";
  put_number(header, kPackVersion);
  put_number(header, static_cast<std::uint32_t>(state.entries.size()));
  if (!state.flush() || ::pwrite(state.file, header.data(), header.size(), 0) !=
                            static_cast<ssize_t>(header.size())) {
    return disk_failure(state.path, "the pack can't be written");
  }
  // The pack ends in the checksum of all that is before.
  Sha1 whole;
  std::vector<char> piece(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < state.size;) {
    const ssize_t read = ::pread(state.file, piece.data(), piece.size(), static_cast<off_t>(at));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return disk_failure(state.path, "the pack can't be read back");
    whole.update({piece.data(), static_cast<std::size_t>(read)});
    at += static_cast<std::uint64_t>(read);
  }
  const ObjectId pack = whole.digest();
  if (!write_fully(state.file, bytes_of(pack)))
    return disk_failure(state.path, "the pack can't be written");

  std::string index = "\377tOc";
  put_number(index, kPackVersion);
  std::array<std::uint32_t, 256> fanout{};
  for (const auto& [id, entry] : state.entries) ++fanout[id.bytes[0]];
  std::uint32_t below = 0;
  for (const std::uint32_t count : fanout) put_number(index, below += count);
  for (const auto& [id, entry] : state.entries) index += bytes_of(id);
  for (const auto& [id, entry] : state.entries) put_number(index, entry.checksum);
  // Offsets that need more than 31 bits stand in a table of their own.
  std::string large;
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 31;
  for (const auto& [id, entry] : state.entries) {
    if (entry.offset < kSmall) {
      put_number(index, static_cast<std::uint32_t>(entry.offset));
      continue;
    }
    put_number(index, static_cast<std::uint32_t>(kSmall | large.size() / 8));
    put_number(large, static_cast<std::uint32_t>(entry.offset >> 32));
    put_number(large, static_cast<std::uint32_t>(entry.offset));
  }
  index += large;
  index += bytes_of(pack);
  Sha1 own;
  own.update(index);
  index += bytes_of(own.digest());

  // git's modes: to be read by all, written by none.
  constexpr mode_t kMode = 0444;
  const std::string name = "pack-" + pack.hex();
  std::string beside = (state.folder / "tmp_idx_XXXXXX").string();
  const int file = ::mkostemp(beside.data(), O_CLOEXEC);
  if (file < 0) return disk_failure(state.folder, "an index can't be made");
  const bool written =
      write_fully(file, index) && ::fchmod(file, kMode) == 0 && ::fchmod(state.file, kMode) == 0;
  const int why = errno;
  ::close(file);
  const auto final_pack = state.folder / (name + ".pack");
  if (!written || ::rename(state.path.c_str(), final_pack.c_str()) != 0) {
    errno = written ? errno : why;
    const Failure failed = disk_failure(state.folder, "the pack can't be put in its place");
    ::unlink(beside.c_str());
    return failed;
  }
  state.path.clear();
  if (::rename(beside.c_str(), (state.folder / (name + ".idx")).c_str()) != 0) {
    const Failure failed = disk_failure(state.folder, "the index can't be put in its place");
    ::unlink(beside.c_str());
    ::unlink(final_pack.c_str());
    return failed;
  }
  return {};
}

}  // namespace muster::reorg
