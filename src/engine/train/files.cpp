#include "engine/train/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/verdict.h"

namespace muster::train {

namespace fs = std::filesystem;

int exit_code_for(const Findings& findings) {
  const bool writing = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.rule == kWriteRule;
  });
  return writing ? kExitCannotWrite : static_cast<int>(kExitBadInput);
}

std::string to_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (!text.empty()) text += '\n';
    text += to_string(finding);
  }
  return text;
}

Failure cannot_write(const fs::path& path, int error_number) {
  const char* hint = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG
                         ? "free space there or choose another --out"
                         : "choose an --out that this process may write to";
  return Failure(error_at({path.string()}, kWriteRule,
                          fmt::format("cannot be written: {}", std::strerror(error_number)), hint));
}

// MappedFile

Result<MappedFile> MappedFile::open(const fs::path& path) {
  const auto fail = [&](int error_number) {
    return Failure(error_at({path.string()}, "file-unreadable",
                            fmt::format("cannot be read: {}", std::strerror(error_number))));
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(errno);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    const int error_number = S_ISDIR(info.st_mode) ? EISDIR : (errno != 0 ? errno : EINVAL);
    ::close(fd);
    return fail(error_number);
  }
  MappedFile file;
  file.path_ = path;
  file.size_ = static_cast<std::size_t>(info.st_size);
  if (file.size_ > 0) {
    void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      const int error_number = errno;
      ::close(fd);
      file.size_ = 0;
      return fail(error_number);
    }
    file.data_ = static_cast<const std::byte*>(data);
  }
  ::close(fd);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

// OutputFile

Result<OutputFile> OutputFile::create(const fs::path& path) {
  OutputFile file;
  file.path_ = path;
  file.partial_ = path.string() + ".partial";
  file.digest_ = std::make_unique<Digest>();
  file.fd_ = ::open(file.partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file.fd_ < 0) return cannot_write(path, errno);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      written_(other.written_),
      digest_(std::move(other.digest_)),
      path_(std::move(other.path_)),
      partial_(std::move(other.partial_)) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

Result<void> OutputFile::write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  std::size_t left = bytes;
  while (left > 0) {
    const ssize_t done = ::write(fd_, at, std::min<std::size_t>(left, 64U << 20));
    if (done < 0) {
      if (errno == EINTR) continue;
      return cannot_write(path_, errno);
    }
    at += done;
    left -= static_cast<std::size_t>(done);
  }
  digest_->update(data, bytes);
  written_ += bytes;
  return {};
}

Result<void> OutputFile::close() {
  const int fd = std::exchange(fd_, -1);
  const bool flushed = ::fsync(fd) == 0;
  const int flush_error = errno;
  const bool closed = ::close(fd) == 0;
  if (!flushed || !closed || ::rename(partial_.c_str(), path_.c_str()) != 0) {
    const int error_number = flushed ? errno : flush_error;
    ::unlink(partial_.c_str());
    return cannot_write(path_, error_number);
  }
  return {};
}

Result<void> write_file(const fs::path& path, std::string_view content) {
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  if (auto written = file->write(content); !written) return written;
  return file->close();
}

Result<void> sync_directory(const fs::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return cannot_write(directory, errno);
  // Some network file systems can't flush a directory; they answer EINVAL and need none.
  const bool flushed = ::fsync(fd) == 0 || errno == EINVAL;
  const int error_number = errno;
  ::close(fd);
  if (!flushed) return cannot_write(directory, error_number);
  return {};
}

Result<void> make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return cannot_write(directory, error.value());
  return {};
}

Result<void> remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return cannot_write(path, error.value());
  return {};
}

// DirectoryLock

Result<DirectoryLock> DirectoryLock::take(const fs::path& directory) {
  const fs::path path = directory / "lock";
  DirectoryLock lock;
  lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock.fd_ < 0) return cannot_write(path, errno);
  if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    char holder[64] = {};
    const ssize_t length = ::read(lock.fd_, holder, sizeof holder - 1);
    const std::string who =
        length > 0 ? std::string(holder, static_cast<std::size_t>(length)) : "another process";
    return Failure(error_at({path.string()}, "output-in-use",
                            fmt::format("{} is already training into this directory", who),
                            "choose another --out, or wait until it has ended"));
  }
  char host[128] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string me = fmt::format("process {} on {}", ::getpid(), host);
  if (::ftruncate(lock.fd_, 0) != 0 || ::pwrite(lock.fd_, me.data(), me.size(), 0) < 0) {
    return cannot_write(path, errno);
  }
  return lock;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace muster::train
