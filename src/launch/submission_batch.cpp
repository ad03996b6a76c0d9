// A job of AWS Batch. Its nodes share no disk with this machine: their logs come from CloudWatch.
#include <algorithm>

#include <fmt/format.h>

#include "launch/batch_follow.h"
#include "launch/submission.h"

namespace muster::launch {
namespace {

using End = runs::LauncherResult::End;

// How a record names the job.
constexpr const char* kJob = "job";
constexpr const char* kDefinition = "definition";

BatchJob batch_job_of(const runs::RunRecord& record) {
  const auto name = [&](const char* key) {
    const auto found = record.launcher.job.find(key);
    return found == record.launcher.job.end() ? std::string() : found->second;
  };
  return {name(kJob), name(kDefinition)};
}

class BatchSubmission : public Submission {
 public:
  explicit BatchSubmission(const Seams& seams) : seams_(seams) {}

  std::string scheduler() const override { return "batch"; }

  runs::LauncherResult run(const Submitted& asked, Following& following) override {
    const auto& files = asked.rendered.files;
    const auto file = std::find_if(files.begin(), files.end(), [](const RenderedFile& one) {
      return one.path.ends_with(".json");
    });
    if (file == files.end()) return {End::kNotStarted, {}, "no job definition was rendered"};
    const auto definition = register_batch(file->content, seams_.processes);
    if (!definition) return {End::kNotStarted, {}, aws_words(definition.findings())};
    // Recorded first: a job that nobody can find again must not come to be.
    runs::LauncherIds ids;
    ids.job = {{kDefinition, *definition}};
    if (auto kept = following.keep(ids); !kept)
      return give_back(*definition, {End::kNotStarted, {}, kept.findings().front().message});
    const auto job = submit_batch(asked.rendered.command, *definition, seams_.processes);
    if (!job) return give_back(*definition, {End::kNotStarted, {}, aws_words(job.findings())});
    ids.job[kJob] = job->id;
    if (auto kept = following.keep(ids); !kept) {
      const auto ended = terminate_batch(*job, seams_.processes);
      return give_back(
          *definition,
          {End::kNotStarted,
           {},
           fmt::format("job {} was {} again, since it could not be recorded: {}", job->id,
                       ended ? "ended" : "not ended", kept.findings().front().message)});
    }
    following.say("Batch job " + job->id);
    following.set_running(false);
    BatchFollowOptions options;
    options.start_limit = asked.start_limit;
    BatchLogs logs(asked.run_directory / "logs", seams_.files);
    const auto result = follow_batch(
        *job, seams_.processes, seams_.clock, options, [&] { return following.tick(); },
        [&](const BatchStatus& status) {
          following.say(fmt::format("job {}: {}", job->id, describe(status)));
          following.set_running(status.phase() == BatchPhase::kRunning);
        },
        logs);
    // A job that is left alone may start again by its definition.
    return result.end == End::kUnknown ? result : give_back(*definition, result);
  }

  Result<std::optional<JobStatus>> look(const runs::RunRecord& record) override {
    const BatchJob job = batch_job_of(record);
    if (job.id.empty()) return std::optional<JobStatus>();
    const auto status = look_at_batch(job, seams_.processes);
    if (!status) return status.error();
    return std::optional(JobStatus{fmt::format("job {}: {}", job.id, describe(*status)),
                                   {{"state", status->state}, {"reason", status->reason}}});
  }

  Result<std::string> cancel(const runs::RunRecord& record) override {
    const BatchJob job = batch_job_of(record);
    if (job.definition.empty()) return std::string();
    std::string done = "nothing was submitted";
    if (!job.id.empty()) {
      if (auto ended = terminate_batch(job, seams_.processes); !ended) return ended.error();
      done = "Batch job " + job.id + " was ended";
    }
    if (auto gone = deregister_batch(job.definition, seams_.processes); !gone)
      done += "; its definition is still there: " + aws_words(gone.findings());
    return done;
  }

 private:
  /// The revision of the job definition was made for this job alone.
  runs::LauncherResult give_back(const std::string& definition, runs::LauncherResult result) {
    if (auto gone = deregister_batch(definition, seams_.processes); !gone)
      result.detail += fmt::format("; the job definition {} is still there: {}", definition,
                                   aws_words(gone.findings()));
    return result;
  }

  const Seams& seams_;
};

}  // namespace

std::unique_ptr<Submission> batch_submission(const Seams& seams) {
  return std::make_unique<BatchSubmission>(seams);
}

}  // namespace muster::launch
