// Logs of a Batch job's nodes, parted into the files that every run has: RUN/logs/rank-N.log for
// lines that a process wrote, node-N.log for what the node itself says.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::launch {

class BatchLogs {
 public:
  /// `logs`: the folder.
  BatchLogs(std::filesystem::path logs, FileSystem& files)
      : logs_(std::move(logs)), files_(files) {}

  /// Whole lines of one node, in order. Failure: the first file that can't be written.
  Result<void> append(int node, const std::vector<std::string>& lines);

  /// Whether every process that said that it starts has said that it ended.
  bool all_ended() const { return !started_.empty() && started_ == ended_; }

 private:
  std::filesystem::path logs_;
  FileSystem& files_;
  std::set<int> started_, ended_;  ///< ranks
};

}  // namespace muster::launch
