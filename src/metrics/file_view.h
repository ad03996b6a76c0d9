// Files of a host, read without ceremony, each read in sight of who waits for it.
#pragma once

#include <chrono>
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

class WatchedView : public FileView {
 public:
  /// `left_out`: files and folders that are not touched.
  WatchedView(const std::string& root, Watch& watch, const std::set<std::string>& left_out)
      : root_(root), watch_(watch), left_out_(left_out) {}

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
};

}  // namespace muster::metrics
