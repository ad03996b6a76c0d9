// How a rendered job is started on its target and followed to its end, and how another process
// looks at it and ends it: one class a target, chosen in one place (submission.cpp).
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "launch/follow.h"
#include "launch/prepare.h"
#include "launch/render.h"
#include "runs/judge.h"
#include "runs/run_record.h"

namespace muster::launch {

/// What a submission tells and asks while it follows a job.
class Following {
 public:
  virtual ~Following() = default;
  /// Why the run has to end now. To be asked about ten times a second.
  virtual Stop tick() = 0;
  /// Records how the job is found again, before anything else is done with it. Failure: the job has
  /// to be ended, since nobody could find it later.
  virtual Result<void> keep(const runs::LauncherIds& ids) = 0;
  /// A line for the person who waits.
  virtual void say(const std::string& line) = 0;
  /// While a job waits for its nodes its ranks are silent by right.
  virtual void set_running(bool running) = 0;
};

/// What is submitted.
struct Submitted {
  const Rendered& rendered;
  std::string run_id;
  std::filesystem::path run_directory;  ///< absolute; the rendered files are in it
  std::filesystem::path project;        ///< absolute
  std::chrono::milliseconds time_limit{3'600'000};
  std::chrono::milliseconds start_limit{600'000};  ///< until all nodes must be there
};

/// A job as its scheduler has it now.
struct JobStatus {
  std::string words;            ///< for a person: "job 12: PENDING (Resources)"
  nlohmann::ordered_json data;  ///< for a program
};

class Submission {
 public:
  virtual ~Submission() = default;

  /// The scheduler's name in a status: "slurm". Empty: the target has none.
  virtual std::string scheduler() const = 0;

  /// Starts the job and follows it to its end, whatever that is; nothing of it goes on afterwards,
  /// unless the result is kUnknown and says so. What it prints is in RUN/logs by then.
  virtual runs::LauncherResult run(const Submitted& job, Following& following) = 0;

  /// One look from outside. Nothing: the run has no job there. Failure: it could not be asked.
  virtual Result<std::optional<JobStatus>> look(const runs::RunRecord& record) = 0;

  /// Ends the job of a run that nobody follows. One sentence on what was done; empty: it had none.
  virtual Result<std::string> cancel(const runs::RunRecord& record) = 0;
};

/// Never null. `seams` must outlive it.
std::unique_ptr<Submission> submission_for(Target target, const Seams& seams);

// One for each target, in submission_<target>.cpp.
std::unique_ptr<Submission> local_submission(const Seams& seams);
std::unique_ptr<Submission> slurm_submission(const Seams& seams);
std::unique_ptr<Submission> batch_submission(const Seams& seams);
std::unique_ptr<Submission> kubernetes_submission(const Seams& seams);

}  // namespace muster::launch
