#include "launch/python_environment.h"

#include <chrono>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/hash.h"
#include "runs/directory_lock.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
constexpr const char* kComplete = ".muster-complete";
constexpr std::chrono::minutes kInstallLimit{30};

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "it says nothing";
  const auto start = text.find_last_of('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1, end - start);
}

Result<void> run(ProcessRunner& processes, std::vector<std::string> words,
                 std::chrono::milliseconds limit, const char* rule, const std::string& hint) {
  Command command;
  command.argv = std::move(words);
  command.env = {{"PIP_DISABLE_PIP_VERSION_CHECK", "1"}, {"PIP_NO_INPUT", "1"}};
  command.unset = {"PYTHONPATH", "PYTHONHOME"};
  command.time_limit = limit;
  const auto ended = processes.run(command);
  if (!ended) return ended.error();
  if (ended->interrupted) return failure("venv-interrupted", "interrupted");
  if (ended->timed_out) {
    return failure(rule,
                   fmt::format("{} took longer than {} s", command.argv.front(),
                               std::chrono::duration_cast<std::chrono::seconds>(limit).count()),
                   hint);
  }
  if (ended->exit_code != 0) {
    const std::string& said =
        ended->err.find_first_not_of(" \r\n") == std::string::npos ? ended->out : ended->err;
    return failure(rule,
                   fmt::format("{} ended with {}: {}", command.argv.front(), ended->exit_code,
                               last_line(said)),
                   hint);
  }
  return {};
}

/// Another run may be making the same one.
Result<runs::DirectoryLock> wait_for_lock(const fs::path& directory,
                                          const std::function<void(const std::string&)>& say) {
  const auto until = std::chrono::steady_clock::now() + kInstallLimit;
  bool told = false;
  while (true) {
    auto lock = runs::DirectoryLock::acquire(directory);
    if (lock || interrupted() || std::chrono::steady_clock::now() >= until) return lock;
    if (!told) say("waiting: " + lock.findings().front().message);
    told = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

/// Beside the manifest, or of the library that the case belongs to.
std::optional<fs::path> find_requirements(const fs::path& manifest, const fs::path& project,
                                          const FileSystem& files) {
  const fs::path top = project / "test_cases";
  for (fs::path folder = manifest.parent_path();; folder = folder.parent_path()) {
    if (files.exists(folder / "requirements.txt")) return folder / "requirements.txt";
    const auto below = folder.lexically_relative(top);
    if (below.empty() || below == "." || *below.begin() == "..") return std::nullopt;
  }
}

}  // namespace

PythonEnvironment python_environment(const fs::path& named, const fs::path& manifest,
                                     const fs::path& project, const FileSystem& files,
                                     const ProcessRunner& processes) {
  PythonEnvironment environment;
  if (!named.empty()) {
    environment.directory = named;
    return environment;
  }
  const auto requirements = find_requirements(manifest, project, files);
  if (!requirements) return environment;
  const auto content = files.read(*requirements);
  if (!content) return environment;
  std::error_code error;
  const fs::path python = processes.find("python3").value_or("python3");
  const fs::path real = fs::canonical(python, error);
  const std::string hash = sha256((error ? python : real).string() + "\n" + *content);
  environment.directory = project / ".muster/venvs" / hash.substr(0, 16);
  environment.requirements = *requirements;
  environment.content = *content;
  return environment;
}

Result<void> provide(const PythonEnvironment& environment, FileSystem& files,
                     ProcessRunner& processes, const std::function<void(const std::string&)>& say) {
  if (environment.directory.empty()) {
    if (processes.find("python3")) return {};
    return failure("venv-python", "the program python3 is missing", "apt-get install python3");
  }
  const fs::path& directory = environment.directory;
  if (environment.requirements.empty()) {
    if (files.exists(directory / "bin/python3")) return {};
    return failure(
        "venv-missing",
        fmt::format("{} is no virtual environment: it has no bin/python3", directory.string()),
        "python3 -m venv DIR, and install in it what the case needs");
  }
  if (files.exists(directory / kComplete)) return {};
  if (!processes.find("python3"))
    return failure("venv-python", "the program python3 is missing", "apt-get install python3-venv");
  // The lock lies beside what it guards, which is removed and made anew under it.
  const fs::path guard = directory.string() + ".making";
  if (auto made = files.make_directories(guard); !made) return made;
  const auto lock = wait_for_lock(guard, say);
  if (!lock) return lock.error();
  if (files.exists(directory / kComplete)) return {};
  if (auto removed = files.remove_all(directory); !removed) return removed;

  say(fmt::format("installing {} into {}, once", environment.requirements.string(),
                  directory.string()));
  if (auto made = run(processes, {"python3", "-m", "venv", directory.string()},
                      std::chrono::minutes(2), "venv-python", "apt-get install python3-venv");
      !made) {
    return made;
  }
  // What was hashed is what is installed, whatever happens to the file meanwhile.
  const fs::path copy = directory / "requirements.txt";
  if (auto written = files.write(copy, environment.content); !written) return written;
  if (auto installed = run(processes,
                           {(directory / "bin/python3").string(), "-m", "pip", "install", "--quiet",
                            "-r", copy.string()},
                           kInstallLimit, "venv-install",
                           fmt::format("see {}; --venv DIR names an environment that has them",
                                       environment.requirements.string()));
      !installed) {
    return installed;
  }
  return files.write(directory / kComplete, "");
}

}  // namespace muster::launch
