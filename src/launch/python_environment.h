// The Python environment that a foreign case runs in: one that is named, or one that is made from
// the case's requirements.txt and kept for the next run.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/file_system.h"
#include "base/process.h"
#include "base/result.h"

namespace muster::launch {

struct PythonEnvironment {
  std::filesystem::path directory;     ///< of the virtual environment; empty: the system's Python
  std::filesystem::path requirements;  ///< what it is made from; empty: it is there already
  std::string content;                 ///< of the requirements
};

/// Which one a case gets: `named` when not empty; else PROJECT/.muster/venvs/<hash of requirements
/// and interpreter> where requirements.txt lies beside the manifest or above it below test_cases/;
/// else the system's.
PythonEnvironment python_environment(const std::filesystem::path& named,
                                     const std::filesystem::path& manifest,
                                     const std::filesystem::path& project, const FileSystem& files,
                                     const ProcessRunner& processes);

/// Makes it unless it is there and whole. One that was left unfinished is made anew; two runs at
/// once don't disturb each other. Failures: "venv-missing" for a named one without bin/python3,
/// "venv-python" without python3 or its venv module, "venv-install" when a package can't be had,
/// each with what mends it.
Result<void> provide(const PythonEnvironment& environment, FileSystem& files,
                     ProcessRunner& processes, const std::function<void(const std::string&)>& say);

}  // namespace muster::launch
