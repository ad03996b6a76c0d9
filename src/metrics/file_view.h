// Files of a host, read without ceremony, each read in sight of who waits for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "health/view.h"

namespace muster::metrics {

/// Files below a root. Commands are not run.
class FileView : public health::HostView {
 public:
  /// When a file was written, in seconds since the epoch.
  virtual Result<double> written(const std::filesystem::path& path) const = 0;
};

/// What a thread is reading, for who waits for it.
class Watch {
 public:
  void enter(const std::string& file);
  void leave();
  /// The file that has been read for longer than that; empty: none.
  std::string longer_than(std::chrono::milliseconds limit) const;

 private:
  mutable std::mutex mutex_;
  std::string file_;
  std::chrono::steady_clock::time_point since_;
};

/// Files that stay open between collections: of a thousand small files of /sys, opening and closing
/// takes five times as long as reading. A file that was replaced since has another inode, and is
/// opened anew.
class OpenFiles {
 public:
  OpenFiles() = default;
  ~OpenFiles();
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  /// The open file; -1: none of that inode.
  int find(const std::string& file, std::uint64_t inode);
  /// Keeps it, and closes it some day; false: there is no room.
  bool keep(const std::string& file, std::uint64_t inode, int descriptor);
  void drop(const std::string& file);
  /// Closes what was not asked for since the last call.
  void close_unused();

 private:
  struct Open {
    int descriptor = -1;
    std::uint64_t inode = 0;
    bool used = true;
  };
  std::map<std::string, Open> open_;
};

class WatchedView : public FileView {
 public:
  /// `left_out`: files and folders that are not touched.
  WatchedView(const std::string& root, Watch& watch, const std::set<std::string>& left_out,
              OpenFiles& open)
      : root_(root), watch_(watch), left_out_(left_out), open_(open) {}

  Result<std::string> file(const std::filesystem::path& path) const override;
  Result<std::vector<std::string>> list(const std::filesystem::path& path) const override;
  bool exists(const std::filesystem::path& path) const override;
  Result<double> written(const std::filesystem::path& path) const override;
  Result<ProcessResult> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) const override;
  std::string name() const override { return root_; }

 private:
  const std::string& root_;
  Watch& watch_;
  const std::set<std::string>& left_out_;
  OpenFiles& open_;
  /// The folder that was listed last, and its inodes by name.
  mutable std::string folder_;
  mutable std::map<std::string, std::uint64_t> inodes_;
};

}  // namespace muster::metrics
