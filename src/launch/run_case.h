// A run from its case to its verdict: resolve, data, render, submit, follow, collect, judge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/verdict.h"
#include "launch/prepare.h"
#include "launch/watch.h"
#include "runs/run_record.h"

namespace muster::launch {

/// Told how a run goes.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void say(const std::string& line) = 0;
  /// `steps` is the last step that is asked for.
  virtual void standing(const Standing& standing, int steps) = 0;
};

struct RunOutcome {
  std::optional<Refusal> refusal;  ///< when set, nothing below it is
  runs::RunRecord record;          ///< as stored
  Verdict verdict;
  ExitCode code = kExitInternal;
  std::vector<std::string> last_words;  ///< of the log that says most, when the run did not pass
};

/// Runs it.
RunOutcome run_case(const RunRequest& request, const Prepared& prepared, const Seams& seams,
                    RunObserver& observer);

}  // namespace muster::launch
