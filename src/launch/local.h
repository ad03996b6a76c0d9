// Runs a rendered job on this machine: mpirun, or the one process itself.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "base/file_system.h"
#include "base/process.h"
#include "launch/follow.h"
#include "launch/render.h"
#include "launch/run_processes.h"
#include "runs/judge.h"

namespace muster::launch {

struct LocalRun {
  std::string run_id;
  std::filesystem::path run_directory;
  std::chrono::milliseconds time_limit{3'600'000};
  std::chrono::milliseconds grace = kGrace;  ///< for a checkpoint on the way out
};

/// To the end, whatever it is; nothing of the run is left on the machine. Output goes to
/// logs/launcher.{out,err}.
runs::LauncherResult run_local(const Rendered& rendered, const LocalRun& run, FileSystem& files,
                               ProcessRunner& processes, const Tick& tick);

}  // namespace muster::launch
