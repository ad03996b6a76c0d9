#include "metrics/file_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

Result<std::string> WatchedView::file(const std::filesystem::path& path) const {
  const std::string file = root_ + path.native();
  if (left_out_.count(file) > 0) return unreadable(file, ETIMEDOUT);
  const Reading reading(watch_, file);
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
  close(descriptor);
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
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open)) {  // NOLINT(concurrency-mt-unsafe): own stream
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(open);
  std::sort(names.begin(), names.end());
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
