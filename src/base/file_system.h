// The seam to the disk: an interface with a real and an in-memory implementation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct FileInfo {
  enum class Kind { kFile, kDirectory, kSymlink, kOther };
  Kind kind = Kind::kFile;
  std::uint64_t size = 0;
  bool executable = false;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Whole contents. The failure names the path and the operating system's reason.
  virtual Result<std::string> read(const std::filesystem::path& path) const = 0;

  /// Writes whole or not at all: beside the target, flushed to disk, then renamed over it. Parent
  /// directories are made. On failure nothing of the attempt is left.
  virtual Result<void> write(const std::filesystem::path& path, std::string_view content,
                             bool executable = false) = 0;

  virtual Result<void> append(const std::filesystem::path& path, std::string_view content) = 0;
  virtual Result<void> make_directories(const std::filesystem::path& path) = 0;
  virtual Result<void> rename(const std::filesystem::path& from,
                              const std::filesystem::path& to) = 0;
  virtual Result<void> remove_all(const std::filesystem::path& path) = 0;

  /// What is there (symlinks not followed), or nothing.
  virtual std::optional<FileInfo> info(const std::filesystem::path& path) const = 0;
  bool exists(const std::filesystem::path& path) const { return info(path).has_value(); }

  /// Names in a directory, sorted by bytes.
  virtual Result<std::vector<std::string>> list(const std::filesystem::path& path) const = 0;
};

/// The machine's disk.
FileSystem& real_file_system();

/// A disk in memory for tests. `fail_after(n)` makes the n-th next write fail as a full disk does.
class MemoryFileSystem : public FileSystem {
 public:
  MemoryFileSystem();
  ~MemoryFileSystem() override;
  void fail_after(int writes);

  Result<std::string> read(const std::filesystem::path& path) const override;
  Result<void> write(const std::filesystem::path& path, std::string_view content,
                     bool executable = false) override;
  Result<void> append(const std::filesystem::path& path, std::string_view content) override;
  Result<void> make_directories(const std::filesystem::path& path) override;
  Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  Result<void> remove_all(const std::filesystem::path& path) override;
  std::optional<FileInfo> info(const std::filesystem::path& path) const override;
  Result<std::vector<std::string>> list(const std::filesystem::path& path) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
