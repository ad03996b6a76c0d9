// Case -> job: what the manifest asks, as the trainer's options and the judge's expectations. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "catalog/case.h"
#include "facts/facts.h"
#include "launch/job.h"
#include "launch/key_use.h"
#include "launch/render.h"
#include "runs/judge.h"

namespace muster::launch {

/// What a job needs to know beyond its case.
struct Place {
  std::string run_id;
  std::filesystem::path run_directory;  ///< absolute
  std::filesystem::path project;        ///< absolute
  std::filesystem::path caller;  ///< absolute; what relative paths of command line options mean
  std::string trainer;           ///< path of muster-train, or its bare name
  std::filesystem::path data;    ///< the input, when the case names a data set
};

/// Of a native case.
const std::vector<UnusedKey>& unused_keys(Target target);

/// Errors, located in the manifest: a case that the native launcher can't start, a missing input, a
/// container (which the native launcher does not use).
Result<Job> plan_job(const catalog::ResolvedCase& resolved, const Place& place, Target target,
                     const Machine& machine, const facts::Facts& known);

/// Where a path of the manifest points: absolute, the project's, or the caller's when it was given
/// as an option.
std::filesystem::path settle_path(const catalog::ResolvedCase& resolved, const std::string& key,
                                  const std::string& value, const std::filesystem::path& project,
                                  const std::filesystem::path& caller);

/// What the verdict will hold the run to.
runs::Expectations expectations(const catalog::Case& values);

/// The variable that a value of env.set stands for: "${HF_TOKEN}" -> "HF_TOKEN". Empty for a
/// literal.
std::string referenced_variable(const std::string& value);

}  // namespace muster::launch
