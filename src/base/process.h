// The seam to other programs: start, watch, bound and reap them.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

/// Of each stream of a process at most this many bytes are kept; the rest is read and dropped.
inline constexpr std::size_t kMaxKeptOutput = std::size_t{64} << 20;

struct Command {
  std::vector<std::string>
      argv;  ///< argv[0] is looked up in PATH; with a slash, from the caller's directory
  std::vector<std::pair<std::string, std::string>> env;  ///< added to the environment
  std::vector<std::string> unset;                        ///< removed from the environment
  std::filesystem::path directory;                       ///< empty: the caller's
  std::string input;                                     ///< standard input
  std::optional<std::chrono::milliseconds>
      time_limit;                         ///< required in practice: every wait has a limit
  std::chrono::milliseconds grace{5000};  ///< between SIGTERM and SIGKILL of the whole group
  /// Only what the program started is asked to end, and the program follows by itself: for a
  /// launcher that, asked itself, gives its children less than the grace.
  bool children_first = false;
  std::filesystem::path stdout_file;  ///< when set, standard output is appended there, not kept
  std::filesystem::path stderr_file;
};

struct ProcessResult {
  int exit_code = -1;        ///< of a process that exited; 128+signal when a signal ended it
  int signal = 0;            ///< the signal that ended it, or 0
  bool timed_out = false;    ///< ended by us at the time limit
  bool interrupted = false;  ///< ended by us because of SIGINT/SIGTERM/SIGHUP or the watcher
  bool truncated = false;    ///< more was written than kMaxKeptOutput
  std::string out;
  std::string err;
  std::chrono::milliseconds elapsed{0};
};

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;

  /// Called about ten times a second while a process runs; return false to end it (its whole
  /// group).
  using Watcher = std::function<bool()>;

  /// Runs to the end in a process group of its own. At the limit, on interrupt or when the watcher
  /// says so, the group gets SIGTERM, then SIGKILL after the grace, and is reaped; nothing is left
  /// running. Failure: the program can't be started (not found, not executable).
  virtual Result<ProcessResult> run(const Command& command, const Watcher& watcher = {}) = 0;

  /// Full path of a program in PATH, or nothing.
  virtual std::optional<std::string> find(const std::string& program) const = 0;
};

ProcessRunner& real_process_runner();

/// From now on SIGINT, SIGTERM and SIGHUP only set a flag that `interrupted()` reads and that ends
/// running commands; a second one cuts their grace short.
void catch_interrupts();
bool interrupted();
/// For tests, and for a command that has handled its interrupt.
void forget_interrupts();

/// A scripted runner for tests: answers by the command's argv, records what it was asked.
class FakeProcessRunner : public ProcessRunner {
 public:
  using Answer = std::function<Result<ProcessResult>(const Command&)>;
  /// `prefix` matches when the joined argv starts with it; the longest prefix wins.
  void answer(std::string prefix, Answer answer);
  void answer(std::string prefix, ProcessResult result);
  const std::vector<Command>& asked() const { return asked_; }

  Result<ProcessResult> run(const Command& command, const Watcher& watcher = {}) override;
  std::optional<std::string> find(const std::string& program) const override;

 private:
  std::map<std::string, Answer> answers_;
  std::vector<Command> asked_;
};

}  // namespace muster
