// Workload x target -> files and the command that submits them: the one place that knows which
// renderer a target has.
#pragma once

#include "base/result.h"
#include "catalog/case.h"
#include "launch/render.h"
#include "launch/workload.h"

namespace muster::launch {

/// Files are named <target>/<name>, below the case's folder when they are committed, below the
/// run's `rendered/` when they are submitted. The command is for the folder that holds them.
/// Errors: located in the manifest.
Result<Rendered> render_workload(const Workload& workload, const catalog::ResolvedCase& resolved,
                                 Target target);

}  // namespace muster::launch
