// Collecting from files that may not answer: a read that hangs in a driver can't be ended, only
// left behind. The file is named, and left out until it answers; everything else is read.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "metrics/exposition.h"
#include "metrics/file_view.h"

namespace muster::metrics {

/// What a collector says of itself.
struct CollectorState {
  bool present = true;  ///< the host has what it reads
  bool success = true;
  int unreadable = 0;
  std::vector<std::string> stuck;
  double seconds = 0;
};

class BoundedCollector {
 public:
  using Collect = std::function<CollectorState(const FileView&, Exposition&)>;
  struct Limits {
    std::chrono::milliseconds file{1000};   ///< of one file or folder
    std::chrono::milliseconds whole{5000};  ///< of a collection
    std::size_t left_behind = 16;           ///< reads that may hang at a time
  };

  BoundedCollector(std::string root, Collect collect, Limits limits);
  ~BoundedCollector();
  BoundedCollector(const BoundedCollector&) = delete;
  BoundedCollector& operator=(const BoundedCollector&) = delete;

  /// Collects into `to`; nothing of it when it could not end in time.
  CollectorState run(Exposition& to);

 private:
  struct Worker;
  std::shared_ptr<Worker> worker();
  std::vector<std::string> stuck_files();

  const std::string root_;
  const Collect collect_;
  const Limits limits_;
  std::shared_ptr<Worker> worker_;
  std::map<std::string, std::shared_ptr<Worker>> stuck_;  ///< by the file that it waits for
};

}  // namespace muster::metrics
