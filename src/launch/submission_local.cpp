// Processes of this machine. They are found again by the run's id, which each has in its
// environment, so there is nothing to look at or to end beyond them.
#include <cstdlib>

#include "launch/local.h"
#include "launch/submission.h"

namespace muster::launch {
namespace {

/// The process that rendered/job.sh says it is; nothing until it has started.
std::optional<runs::LauncherIds> started_process(const std::filesystem::path& directory,
                                                 FileSystem& files) {
  const auto text = files.read(directory / "logs/job.pid");
  if (!text) return std::nullopt;
  const int pid = std::atoi(text->c_str());
  if (pid <= 0) return std::nullopt;
  return runs::ids_of_process(pid);
}

class LocalSubmission : public Submission {
 public:
  explicit LocalSubmission(const Seams& seams) : seams_(seams) {}

  std::string scheduler() const override { return {}; }

  runs::LauncherResult run(const Submitted& job, Following& following) override {
    LocalRun local;
    local.run_id = job.run_id;
    local.run_directory = job.run_directory;
    local.time_limit = job.time_limit;
    bool known = false;
    return run_local(job.rendered, local, seams_.files, seams_.processes, [&] {
      if (!known) {
        if (const auto ids = started_process(job.run_directory, seams_.files)) {
          known = true;
          if (!following.keep(*ids)) return Stop::kCancelled;
        }
      }
      return following.tick();
    });
  }

  Result<std::optional<JobStatus>> look(const runs::RunRecord& /*record*/) override {
    return std::optional<JobStatus>();
  }

  Result<std::string> cancel(const runs::RunRecord& /*record*/) override { return std::string(); }

 private:
  const Seams& seams_;
};

}  // namespace

std::unique_ptr<Submission> local_submission(const Seams& seams) {
  return std::make_unique<LocalSubmission>(seams);
}

}  // namespace muster::launch
