#include "launch/slurm_follow.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "launch/poll.h"

namespace muster::launch {
namespace {

using std::chrono::milliseconds;
using End = runs::LauncherResult::End;

std::string first_line(const std::string& text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return {};
  return text.substr(start, text.find_first_of("\r\n", start) - start);
}

Result<ProcessResult> ask(ProcessRunner& processes, std::vector<std::string> argv,
                          const SlurmJob& job, milliseconds limit) {
  if (!job.cluster.empty()) argv.insert(argv.begin() + 1, "--clusters=" + job.cluster);
  Command command;
  command.argv = std::move(argv);
  command.time_limit = limit;
  command.grace = milliseconds(1000);
  return processes.run(command);
}

/// What one look at the queue says: a status, "not there (any more)", or why it could not be asked.
struct Look {
  std::optional<SlurmStatus> status;
  bool gone = false;
  std::string trouble;
};

Look look_at_queue(ProcessRunner& processes, const SlurmJob& job, milliseconds limit) {
  Look look;
  const auto answer = ask(processes,
                          {"squeue", "--noheader", "--states=all", "--jobs=" + job.id,
                           std::string("--format=") + kSqueueFormat},
                          job, limit);
  if (!answer) {
    look.trouble = answer.findings().front().message;
  } else if (answer->timed_out) {
    look.trouble = fmt::format("squeue did not answer within {} s", limit.count() / 1000);
  } else if (answer->exit_code != 0) {
    look.gone = says_unknown_job(answer->err);
    if (!look.gone) look.trouble = "squeue: " + first_line(answer->err);
  } else if (auto parsed = parse_squeue(answer->out, job.id); !parsed) {
    look.trouble = parsed.findings().front().message;
  } else {
    look.status = *parsed;
    look.gone = !look.status;
  }
  return look;
}

std::optional<SlurmStatus> ask_sacct(ProcessRunner& processes, const SlurmJob& job,
                                     milliseconds limit) {
  const auto answer = ask(processes,
                          {"sacct", "--noheader", "--parsable2", "--allocations", "--duplicates",
                           "--jobs=" + job.id, std::string("--format=") + kSacctFormat},
                          job, limit);
  if (!answer || answer->exit_code != 0) return std::nullopt;
  const auto parsed = parse_sacct(answer->out, job.id);
  return parsed ? *parsed : std::nullopt;
}

std::optional<SlurmStatus> ask_scontrol(ProcessRunner& processes, const SlurmJob& job,
                                        milliseconds limit) {
  const auto answer = ask(processes, {"scontrol", "--oneliner", "show", "job", job.id}, job, limit);
  if (!answer || answer->exit_code != 0) return std::nullopt;
  const auto parsed = parse_scontrol(answer->out);
  if (!parsed) return std::nullopt;
  return *parsed;
}

bool settled(const SlurmStatus& status) {
  return status.phase() == SlurmPhase::kEnded || status.phase() == SlurmPhase::kLost;
}

class Follower {
 public:
  Follower(const SlurmJob& job, ProcessRunner& processes, Clock& clock,
           const SlurmFollowOptions& options, const Tick& tick, const OnStatus& on_status)
      : job_(job),
        processes_(processes),
        clock_(clock),
        options_(options),
        poll_(clock, tick, options.shortest_poll, options.longest_poll),
        on_status_(on_status) {}

  runs::LauncherResult follow() {
    auto heard = clock_.steady();
    auto sound = heard;  // when the job was last seen waiting or running
    while (true) {
      const Look look = look_at_queue(processes_, job_, options_.command_limit);
      const auto now = clock_.steady();
      if (look.trouble.empty()) {
        heard = now;
      } else if (now - heard >= options_.unreachable) {
        return {End::kUnknown,
                {},
                fmt::format("job {} was left alone: for {} s Slurm could not be asked ({})",
                            job_.id, options_.unreachable.count(), look.trouble)};
      }
      if (look.gone) return how_it_ended();
      if (look.status) {
        if (report(last_, *look.status, on_status_)) poll_.restart();
        if (look.status->phase() == SlurmPhase::kEnded) return how_it_ended();
        // A job whose node failed shows up as lost for a while before Slurm puts it back into the
        // queue.
        if (look.status->phase() != SlurmPhase::kLost) {
          sound = now;
        } else if (!options_.requeue || now - sound >= options_.back_in_queue) {
          return how_it_ended();
        }
      }
      if (const Stop stop = poll_.wait(); stop != Stop::kNo) return end_it(stop);
    }
  }

 private:
  /// The accounting knows best how a job ended, but may lag behind the queue for some seconds.
  runs::LauncherResult how_it_ended() {
    for (int attempt = 0; attempt < 10; ++attempt) {
      if (const auto status = ask_sacct(processes_, job_, options_.command_limit);
          status && settled(*status)) {
        return settle(*status);
      }
      if (const auto status = ask_scontrol(processes_, job_, options_.command_limit);
          status && settled(*status)) {
        return settle(*status);
      }
      clock_.sleep_for(options_.shortest_poll);
    }
    if (last_ && settled(*last_)) return conclude(*last_);
    return {End::kUnknown,
            {},
            fmt::format("job {} left the queue and neither sacct nor scontrol knows how it ended{}",
                        job_.id, last_ ? "; last seen: " + describe(*last_) : "")};
  }

  /// While a job ends, the accounting may name only the nodes that have reported so far.
  runs::LauncherResult settle(SlurmStatus status) {
    if (last_ && !last_->nodes.empty()) status.nodes = last_->nodes;
    report(last_, status, on_status_);
    return conclude(status);
  }

  runs::LauncherResult end_it(Stop stop) {
    if (stop == Stop::kInterrupted)
      forget_interrupts();  // or scancel itself would be ended at once
    const auto cancelled = cancel_slurm(job_, processes_);
    const auto until = clock_.steady() + options_.cancelled_within;
    bool ended = false;
    while (!ended && clock_.steady() < until) {
      const Look look = look_at_queue(processes_, job_, options_.command_limit);
      ended = look.gone || (look.status && settled(*look.status));
      if (!ended) clock_.sleep_for(options_.shortest_poll);
    }
    runs::LauncherResult result;
    result.end = end_of(stop);
    result.detail = fmt::format("Slurm job {} was cancelled by muster", job_.id);
    if (!cancelled)
      result.detail =
          fmt::format("Slurm job {}: {}", job_.id, cancelled.findings().front().message);
    if (!ended) {
      result.detail +=
          fmt::format("; it was still there {} s later", options_.cancelled_within.count());
    }
    return result;
  }

  const SlurmJob& job_;
  ProcessRunner& processes_;
  Clock& clock_;
  const SlurmFollowOptions& options_;
  Poll poll_;
  const OnStatus& on_status_;
  std::optional<SlurmStatus> last_;
};

}  // namespace

Result<SlurmJob> submit(const Command& command, ProcessRunner& processes) {
  const auto answer = processes.run(command);
  if (!answer) return answer.error();
  if (answer->timed_out)
    return failure("slurm-submit", "sbatch did not answer within its time limit");
  if (answer->exit_code != 0) {
    const std::string said = first_line(answer->err);
    return failure("slurm-submit",
                   said.empty() ? fmt::format("sbatch exited with {}", answer->exit_code) : said,
                   "sinfo shows the partitions; targets.slurm in the manifest names partition, "
                   "account and time");
  }
  return parse_sbatch(answer->out);
}

runs::LauncherResult follow_slurm(const SlurmJob& job, ProcessRunner& processes, Clock& clock,
                                  const SlurmFollowOptions& options, const Tick& tick,
                                  const OnStatus& on_status) {
  return Follower(job, processes, clock, options, tick, on_status).follow();
}

Result<SlurmStatus> look_at(const SlurmJob& job, ProcessRunner& processes) {
  const milliseconds limit = SlurmFollowOptions{}.command_limit;
  const Look look = look_at_queue(processes, job, limit);
  if (look.status) return *look.status;
  if (!look.gone)
    return failure("slurm-unreachable", look.trouble, "is slurmctld up? see scontrol ping");
  if (const auto status = ask_sacct(processes, job, limit)) return *status;
  return failure("slurm-job-gone", "Slurm does not know job " + job.id + " any more");
}

Result<void> cancel_slurm(const SlurmJob& job, ProcessRunner& processes) {
  const auto answer = ask(processes, {"scancel", job.id}, job, SlurmFollowOptions{}.command_limit);
  if (!answer) return answer.error();
  if (answer->exit_code == 0 || says_unknown_job(answer->err)) return {};
  return failure("slurm-cancel", "scancel: " + first_line(answer->err));
}

}  // namespace muster::launch
