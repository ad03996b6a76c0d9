// Large files: mapped for reading; written piece by piece, whole or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/train/digest.h"

namespace muster::train {

/// The rule of every finding about output that could not be written (disk full, read-only, no
/// permission).
inline constexpr const char* kWriteRule = "output-write";

/// What the program exits with when its output could not be written: EX_TEMPFAIL of sysexits.h.
inline constexpr int kExitCannotWrite = 75;

/// kExitCannotWrite when a finding is about output that could not be written, else kExitBadInput.
int exit_code_for(const Findings& findings);

/// The findings as one text, one a line.
std::string to_text(const Findings& findings);

/// A failure to write `path`, with the operating system's reason.
Failure cannot_write(const std::filesystem::path& path, int error_number);

/// A file's bytes, mapped read-only for as long as the object lives. An empty file has an empty
/// span.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::filesystem::path path_;
};

/// A new file that appears under its name only when close() succeeds: written beside
/// (`NAME.partial`), flushed to disk, renamed. The digest of all bytes is made on the way.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  ///< removes what was written when close() was not called

  Result<void> write(const void* data, std::size_t bytes);
  Result<void> write(std::string_view text) { return write(text.data(), text.size()); }
  Result<void> close();

  std::uint64_t bytes_written() const { return written_; }
  std::string hex() const { return digest_->hex(); }

 private:
  OutputFile() = default;
  int fd_ = -1;
  std::uint64_t written_ = 0;
  std::unique_ptr<Digest> digest_;
  std::filesystem::path path_;
  std::filesystem::path partial_;
};

/// Writes a small file whole or not at all.
Result<void> write_file(const std::filesystem::path& path, std::string_view content);

/// Makes a directory's entries durable.
Result<void> sync_directory(const std::filesystem::path& directory);

/// Makes a directory and its parents.
Result<void> make_directory(const std::filesystem::path& directory);

/// Removes a tree, missing or not.
Result<void> remove_tree(const std::filesystem::path& path);

/// An exclusive lock on a directory, held until the object goes away (or the process ends,
/// however).
class DirectoryLock {
 public:
  /// Fails when another process holds it, naming that process.
  static Result<DirectoryLock> take(const std::filesystem::path& directory);
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~DirectoryLock();

 private:
  DirectoryLock() = default;
  int fd_ = -1;
};

}  // namespace muster::train
