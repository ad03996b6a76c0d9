// Where the native engine's program is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace muster::cli {

/// The places where a program of the engine may be, best first: MUSTER_LIBEXEC alone when set; else
/// beside muster, then the installation's libexec.
std::vector<std::filesystem::path> engine_places(const Context& context,
                                                 const std::string& program = "muster-train");

/// The first place where it is, or nothing.
std::optional<std::filesystem::path> find_engine(const Context& context,
                                                 const std::string& program = "muster-train");

/// Becomes that program, with a verb (empty: it has none) and its arguments as they are; returns
/// only when it can't.
void hand_over(const std::string& program, const std::string& verb,
               const std::vector<std::string>& arguments, Context& context);

/// The command that builds it.
extern const char* const kBuildEngine;

}  // namespace muster::cli
