#include "runs/directory_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace muster::runs {
namespace {

// A lock of the open file description: unlike a classic record lock it does not vanish when another
// descriptor of the same process is closed, and it can be asked for without being taken.
struct flock whole_file(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

LockHolder read_holder(int fd) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size() - 1, 0);
  LockHolder holder;
  std::istringstream words(size > 0 ? std::string(text.data(), static_cast<std::size_t>(size))
                                    : std::string());
  words >> holder.pid >> holder.host;
  return holder;
}

}  // namespace

Result<DirectoryLock> DirectoryLock::acquire(const std::filesystem::path& directory) {
  const auto path = directory / kFileName;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return failure("directory-lock",
                   fmt::format("can't open {}: {}", path.string(), std::strerror(errno)));
  }
  DirectoryLock lock(fd);
  struct flock wish = whole_file(F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &wish) != 0) {
    if (errno != EAGAIN && errno != EACCES) {
      return failure("directory-lock",
                     fmt::format("can't lock {}: {}", path.string(), std::strerror(errno)));
    }
    const LockHolder holder = read_holder(fd);
    ::close(std::exchange(lock.fd_, -1));  // not ours: leave the holder's name in it
    return failure("directory-in-use",
                   holder.pid > 0
                       ? fmt::format("{} is in use by process {} on {}", directory.string(),
                                     holder.pid, holder.host)
                       : fmt::format("{} is in use by another process", directory.string()),
                   "wait for it, cancel it, or choose another directory");
  }
  const std::string name = fmt::format("{} {}\n", ::getpid(), host_name());
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, name.data(), name.size(), 0) != static_cast<ssize_t>(name.size())) {
    return failure("directory-lock",
                   fmt::format("can't write {}: {}", path.string(), std::strerror(errno)));
  }
  return lock;
}

std::optional<LockHolder> DirectoryLock::holder(const std::filesystem::path& directory) {
  const int fd = ::open((directory / kFileName).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return std::nullopt;
  }
  struct flock question = whole_file(F_WRLCK);
  std::optional<LockHolder> holder;
  if (::fcntl(fd, F_OFD_GETLK, &question) == 0 && question.l_type != F_UNLCK) {
    holder = read_holder(fd);
  }
  ::close(fd);
  return holder;
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) {
    [[maybe_unused]] const int emptied = ::ftruncate(fd_, 0);
    ::close(fd_);
  }
}

}  // namespace muster::runs
