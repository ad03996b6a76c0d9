// What the AWS command line prints of a Batch job, as data. Pure; what is not understood is kept
// and shown, never taken for good.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/aws.h"
#include "base/result.h"
#include "runs/judge.h"

namespace muster::launch {

/// What a job's state means for somebody who waits for the job.
enum class BatchPhase {
  kQueued,    ///< SUBMITTED, PENDING: waits for another job or to be looked at
  kStarting,  ///< RUNNABLE, STARTING: waits for its nodes and their containers
  kRunning,
  kEnded,    ///< will not run again
  kUnknown,  ///< a state that this version does not know
};

/// Of SUBMITTED, PENDING, RUNNABLE, STARTING, RUNNING, SUCCEEDED, FAILED.
BatchPhase phase_of_batch(std::string_view state);

struct BatchStatus {
  std::string id;      ///< of a node of a multi-node job: JOB#INDEX
  std::string state;   ///< as Batch wrote it
  std::string reason;  ///< Batch's statusReason, and the container's own where it says more
  std::optional<int> exit_code;
  std::string log_stream;  ///< in CloudWatch; empty: none yet
  int nodes = 0;           ///< of a multi-node job; 0: a plain one, or one of its nodes
  int attempts = 0;        ///< that have ended

  BatchPhase phase() const { return phase_of_batch(state); }
  bool operator==(const BatchStatus&) const = default;
};

/// `aws batch register-job-definition`: the ARN of the revision that was made.
Result<std::string> parse_registered(const std::string& text);

/// `aws batch submit-job`: the job's id.
Result<std::string> parse_submitted(const std::string& text);

/// `aws batch describe-jobs`: a row for each job that Batch knows, in its order.
Result<std::vector<BatchStatus>> parse_jobs(const std::string& text);

struct LogPage {
  std::vector<std::string> lines;
  std::string next;  ///< token of the next page; the same again at the end of the stream
};

/// `aws logs get-log-events`.
Result<LogPage> parse_log_events(const std::string& text);

/// How a job that is in `status` for good ended, with what its nodes say.
runs::LauncherResult conclude_batch(const BatchStatus& job, const std::vector<BatchStatus>& nodes);

/// One line for a person: "RUNNABLE (CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - …)".
std::string describe(const BatchStatus& status);

}  // namespace muster::launch
