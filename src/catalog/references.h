// References in what a case runs: "${batch.steps}" in an argument of the entry point stands for the
// case's own value, so that a number is written once and a profile or an option that changes it
// changes the command too. Names of variables (upper case, "${HF_HOME}") are not touched.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "catalog/case.h"

namespace muster::catalog {

/// Fills in the references of entrypoint.args, entrypoint.script, entrypoint.workdir and the values
/// of env.set. Beside the manifest's own scalars these can be named: topology.world, batch.global,
/// batch.grad_accum and parallelism.dp as settled, optimizer.beta1 and optimizer.beta2.
/// References that only a launch can settle stay as they are: run.dir, run.id, and checkpoint.dir
/// and data.path where the manifest leaves them out (the run's own directory, the data set's file).
/// `used` is every key that is named, sorted. Errors (case-reference): an unknown or empty key.
Findings fill_references(const Node& manifest, Case& values, std::vector<std::string>& used);

/// The references that are still in a text, e.g. {"run.dir"}.
std::vector<std::string> open_references(const std::string& text);

}  // namespace muster::catalog
