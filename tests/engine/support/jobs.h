// Starts a job of several ranks for a test, in the ways that people do.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/process.h"

namespace muster {

enum class Launcher { kNone, kMpirun, kEnvironment };

/// The command that starts `ranks` processes of a program.
inline std::vector<std::string> job_command(Launcher launcher, int ranks,
                                            std::vector<std::string> program) {
  std::vector<std::string> command;
  if (launcher == Launcher::kMpirun) {
    command = {"mpirun", "--oversubscribe",    "--allow-run-as-root", "--bind-to", "none",
               "-n",     std::to_string(ranks)};
  } else if (launcher == Launcher::kEnvironment) {
    command = {LAUNCH_RANKS, std::to_string(ranks)};
  }
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

inline ProcessResult run_job(Launcher launcher, int ranks, std::vector<std::string> program,
                             std::chrono::seconds limit = std::chrono::seconds(90)) {
  Command command;
  command.argv = job_command(launcher, ranks, std::move(program));
  command.time_limit = limit;
  command.env = {{"OMP_NUM_THREADS", "1"}, {"GLOG_minloglevel", "3"}};
  // A job within a job would find the outer one's variables.
  command.unset = {"RANK",        "WORLD_SIZE",           "LOCAL_RANK", "MASTER_ADDR",
                   "MASTER_PORT", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
  auto result = real_process_runner().run(command);
  if (result) return *result;
  ProcessResult failed;
  failed.err = to_string(result.findings().front());
  return failed;
}

}  // namespace muster
