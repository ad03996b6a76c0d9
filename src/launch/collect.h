// The end of a run: evidence, redaction, verdict, record.
#pragma once

#include <optional>

#include "base/redact.h"
#include "launch/run_case.h"
#include "runs/judge.h"
#include "runs/run_store.h"

namespace muster::launch {

/// The state that a launcher's end means beyond the verdict, or nothing when the verdict decides.
std::optional<runs::RunState> state_of(const runs::LauncherResult& launched);

/// What `muster run` exits with: 130 interrupted, 124 at its time limit, 2 when the trainer refused
/// its input, else by the verdict.
ExitCode exit_code_of(const runs::LauncherResult& launched, Outcome outcome);

/// Judges the run and closes its record. `redactor` knows what no record may hold. `bench_judge`
/// judges what cases of kind bench have printed, all ranks' lines in logs/bench.log.
RunOutcome collect(const Prepared& prepared, const runs::LauncherResult& launched, runs::Run& run,
                   const Redactor& redactor, const Seams& seams,
                   const BenchJudge& bench_judge = {});

}  // namespace muster::launch
