// The store of runs: one directory of evidence and one row of `runs.db` (SQLite) each. The
// directories are the truth: rows are remade from them when the database is lost or damaged.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/verdict.h"
#include "runs/directory_lock.h"
#include "runs/run_record.h"

namespace muster::runs {

/// What a new run is made from.
struct RunSpec {
  std::string case_name;
  std::string target;
  std::string profile;
  int nodes = 1;
  int world = 1;
  std::vector<std::string> command;  ///< muster's own argv; secrets are redacted by create()
  std::filesystem::path
      directory;  ///< empty: ROOT/<id>. Otherwise a directory that is empty or not there yet
};

class RunDatabase;

/// A run that this process works on: it holds the directory's lock until it is destroyed. Movable.
class Run {
 public:
  const RunRecord& record() const { return record_; }
  const std::string& id() const { return record_.id; }
  const std::filesystem::path& directory() const { return record_.directory; }

  /// Each of these writes run.json (whole or not at all), then the row.
  Result<void> set_state(RunState state, const std::string& note = {});
  Result<void> set_launcher(const LauncherIds& ids);

  /// The end of a run: writes verdict.json, the outcome and state, then checksums.sha256 over the
  /// whole directory. `state` says more than the outcome can (cancelled, interrupted, timed out);
  /// left out, it follows the outcome.
  Result<void> finish(const Verdict& verdict, std::optional<int> launcher_exit,
                      std::optional<RunState> state = {}, const std::string& note = {});

  /// Whether somebody asked this run to stop (`muster cancel` from another process). Cheap: one
  /// read of the row.
  bool cancel_requested() const;

 private:
  friend class RunStore;
  Run(RunRecord record, DirectoryLock lock, std::shared_ptr<RunDatabase> database, Clock& clock);
  Result<void> save();

  RunRecord record_;
  DirectoryLock lock_;
  std::shared_ptr<RunDatabase> database_;
  Clock* clock_;
};

class RunStore {
 public:
  /// Opens ROOT/runs.db (WAL, busy timeout 5 s), making the root and the database when they are not
  /// there, and migrating an older schema. A damaged database is set aside as runs.db.damaged-N and
  /// remade from the directories. A database of a newer muster is an error that says so.
  static Result<RunStore> open(const std::filesystem::path& root, Clock& clock = real_clock());

  /// Makes the directory (with run.json in it from the first moment) and the row. Refuses a
  /// directory that holds a run, naming that run and, when one is at work there, its pid.
  Result<Run> create(const RunSpec& spec);

  /// Takes up a run again, to resume it or to collect and judge it: takes its lock or says who has
  /// it.
  Result<Run> reopen(const std::string& id_or_prefix);

  /// All runs, newest first. Rows are brought in line with the directories: a directory without a
  /// row gets one, a row whose directory is gone is left out and removed.
  Result<std::vector<RunRecord>> list();

  /// By id, by unique prefix of an id, by path of its directory, or "last" for the newest. An
  /// unknown one fails with the closest id as hint; an ambiguous prefix names the candidates.
  Result<RunRecord> find(const std::string& id_or_prefix);

  /// Marks a run as asked to stop; its follower sees Run::cancel_requested().
  Result<void> request_cancel(const std::string& id);

  /// Sets the state of a run that no process follows (a detached Slurm job). Fails while a follower
  /// holds the lock, naming it.
  Result<void> set_state(const std::string& id, RunState state, const std::string& note = {});

  /// Drops every row and remakes them from the directories below the root. Returns how many.
  Result<int> rebuild();

  const std::filesystem::path& root() const { return root_; }

 private:
  RunStore(std::filesystem::path root, std::shared_ptr<RunDatabase> database, Clock& clock);
  Result<void> reconcile();

  std::filesystem::path root_;
  std::shared_ptr<RunDatabase> database_;
  Clock* clock_;
};

/// `<UTC yyyymmdd-hhmmss>-<last two parts of the case's name>-<4 hex digits>`; characters other
/// than [A-Za-z0-9._-] become `-`.
std::string make_run_id(TimePoint when, const std::string& case_name, unsigned random);

}  // namespace muster::runs
