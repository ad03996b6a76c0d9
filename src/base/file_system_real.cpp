#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/file_system.h"
#include "base/io_failure.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

Failure write_failure(const fs::path& path, int error) {
  return io_failure(path, "file-unwritable", "can't be written", error);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  /// 0, or the error that the system tells only at the end (network file systems, quotas).
  int close() {
    if (fd_ < 0) return 0;
    return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

/// Writes all bytes; 0 or the error.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

fs::path parent_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

/// Makes the parents of a file, and takes those it made away again unless kept.
class Parents {
 public:
  explicit Parents(const fs::path& directory) {
    fs::path missing = directory;
    std::error_code ignored;
    while (!missing.empty() && !fs::exists(missing, ignored)) {
      made_.push_back(missing);
      if (missing == missing.parent_path()) break;
      missing = missing.parent_path();
    }
    fs::create_directories(directory, error_);
  }
  ~Parents() {
    if (kept_) return;
    std::error_code ignored;
    for (const fs::path& path : made_)
      ::rmdir(path.c_str());  // fails where others have put files: right
  }
  Parents(const Parents&) = delete;
  Parents& operator=(const Parents&) = delete;

  int error() const { return error_.value(); }
  void keep() { kept_ = true; }

 private:
  std::vector<fs::path> made_;
  std::error_code error_;
  bool kept_ = false;
};

void sync_directory(const fs::path& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.valid())
    ::fsync(opened.get());  // some file systems refuse; the rename is done all the same
}

class RealFileSystem : public FileSystem {
 public:
  Result<std::string> read(const fs::path& path) const override {
    const auto fail = [&](int error) {
      return io_failure(path, "file-unreadable", "can't be read", error);
    };
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return fail(errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return fail(errno);
    std::string content;
    std::size_t used = 0;
    // The size is a hint only: files of /proc say 0.
    content.resize(std::max<std::size_t>(static_cast<std::size_t>(status.st_size) + 1, 4096));
    while (true) {
      const ssize_t got = ::read(file.get(), content.data() + used, content.size() - used);
      if (got < 0) {
        if (errno == EINTR) continue;
        return fail(errno);
      }
      if (got == 0) break;
      used += static_cast<std::size_t>(got);
      if (used == content.size()) content.resize(content.size() * 2);
    }
    content.resize(used);
    return content;
  }

  Result<void> write(const fs::path& path, std::string_view content, bool executable) override {
    static std::atomic<unsigned> counter{0};
    const fs::path directory = parent_of(path);
    Parents parents(directory);
    if (parents.error() != 0) return write_failure(path, parents.error());
    const fs::path beside =
        directory / ("." + path.filename().string() + "." + std::to_string(::getpid()) + "." +
                     std::to_string(counter++) + ".tmp");
    if (const int error = write_new(beside, content, executable)) {
      ::unlink(beside.c_str());
      return write_failure(path, error);
    }
    if (::rename(beside.c_str(), path.c_str()) != 0) {
      const int error = errno;
      ::unlink(beside.c_str());
      return write_failure(path, error);
    }
    sync_directory(directory);
    parents.keep();
    return {};
  }

  Result<void> append(const fs::path& path, std::string_view content) override {
    Parents parents(parent_of(path));
    if (parents.error() != 0) return write_failure(path, parents.error());
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file.valid()) return write_failure(path, errno);
    parents.keep();
    if (const int error = write_all(file.get(), content)) return write_failure(path, error);
    if (const int error = file.close()) return write_failure(path, error);
    return {};
  }

  Result<void> make_directories(const fs::path& path) override {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return io_failure(path, "file-unwritable", "can't be made", error.value());
    return {};
  }

  Result<void> rename(const fs::path& from, const fs::path& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return io_failure(from, "file-unwritable", "can't be renamed to " + to.string(), errno);
  }

  Result<void> remove_all(const fs::path& path) override {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return io_failure(path, "file-unwritable", "can't be removed", error.value());
    return {};
  }

  std::optional<FileInfo> info(const fs::path& path) const override {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
    FileInfo info;
    info.size = static_cast<std::uint64_t>(status.st_size);
    info.executable = S_ISREG(status.st_mode) && (status.st_mode & S_IXUSR) != 0;
    if (S_ISREG(status.st_mode)) {
      info.kind = FileInfo::Kind::kFile;
    } else if (S_ISDIR(status.st_mode)) {
      info.kind = FileInfo::Kind::kDirectory;
    } else if (S_ISLNK(status.st_mode)) {
      info.kind = FileInfo::Kind::kSymlink;
    } else {
      info.kind = FileInfo::Kind::kOther;
    }
    return info;
  }

  Result<std::vector<std::string>> list(const fs::path& path) const override {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) return io_failure(path, "file-unreadable", "can't be listed", error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  /// Writes and flushes a file that must not exist yet; 0 or the error.
  static int write_new(const fs::path& path, std::string_view content, bool executable) {
    Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, executable ? 0777 : 0666));
    if (!file.valid()) return errno;
    if (const int error = write_all(file.get(), content)) return error;
    if (::fsync(file.get()) != 0 && errno != EINVAL) return errno;
    return file.close();
  }
};

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem file_system;
  return file_system;
}

}  // namespace muster
