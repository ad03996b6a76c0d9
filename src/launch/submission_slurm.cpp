// A job of Slurm. Its logs are on the file system that the nodes share.
#include <fmt/format.h>

#include "launch/launcher_errors.h"
#include "launch/slurm_follow.h"
#include "launch/submission.h"

namespace muster::launch {
namespace {

using End = runs::LauncherResult::End;

SlurmJob job_of(const runs::RunRecord& record) {
  return {record.launcher.slurm_job_id, record.launcher.slurm_cluster};
}

class SlurmSubmission : public Submission {
 public:
  explicit SlurmSubmission(const Seams& seams) : seams_(seams) {}

  std::string scheduler() const override { return "slurm"; }

  runs::LauncherResult run(const Submitted& asked, Following& following) override {
    Command command;
    command.argv = asked.rendered.command;
    command.directory = asked.project;
    command.time_limit = std::chrono::seconds(60);
    const auto job = submit(command, seams_.processes);
    if (!job) return {End::kNotStarted, {}, job.findings().front().message};
    runs::LauncherIds ids;
    ids.slurm_job_id = job->id;
    ids.slurm_cluster = job->cluster;
    if (auto kept = following.keep(ids); !kept) {
      const auto cancelled = cancel_slurm(*job, seams_.processes);
      return {
          End::kNotStarted,
          {},
          fmt::format("job {} was {} again, since it could not be recorded: {}", job->id,
                      cancelled ? "cancelled" : "not cancelled", kept.findings().front().message)};
    }
    following.say("Slurm job " + job->id);
    following.set_running(false);
    auto result = follow_slurm(
        *job, seams_.processes, seams_.clock, {}, [&] { return following.tick(); },
        [&](const SlurmStatus& status) {
          following.say(fmt::format("job {}: {}", job->id, describe(status)));
          following.set_running(status.phase() == SlurmPhase::kRunning);
        });
    if (result.end == End::kExited && result.exit_code.value_or(0) != 0) {
      const auto said = seams_.files.read(asked.run_directory / "logs/launcher.err");
      const std::string words = said ? explain_launcher(*said) : std::string();
      if (!words.empty()) result.detail += "; " + words;
    }
    return result;
  }

  Result<std::optional<JobStatus>> look(const runs::RunRecord& record) override {
    const SlurmJob job = job_of(record);
    if (job.id.empty()) return std::optional<JobStatus>();
    const auto status = look_at(job, seams_.processes);
    if (!status) return status.error();
    return std::optional(JobStatus{
        fmt::format("job {}: {}", job.id, describe(*status)),
        {{"state", status->state}, {"reason", status->reason}, {"nodes", status->nodes}}});
  }

  Result<std::string> cancel(const runs::RunRecord& record) override {
    const SlurmJob job = job_of(record);
    if (job.id.empty()) return std::string();
    if (auto cancelled = cancel_slurm(job, seams_.processes); !cancelled) return cancelled.error();
    return "Slurm job " + job.id + " was cancelled";
  }

 private:
  const Seams& seams_;
};

}  // namespace

std::unique_ptr<Submission> slurm_submission(const Seams& seams) {
  return std::make_unique<SlurmSubmission>(seams);
}

}  // namespace muster::launch
