// Runs on AWS Batch: registers the job definition, submits, follows to the end, fetches the logs of
// all nodes, and takes away what it made. All through the `aws` command line, each call bounded.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "launch/batch_logs.h"
#include "launch/batch_parse.h"
#include "launch/follow.h"

namespace muster::launch {

struct BatchJob {
  std::string id;
  std::string definition;  ///< ARN of the revision that was made for it; says its Region too
};

struct BatchFollowOptions {
  std::chrono::milliseconds shortest_poll{2'000};  ///< first and after each change
  std::chrono::milliseconds longest_poll{20'000};  ///< grows to this by half each time
  std::chrono::seconds unreachable{300};           ///< AWS may not answer this long
  /// RUNNABLE and STARTING may take this long; then the job is ended with Batch's own reason.
  std::chrono::milliseconds start_limit{600'000};
  std::chrono::seconds cancelled_within{180};  ///< after terminate-job
  std::chrono::seconds last_logs{30};          ///< CloudWatch may lag this far behind the end
};

/// `aws batch register-job-definition`: the ARN of the revision.
Result<std::string> register_batch(const std::string& definition, ProcessRunner& processes);

/// `aws batch submit-job` with all its options but the definition.
Result<BatchJob> submit_batch(std::vector<std::string> argv, const std::string& definition,
                              ProcessRunner& processes);

/// Told of each change of the job's state.
using OnBatchStatus = std::function<void(const BatchStatus&)>;

/// To the job's end, or to a stop of `tick` (then the job is ended first). AWS that can't be asked
/// in time gives kUnknown and leaves the job alone.
runs::LauncherResult follow_batch(const BatchJob& job, ProcessRunner& processes, Clock& clock,
                                  const BatchFollowOptions& options, const Tick& tick,
                                  const OnBatchStatus& on_status, BatchLogs& logs);

/// One look at the job, for `muster status`.
Result<BatchStatus> look_at_batch(const BatchJob& job, ProcessRunner& processes);

/// terminate-job, which also takes a job out of its queue.
Result<void> terminate_batch(const BatchJob& job, ProcessRunner& processes);

/// Takes a revision of a job definition away.
Result<void> deregister_batch(const std::string& definition, ProcessRunner& processes);

}  // namespace muster::launch
