#include "cli/engine_program.h"

#include <system_error>

namespace muster::cli {

namespace fs = std::filesystem;

const char* const kBuildEngine =
    "cmake --preset release && cmake --build build/release --target muster-train";

std::vector<fs::path> engine_places(const Context& context) {
  constexpr const char* kProgram = "muster-train";
  const auto given = context.environment.find("MUSTER_LIBEXEC");
  if (given != context.environment.end() && !given->second.empty())
    return {fs::path(given->second) / kProgram};
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {own / kProgram, own.parent_path() / "libexec/muster" / kProgram};
}

std::optional<fs::path> find_engine(const Context& context) {
  for (const fs::path& place : engine_places(context)) {
    const auto info = context.files.info(place);
    if (info && info->executable) return place;
  }
  return std::nullopt;
}

}  // namespace muster::cli
