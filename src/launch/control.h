// Looking at a run and ending it, from another process than the one that follows it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "launch/prepare.h"
#include "launch/submission.h"
#include "launch/watch.h"
#include "runs/run_store.h"

namespace muster::launch {

struct RunStatus {
  runs::RunRecord record;
  bool followed = false;         ///< a process follows it and will judge it
  int processes = 0;             ///< of the run, on this machine
  std::string scheduler;         ///< of its target; empty: none
  std::optional<JobStatus> job;  ///< as the scheduler says now
  std::string trouble;           ///< why the scheduler could not be asked
  Standing standing;

  /// Not ended as far as the record says, but nobody will end and judge it.
  bool orphaned() const { return !runs::is_final(record.state) && !followed; }
};

RunStatus look_at_run(const runs::RunRecord& record, const Seams& seams);

/// One sentence: "running: step 12 of training, loss 5.31; RUNNING on n1".
std::string describe(const RunStatus& status);

/// Ends a run that has not ended: asks the process that follows it and waits for it, at most
/// `limit`, or, when there is none, ends its processes or its job itself. Returns one
/// sentence on what was done. Failure: it is still there.
Result<std::string> cancel_run(runs::RunStore& store, const runs::RunRecord& record,
                               const Seams& seams,
                               std::chrono::seconds limit = std::chrono::seconds(90));

}  // namespace muster::launch
