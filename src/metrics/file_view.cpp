#include "metrics/file_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace muster::metrics {
namespace {

class Reading {
 public:
  Reading(Watch& watch, const std::string& file) : watch_(watch) { watch_.enter(file); }
  ~Reading() { watch_.leave(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  Watch& watch_;
};

Failure unreadable(const std::string& file, int error) {
  return failure("file-unreadable",
                 fmt::format("{}: {}", file, std::generic_category().message(error)));
}

}  // namespace

void Watch::enter(const std::string& file) {
  const std::lock_guard lock(mutex_);
  file_ = file;
  since_ = std::chrono::steady_clock::now();
}

void Watch::leave() {
  const std::lock_guard lock(mutex_);
  file_.clear();
}

std::string Watch::longer_than(std::chrono::milliseconds limit) const {
  const std::lock_guard lock(mutex_);
  return !file_.empty() && std::chrono::steady_clock::now() - since_ > limit ? file_
                                                                             : std::string();
}

OpenFiles::~OpenFiles() {
  for (const auto& [file, one] : open_) close(one.descriptor);
}

int OpenFiles::find(const std::string& file, std::uint64_t inode) {
  const auto found = open_.find(file);
  if (found == open_.end()) return -1;
  if (found->second.inode != inode) {
    drop(file);
    return -1;
  }
  found->second.used = true;
  return found->second.descriptor;
}

bool OpenFiles::keep(const std::string& file, std::uint64_t inode, int descriptor) {
  constexpr std::size_t kMost = 8192;
  if (open_.size() >= kMost) return false;
  open_[file] = {descriptor, inode, true};
  return true;
}

void OpenFiles::drop(const std::string& file) {
  const auto found = open_.find(file);
  if (found == open_.end()) return;
  close(found->second.descriptor);
  open_.erase(found);
}

void OpenFiles::close_unused() {
  for (auto at = open_.begin(); at != open_.end();) {
    if (at->second.used) {
      (at++)->second.used = false;
    } else {
      close(at->second.descriptor);
      at = open_.erase(at);
    }
  }
}

Result<std::string> WatchedView::file(const std::filesystem::path& path) const {
  const std::string file = root_ + path.native();
  if (left_out_.count(file) > 0) return unreadable(file, ETIMEDOUT);
  const Reading reading(watch_, file);
  const std::size_t slash = file.rfind('/');
  const auto inode = slash != std::string::npos && file.compare(0, slash, folder_) == 0
                         ? inodes_.find(file.substr(slash + 1))
                         : inodes_.end();
  if (inode != inodes_.end()) {
    if (const int kept = open_.find(file, inode->second); kept >= 0) {
      char buffer[4096];
      const ssize_t got = pread(kept, buffer, sizeof buffer, 0);
      if (got >= 0 && got < static_cast<ssize_t>(sizeof buffer))
        return std::string(buffer, static_cast<std::size_t>(got));
      open_.drop(file);  // of a device that has gone, or larger than such files are
    }
  }
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return unreadable(file, errno);
  std::string text;
  char buffer[4096];
  constexpr std::size_t kMost = std::size_t{16} << 20;
  ssize_t got = 0;
  do {
    got = read(descriptor, buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    // Of a file, less than was asked for is its end.
  } while (got == static_cast<ssize_t>(sizeof buffer) && text.size() < kMost);
  const int error = errno;
  struct stat status {};
  const bool stays = got >= 0 && text.size() < sizeof buffer && inode != inodes_.end() &&
                     fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                     open_.keep(file, inode->second, descriptor);
  if (!stays) close(descriptor);
  if (got < 0) return unreadable(file, error);
  if (text.size() >= kMost) return unreadable(file, EFBIG);
  return text;
}

Result<std::vector<std::string>> WatchedView::list(const std::filesystem::path& path) const {
  const std::string folder = root_ + path.native();
  if (left_out_.count(folder) > 0) return unreadable(folder, ETIMEDOUT);
  const Reading reading(watch_, folder);
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) return unreadable(folder, errno);
  folder_ = folder;
  inodes_.clear();
  while (const dirent* entry = readdir(open)) {  // NOLINT(concurrency-mt-unsafe): own stream
    const std::string name = entry->d_name;
    if (name != "." && name != "..") inodes_[name] = entry->d_ino;
  }
  closedir(open);
  std::vector<std::string> names;
  names.reserve(inodes_.size());
  for (const auto& [name, inode] : inodes_) names.push_back(name);
  return names;
}

bool WatchedView::exists(const std::filesystem::path& path) const {
  const std::string file = root_ + path.native();
  if (left_out_.count(file) > 0) return false;
  const Reading reading(watch_, file);
  return access(file.c_str(), F_OK) == 0;
}

Result<double> WatchedView::written(const std::filesystem::path& path) const {
  const std::string file = root_ + path.native();
  const Reading reading(watch_, file);
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return unreadable(file, errno);
  return static_cast<double>(status.st_mtim.tv_sec) +
         static_cast<double>(status.st_mtim.tv_nsec) / 1e9;
}

Result<ProcessResult> WatchedView::run(const std::vector<std::string>& argv,
                                       std::chrono::milliseconds /*limit*/) const {
  return failure("no-command", fmt::format("{} is not run here", argv.front()));
}

}  // namespace muster::metrics
