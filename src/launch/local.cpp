#include "launch/local.h"

#include <fmt/format.h>

#include "launch/launcher_errors.h"
#include "launch/poll.h"

namespace muster::launch {

using End = runs::LauncherResult::End;

runs::LauncherResult run_local(const Rendered& rendered, const LocalRun& run, FileSystem& files,
                               ProcessRunner& processes, const Tick& tick) {
  const auto logs = run.run_directory / "logs";
  Command command;
  command.argv = rendered.command;
  command.time_limit = run.time_limit;
  command.grace = run.grace;
  command.children_first = true;  // mpirun kills its ranks some seconds after it was asked itself
  command.stdout_file = logs / "launcher.out";
  command.stderr_file = logs / "launcher.err";

  Stop stop = Stop::kNo;
  const auto ended = processes.run(command, [&] {
    stop = tick();
    return stop == Stop::kNo;
  });
  // A launcher that was killed leaves its ranks behind.
  end_processes_of_run(run.run_id, run.grace);

  runs::LauncherResult result;
  if (!ended) {
    result.end = End::kNotStarted;
    result.detail = ended.findings().front().message;
    return result;
  }
  result.exit_code = ended->exit_code;
  const auto standard_error = files.read(command.stderr_file);
  result.detail = standard_error ? explain_launcher(*standard_error) : std::string();
  if (ended->timed_out) {
    result.end = End::kTimedOut;
    result.detail = fmt::format("ended at the time limit of {} s", run.time_limit.count() / 1000.0);
  } else if (ended->interrupted) {
    result.end = stop == Stop::kNo ? End::kInterrupted : end_of(stop);
  } else {
    result.end = End::kExited;
    if (ended->signal != 0 && result.detail.empty()) {
      result.detail = "the process was ended by " + signal_words(ended->signal);
    }
  }
  return result;
}

}  // namespace muster::launch
