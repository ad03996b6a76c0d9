#include <cerrno>
#include <mutex>

#include "base/file_system.h"
#include "base/io_failure.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

/// One spelling per file: normal form without a final slash.
std::string key_of(const fs::path& path) {
  std::string key = path.lexically_normal().generic_string();
  while (key.size() > 1 && key.back() == '/') key.pop_back();
  return key.empty() ? "." : key;
}

bool is_root(const std::string& key) {
  return key == "." || key == "/";
}

std::string prefix_of(const std::string& key) {
  if (key == "/") return "/";
  return key == "." ? "" : key + "/";
}

}  // namespace

struct MemoryFileSystem::State {
  struct Entry {
    bool directory = false;
    bool executable = false;
    std::string content;
  };

  mutable std::mutex mutex;
  std::map<std::string, Entry> entries;
  int writes_until_full = 0;

  bool disk_full() { return writes_until_full > 0 && --writes_until_full == 0; }

  bool is_directory(const std::string& key) const {
    if (is_root(key)) return true;
    const auto found = entries.find(key);
    return found != entries.end() && found->second.directory;
  }

  /// Makes a directory and its parents; 0 or the error.
  int make(const std::string& key) {
    if (is_directory(key)) return 0;
    if (entries.count(key) != 0) return ENOTDIR;
    if (const int error = make(key_of(fs::path(key).parent_path()))) return error;
    entries[key].directory = true;
    return 0;
  }

  /// The file to write, its parents made; sets `error` instead when that can't be.
  Entry* file_for_writing(const fs::path& path, int& error) {
    const std::string key = key_of(path);
    if (is_directory(key)) {
      error = EISDIR;
    } else if (disk_full()) {
      error = ENOSPC;
    } else {
      error = make(key_of(fs::path(key).parent_path()));
    }
    return error == 0 ? &entries[key] : nullptr;
  }
};

MemoryFileSystem::MemoryFileSystem() : state_(std::make_unique<State>()) {}
MemoryFileSystem::~MemoryFileSystem() = default;

void MemoryFileSystem::fail_after(int writes) {
  const std::lock_guard lock(state_->mutex);
  state_->writes_until_full = writes;
}

Result<std::string> MemoryFileSystem::read(const fs::path& path) const {
  const std::lock_guard lock(state_->mutex);
  const std::string key = key_of(path);
  const auto found = state_->entries.find(key);
  if (state_->is_directory(key))
    return io_failure(path, "file-unreadable", "can't be read", EISDIR);
  if (found == state_->entries.end())
    return io_failure(path, "file-unreadable", "can't be read", ENOENT);
  return found->second.content;
}

Result<void> MemoryFileSystem::write(const fs::path& path, std::string_view content,
                                     bool executable) {
  const std::lock_guard lock(state_->mutex);
  int error = 0;
  State::Entry* file = state_->file_for_writing(path, error);
  if (file == nullptr) return io_failure(path, "file-unwritable", "can't be written", error);
  file->content = content;
  file->executable = executable;
  return {};
}

Result<void> MemoryFileSystem::append(const fs::path& path, std::string_view content) {
  const std::lock_guard lock(state_->mutex);
  int error = 0;
  State::Entry* file = state_->file_for_writing(path, error);
  if (file == nullptr) return io_failure(path, "file-unwritable", "can't be written", error);
  file->content += content;
  return {};
}

Result<void> MemoryFileSystem::make_directories(const fs::path& path) {
  const std::lock_guard lock(state_->mutex);
  const std::string key = key_of(path);
  int error = 0;
  if (!state_->is_directory(key)) error = state_->disk_full() ? ENOSPC : state_->make(key);
  if (error != 0) return io_failure(path, "file-unwritable", "can't be made", error);
  return {};
}

Result<void> MemoryFileSystem::rename(const fs::path& from, const fs::path& to) {
  const std::lock_guard lock(state_->mutex);
  const std::string source = key_of(from);
  const std::string target = key_of(to);
  const auto fail = [&](int error) {
    return io_failure(from, "file-unwritable", "can't be renamed to " + to.string(), error);
  };
  auto& entries = state_->entries;
  const auto found = entries.find(source);
  if (found == entries.end()) return fail(ENOENT);
  if (source == target) return {};
  if (target.rfind(prefix_of(source), 0) == 0) return fail(EINVAL);
  if (!state_->is_directory(key_of(fs::path(target).parent_path()))) return fail(ENOENT);
  if (state_->is_directory(target)) {
    if (!found->second.directory) return fail(EISDIR);
    const auto inside = entries.lower_bound(prefix_of(target));
    if (inside != entries.end() && inside->first.rfind(prefix_of(target), 0) == 0)
      return fail(ENOTEMPTY);
  } else if (found->second.directory && entries.count(target) != 0) {
    return fail(ENOTDIR);
  }
  std::map<std::string, State::Entry> moved;
  moved[target] = std::move(found->second);
  entries.erase(found);
  const std::string prefix = prefix_of(source);
  for (auto it = entries.lower_bound(prefix);
       it != entries.end() && it->first.rfind(prefix, 0) == 0;) {
    moved[prefix_of(target) + it->first.substr(prefix.size())] = std::move(it->second);
    it = entries.erase(it);
  }
  for (auto& [key, entry] : moved) entries[key] = std::move(entry);
  return {};
}

Result<void> MemoryFileSystem::remove_all(const fs::path& path) {
  const std::lock_guard lock(state_->mutex);
  const std::string key = key_of(path);
  const std::string prefix = prefix_of(key);
  auto& entries = state_->entries;
  entries.erase(key);
  for (auto it = entries.lower_bound(prefix);
       it != entries.end() && it->first.rfind(prefix, 0) == 0;) {
    it = entries.erase(it);
  }
  return {};
}

std::optional<FileInfo> MemoryFileSystem::info(const fs::path& path) const {
  const std::lock_guard lock(state_->mutex);
  const std::string key = key_of(path);
  FileInfo info;
  if (state_->is_directory(key)) {
    info.kind = FileInfo::Kind::kDirectory;
    return info;
  }
  const auto found = state_->entries.find(key);
  if (found == state_->entries.end()) return std::nullopt;
  info.size = found->second.content.size();
  info.executable = found->second.executable;
  return info;
}

Result<std::vector<std::string>> MemoryFileSystem::list(const fs::path& path) const {
  const std::lock_guard lock(state_->mutex);
  const std::string key = key_of(path);
  if (!state_->is_directory(key)) {
    const int error = state_->entries.count(key) != 0 ? ENOTDIR : ENOENT;
    return io_failure(path, "file-unreadable", "can't be listed", error);
  }
  std::vector<std::string> names;
  const std::string prefix = prefix_of(key);
  for (const auto& [name, entry] : state_->entries) {
    if (name.size() <= prefix.size() || name.rfind(prefix, 0) != 0) continue;
    if (key == "." && name[0] == '/') continue;
    const std::string rest = name.substr(prefix.size());
    if (rest.find('/') == std::string::npos) names.push_back(rest);
  }
  return names;  // a map's keys are sorted already
}

}  // namespace muster
