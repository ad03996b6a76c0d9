#include "launch/control.h"

#include <signal.h>

#include <fmt/format.h>

#include "launch/run_processes.h"
#include "launch/tail.h"
#include "runs/events.h"

namespace muster::launch {
namespace {

/// Null for a target of another muster, or one that nothing is submitted to.
std::unique_ptr<Submission> submission_of(const runs::RunRecord& record, const Seams& seams) {
  const auto target = parse_target(record.target);
  return target ? submission_for(*target, seams) : nullptr;
}

/// The follower ends the run, judges it and lets go of the directory.
Result<std::string> ask_follower(runs::RunStore& store, const runs::RunRecord& record,
                                 const Seams& seams, std::chrono::seconds limit) {
  if (auto asked = store.request_cancel(record.id); !asked) return asked.error();
  const auto until = seams.clock.steady() + limit;
  while (seams.clock.steady() < until && !interrupted()) {
    if (!runs::DirectoryLock::holder(record.directory)) {
      const auto now = store.find(record.id);
      if (!now) return now.error();
      if (is_final(now->state)) return fmt::format("{}: {}", record.id, to_string(now->state));
      return failure(
          "cancel-follower",
          fmt::format("{}: the process that followed it ended without closing it", record.id),
          "muster cancel " + record.id);
    }
    seams.clock.sleep_for(std::chrono::milliseconds(100));
  }
  return failure("cancel-follower",
                 fmt::format("{}: was asked to end, but is still followed {} s later", record.id,
                             limit.count()),
                 "muster status " + record.id);
}

}  // namespace

RunStatus look_at_run(const runs::RunRecord& record, const Seams& seams) {
  RunStatus status;
  status.record = record;
  for (const std::string& line : Tail(runs::metrics_file(record.directory.string(), 0)).lines()) {
    take_event(status.standing, line);
  }
  if (is_final(record.state)) return status;
  status.followed = runs::DirectoryLock::holder(record.directory).has_value();
  status.processes = static_cast<int>(processes_of_run(record.id).size());
  if (const auto submission = submission_of(record, seams)) {
    status.scheduler = submission->scheduler();
    auto job = submission->look(record);
    if (job) {
      status.job = std::move(*job);
    } else {
      status.trouble = job.findings().front().message;
    }
  }
  return status;
}

std::string describe(const RunStatus& status) {
  std::string text = to_string(status.record.state);
  if (!is_final(status.record.state)) {
    if (status.standing.step > 0) text += fmt::format(", step {}", status.standing.step);
    if (status.standing.loss) text += fmt::format(", loss {:.3f}", *status.standing.loss);
    if (!status.standing.doing.empty()) text += ", " + status.standing.doing;
  }
  if (status.job) text += "; " + status.job->words;
  if (!status.trouble.empty()) text += "; " + status.trouble;
  if (status.orphaned()) {
    text += "; the muster that followed it is gone";
    if (status.processes > 0) {
      text += fmt::format(", {} of its processes {} left", status.processes,
                          status.processes == 1 ? "is" : "are");
    }
  }
  if (!status.record.note.empty()) text += "; " + status.record.note;
  return text;
}

Result<std::string> cancel_run(runs::RunStore& store, const runs::RunRecord& record,
                               const Seams& seams, std::chrono::seconds limit) {
  if (is_final(record.state))
    return fmt::format("{}: had ended already ({})", record.id, to_string(record.state));
  if (runs::DirectoryLock::holder(record.directory))
    return ask_follower(store, record, seams, limit);

  std::string done;
  if (const auto submission = submission_of(record, seams)) {
    auto cancelled = submission->cancel(record);
    if (!cancelled) return cancelled.error();
    done = std::move(*cancelled);
  }
  const int ended = end_processes_of_run(record.id, kGrace,
                                         process_alive(record.launcher) ? record.launcher.pid : 0);
  if (ended > 0)
    done += fmt::format("{}{} process{} ended", done.empty() ? "" : ", ", ended,
                        ended == 1 ? "" : "es");
  if (done.empty()) done = "nothing of it was left";
  if (auto set =
          store.set_state(record.id, runs::RunState::kCancelled, "nobody followed it; " + done);
      !set) {
    return set.error();
  }
  return fmt::format("{}: cancelled; {}", record.id, done);
}

}  // namespace muster::launch
