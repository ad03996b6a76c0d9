// The rows of the run store in SQLite: an index of the run directories. Used by run_store.cpp only.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runs/run_record.h"

struct sqlite3;

namespace muster::runs {

class RunDatabase {
 public:
  struct Opened {
    std::shared_ptr<RunDatabase> database;
    bool fresh = false;  ///< no rows yet: made just now, in place of none or of a damaged one
  };

  /// See RunStore::open.
  static Result<Opened> open(const std::filesystem::path& file);
  ~RunDatabase();
  RunDatabase(const RunDatabase&) = delete;
  RunDatabase& operator=(const RunDatabase&) = delete;

  /// Inserts or replaces the row; leaves cancel_requested as it is.
  Result<void> put(const RunRecord& record);
  Result<void> remove(const std::string& id);
  Result<void> remove_all();
  Result<void> request_cancel(const std::string& id);
  Result<bool> cancel_requested(const std::string& id);

  /// Newest first; equal times by id, descending. A row that can't be read is left out: its
  /// directory remakes it.
  Result<std::vector<RunRecord>> all();

 private:
  RunDatabase(sqlite3* handle, std::filesystem::path file)
      : handle_(handle), file_(std::move(file)) {}
  Result<bool> migrate();  ///< true: from nothing
  Failure error(const std::string& what) const;

  sqlite3* handle_;
  std::filesystem::path file_;
};

}  // namespace muster::runs
