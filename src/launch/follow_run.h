// The middle of a run: starts the rendered job on its target and follows it to its end.
#pragma once

#include "launch/run_case.h"
#include "runs/judge.h"
#include "runs/run_store.h"

namespace muster::launch {

/// Always returns how the job ended; a record that can't be kept ends the job and says so.
runs::LauncherResult follow_run(const RunRequest& request, const Prepared& prepared,
                                const Rendered& rendered, runs::Run& run, const Seams& seams,
                                RunObserver& observer);

}  // namespace muster::launch
