// Stands a planned cluster up, looks at it, compares it and takes it down, through CloudFormation.
// What is there is what AWS says: a deployment that was cut off goes on where it stands, from any
// machine. A journal in the state folder tells what was done from here.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "architectures/cloudformation.h"
#include "architectures/plan.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/process.h"
#include "base/verdict.h"

namespace muster::architectures {

struct DeploySeams {
  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
};

struct DeployOptions {
  std::filesystem::path state;       ///< absolute; of this cluster alone
  std::chrono::seconds limit{7200};  ///< for one stack
  bool drift = false;                ///< diff: ask AWS whether resources were changed by hand
  /// What goes on: stack, share that is done, status.
  std::function<void(const std::string&, double, const std::string&)> progress;
};

/// How one stack stands, and what was done to it.
struct StackStanding {
  std::string name;
  std::string action;  ///< created, updated, unchanged, deleted, absent, kept; of a look: empty
  std::string status;  ///< as CloudFormation writes it; empty: there is none
  std::string reason;  ///< why it failed
  int resources = 0;
  std::vector<std::string> unknown;  ///< said to be there, without a type or an id
  std::vector<std::string> differences, keeps;
  bool planned = true;  ///< whether the cluster's file asks for it
};

struct ClusterReport {
  std::string cluster;
  std::vector<StackStanding> stacks;
  std::vector<std::string> files;  ///< documents that were written, outputs filled in
  Findings findings;
  ExitCode code = kExitOk;
};

/// Creates or updates the stacks in order. 3: one failed, with the failing resource's own reason;
/// 4: AWS can't be asked, or what it calls complete can't be seen; 124: a stack took longer than
/// the limit; 130: interrupted.
ClusterReport deploy(const Plan& plan, const DeploySeams& seams, const DeployOptions& options);

/// How it stands. 3: a stack is absent or failed; 4: something moves, or can't be seen.
ClusterReport look(const Plan& plan, const DeploySeams& seams);

/// What differs between the file and what is deployed. 5: something does.
ClusterReport compare(const Plan& plan, const DeploySeams& seams, const DeployOptions& options);

/// Deletes the cluster's stacks, last first: only those that carry its name in kClusterTag.
ClusterReport destroy(const Plan& plan, const DeploySeams& seams, const DeployOptions& options);

nlohmann::ordered_json to_json(const ClusterReport& report);
std::string to_text(const ClusterReport& report);

}  // namespace muster::architectures
