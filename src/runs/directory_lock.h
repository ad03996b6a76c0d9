// One writer a directory: a lock that the kernel releases when its holder dies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace muster::runs {

/// Who holds a lock, as the lock file says.
struct LockHolder {
  int pid = 0;
  std::string host;
};

/// Holds DIRECTORY/.lock (flock, closed on exec, so children never inherit it) from acquire() to
/// destruction. The file stays behind, empty; it is not part of the record.
class DirectoryLock {
 public:
  static constexpr const char* kFileName = ".lock";

  /// Takes the lock at once or fails, naming the process that has it ("held by process 4711 on
  /// node1"). The directory must exist.
  static Result<DirectoryLock> acquire(const std::filesystem::path& directory);

  /// Who holds the directory's lock now, or nothing when it is free. Never waits.
  static std::optional<LockHolder> holder(const std::filesystem::path& directory);

  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace muster::runs
