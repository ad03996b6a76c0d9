// Workload -> AWS Batch: job definitions and the script that registers and submits them. Pure.
#pragma once

#include "base/result.h"
#include "catalog/case.h"
#include "launch/render.h"
#include "launch/workload.h"

namespace muster::launch {

/// batch/<model>.json, a multi-node parallel job definition (a plain one for a single node), one
/// more for each step, and batch/<model>-submit.sh, which submits them one after the other.
/// Every node reports to node 0, which starts all of them once the last has come, and ends the job
/// with exit code 124, saying who is missing, when that takes longer than the start timeout.
/// Secrets are read from Parameter Store, where /<secret>/<key> holds them.
/// Errors: located, for what Batch does not take.
Result<Rendered> render_batch(const Workload& workload, const catalog::ResolvedCase& resolved);

/// The one job of a run: rendered/<model>.json, and the words of `aws batch submit-job` but for the
/// definition, which has a revision only once it is registered. `queue`: goes before the
/// manifest's. Errors: as above, and a queue that nobody names.
Result<Rendered> render_batch_run(const Workload& workload, const catalog::ResolvedCase& resolved,
                                  const std::string& queue);

/// The Python program by which the nodes of a job find each other: arguments NODES RANK HOST PORT
/// SECONDS; prints the addresses of all nodes, node 0 first.
const char* gather_program();

}  // namespace muster::launch
