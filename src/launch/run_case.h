// A run from its case to its verdict: resolve, data, render, submit, follow, collect, judge.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/process.h"
#include "base/verdict.h"
#include "catalog/case.h"
#include "launch/plan.h"
#include "launch/render.h"
#include "launch/watch.h"
#include "runs/run_record.h"

namespace muster::launch {

struct RunRequest {
  std::string case_name;
  std::string profile;
  std::vector<catalog::Override> overrides;
  Target target = Target::kLocal;
  std::optional<double> time_limit;     ///< seconds; empty: the case's
  std::filesystem::path run_directory;  ///< empty: a new one below `runs`
  std::string resume;                   ///< a run to take up again; then the case is that run's

  std::filesystem::path project;  ///< absolute
  std::filesystem::path caller;   ///< absolute; the working directory
  std::filesystem::path runs;     ///< absolute; the root of the run store
  std::filesystem::path trainer;  ///< muster-train; empty: not found
  int threads = 0;                ///< of one process; 0: the cores divided among the ranks
  std::vector<std::string> command;                ///< muster's own argv, for the record
  std::map<std::string, std::string> environment;  ///< this process's
};

struct Seams {
  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
};

/// Told how a run goes.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void say(const std::string& line) = 0;
  /// `steps` is the last step that is asked for.
  virtual void standing(const Standing& standing, int steps) = 0;
};

/// Findings that kept a run from being made or judged, and the exit code that they mean.
struct Refusal {
  Findings findings;
  ExitCode code = kExitBadInput;
};

/// A case with all that can be known before anything is made.
struct Prepared {
  catalog::ResolvedCase resolved;
  std::optional<facts::Dataset> dataset;
  Machine machine;
};

struct RunOutcome {
  std::optional<Refusal> refusal;  ///< when set, nothing below it is
  runs::RunRecord record;          ///< as stored
  Verdict verdict;
  ExitCode code = kExitInternal;
  std::vector<std::string> last_words;  ///< of the log that says most, when the run did not pass
};

/// Resolves the case. Touches nothing. `error` says why not.
std::optional<Prepared> prepare(const RunRequest& request, const Seams& seams, Refusal& error);

/// What would be submitted: the same files and command, with RUN in the place of the run's id.
Result<Rendered> dry_run(const RunRequest& request, const Prepared& prepared);

/// Runs it.
RunOutcome run_case(const RunRequest& request, const Prepared& prepared, const Seams& seams, RunObserver& observer);

}  // namespace muster::launch
