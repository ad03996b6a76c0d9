// Where the native engine's program is.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/context.h"

namespace muster::cli {

/// The places where muster-train may be, best first: MUSTER_LIBEXEC alone when set; else beside
/// muster, then the installation's libexec.
std::vector<std::filesystem::path> engine_places(const Context& context);

/// The first place where it is, or nothing.
std::optional<std::filesystem::path> find_engine(const Context& context);

/// The command that builds it.
extern const char* const kBuildEngine;

}  // namespace muster::cli
