// Blocks of Dockerfiles that several cases share. Docker takes nothing from outside of a case's
// folder, so each Dockerfile holds the block's text, between two lines that name it; the text
// itself is written once, in test_cases/common/NAME.block.
#pragma once

#include <filesystem>
#include <string>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::launch {

/// The Dockerfile with every block as its source has it:
///   # >>> NAME: rendered from test_cases/common/NAME.block, change that
///   …
///   # <<< NAME
/// Failure, located in `file`: a block that does not end, or whose source is not there.
Result<std::string> fill_blocks(const std::string& text, const std::string& file,
                                const FileSystem& files, const std::filesystem::path& project);

}  // namespace muster::launch
