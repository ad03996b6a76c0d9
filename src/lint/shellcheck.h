// What shellcheck finds in shell scripts.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/process.h"
#include "base/result.h"

namespace muster::lint {

/// The findings of one run of shellcheck over the files; rules are "shellcheck-SC2086". Its errors
/// are errors, its warnings warnings; notes on style are left out. Failure: it is not installed,
/// did not end within a minute, or said something that can't be read.
Result<Findings> shellcheck(ProcessRunner& processes,
                            const std::vector<std::filesystem::path>& files);

/// From `shellcheck -f json1`.
Result<Findings> parse_shellcheck(const std::string& text);

}  // namespace muster::lint
