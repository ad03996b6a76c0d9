// The start of a run: what was asked for, resolved as far as it can be without making or starting
// anything.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/process.h"
#include "base/result.h"
#include "base/verdict.h"
#include "catalog/case.h"
#include "facts/datasets.h"
#include "launch/plan.h"
#include "launch/profiling.h"
#include "launch/python_environment.h"
#include "launch/render.h"

namespace muster::launch {

/// What the judge of benchmarks says of a log.
struct BenchJudgement {
  Verdict verdict;
  nlohmann::ordered_json record;  ///< what the report draws: {logs, references}
};

/// Judges `log`, which `file` holds, of a case of kind bench; given by whoever knows how.
using BenchJudge = std::function<BenchJudgement(const catalog::Case& values, const std::string& log,
                                                const std::string& file)>;

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
  std::filesystem::path venv;     ///< Python environment of foreign cases; empty: the case's own
  int threads = 0;                ///< of one process; 0: the cores divided among the ranks
  double comm_timeout = 0;  ///< seconds, where the case does not say; 0: the catalog's default
  std::vector<std::string> command;                ///< muster's own argv, for the record
  std::map<std::string, std::string> environment;  ///< this process's
  Profiling profiling;
  BenchJudge bench_judge;  ///< of cases of kind bench
};

struct Seams {
  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
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
  facts::Facts known;
  PythonEnvironment python;  ///< of foreign cases
  facts::Nsight nsight;      ///< when nsys is asked for
};

/// What a run starts, whoever starts its processes.
struct Plan {
  Rendered rendered;
  std::vector<std::string> secrets;    ///< variables that are handed on by name
  std::vector<std::string> variables;  ///< that must be set, since names of images hold them
};

/// Resolves the case. Touches nothing. `error` says why not.
std::optional<Prepared> prepare(const RunRequest& request, const Seams& seams, Refusal& error);

/// The job of one run.
Result<Job> job_of(const RunRequest& request, const Prepared& prepared, const std::string& id,
                   const std::filesystem::path& directory);

/// The job as far as it is known before there is a run, with RUN in the place of its id.
Result<Job> draft(const RunRequest& request, const Prepared& prepared);

/// The plan of one run.
Result<Plan> plan_run(const RunRequest& request, const Prepared& prepared, const std::string& id,
                      const std::filesystem::path& directory);

/// The plan as far as it is known before there is a run, with RUN in the place of its id.
Result<Plan> draft_plan(const RunRequest& request, const Prepared& prepared);

/// What would be submitted: the draft, rendered.
Result<Rendered> dry_run(const RunRequest& request, const Prepared& prepared);

}  // namespace muster::launch
