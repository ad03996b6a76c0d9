#include "cli/engine_program.h"

#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <system_error>

namespace muster::cli {

namespace fs = std::filesystem;

const char* const kBuildEngine =
    "cmake --preset release && cmake --build build/release --target muster-train";

std::vector<fs::path> engine_places(const Context& context, const std::string& program) {
  const auto given = context.environment.find("MUSTER_LIBEXEC");
  if (given != context.environment.end() && !given->second.empty())
    return {fs::path(given->second) / program};
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {own / program, own.parent_path() / "libexec/muster" / program};
}

std::optional<fs::path> find_engine(const Context& context, const std::string& program) {
  for (const fs::path& place : engine_places(context, program)) {
    const auto info = context.files.info(place);
    if (info && info->executable) return place;
  }
  return std::nullopt;
}

void hand_over(const std::string& program, const std::string& verb,
               const std::vector<std::string>& arguments, Context& context) {
  const auto path = find_engine(context, program);
  if (!path) {
    std::string build = kBuildEngine;
    build.replace(build.rfind("muster-train"), std::string("muster-train").size(), program);
    const std::string what = program == "muster-exporter" ? program : "the native engine";
    context.fail(
        {error_at({}, "engine-missing",
                  what + " is not built: no " + engine_places(context, program).front().string(),
                  "build it with: " + build)},
        kExitUnverified);
    return;
  }
  std::vector<std::string> words = {path->string()};
  if (!verb.empty()) words.push_back(verb);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  context.out.flush();
  ::execv(path->c_str(), pointers.data());
  context.fail({error_at({path->string(), 0, 0}, "engine-start",
                         "can't be started: " + std::generic_category().message(errno))},
               kExitUnverified);
}

}  // namespace muster::cli
