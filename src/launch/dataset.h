// Makes a data set that a case names available as a file of the project's cache.
#pragma once

#include <chrono>
#include <filesystem>

#include "base/file_system.h"
#include "base/process.h"
#include "base/result.h"
#include "facts/datasets.h"

namespace muster::launch {

/// Where the data set's text is, or will be: PROJECT/.muster/cache/data/NAME.txt; or the directory
/// of its files.
std::filesystem::path dataset_path(const std::filesystem::path& project,
                                   const facts::Dataset& dataset);

/// Makes the file unless it is there already with the right checksum. Written whole or not at all.
/// Files that a package installs are only checked.
/// Failures: the rule "dataset-program" when the program is missing (with the command that installs
/// it), "dataset-content" when what it prints is not what the facts say.
Result<std::filesystem::path> materialise(const facts::Dataset& dataset,
                                          const std::filesystem::path& project, FileSystem& files,
                                          ProcessRunner& processes);

}  // namespace muster::launch
