// The objects of a run in a cluster, plain Kubernetes or HyperPod on EKS: made with kubectl under
// names of their own, and deleted when the run has ended.
#include <algorithm>

#include <fmt/format.h>

#include "launch/kubernetes_follow.h"
#include "launch/submission.h"

namespace muster::launch {
namespace {

using End = runs::LauncherResult::End;

// How a record names the objects.
constexpr const char* kContext = "context";
constexpr const char* kNamespace = "namespace";
constexpr const char* kObject = "object";
constexpr const char* kFile = "file";

std::string recorded_value(const runs::RunRecord& record, const char* name) {
  const auto found = record.launcher.job.find(name);
  return found == record.launcher.job.end() ? std::string() : found->second;
}

/// What stands before `create` in the command that was rendered.
std::vector<std::string> kubectl_of(const std::vector<std::string>& command) {
  return {command.begin(), std::find(command.begin(), command.end(), "create")};
}

/// A job as it was recorded, with its cluster.
struct RecordedJob {
  KubeJob job;
  KubeCluster cluster;
  std::filesystem::path file;
};

class KubernetesSubmission : public Submission {
 public:
  explicit KubernetesSubmission(const Seams& seams) : seams_(seams) {}

  std::string scheduler() const override { return "kubernetes"; }

  runs::LauncherResult run(const Submitted& asked, Following& following) override {
    const RenderedFile& file = asked.rendered.files.front();
    const auto job = kube_job_of(file);
    if (!job) return {End::kNotStarted, {}, job.findings().front().message};
    std::vector<std::string> kubectl = kubectl_of(asked.rendered.command);
    std::string context;
    if (kubectl.size() > 1) {
      context = kubectl.back().substr(kubectl.back().find('=') + 1);
    } else {
      // Said from now on: somebody may choose another context while the run goes on.
      context = KubeCluster(kubectl, seams_.processes).current_context();
      if (!context.empty()) kubectl.push_back("--context=" + context);
    }
    const KubeCluster cluster(kubectl, seams_.processes);

    // Recorded first: an object that nobody can find again must not come to be.
    runs::LauncherIds ids;
    ids.job = {{kNamespace, job->name_space},
               {kObject, job->resource + "/" + job->name},
               {kFile, file.path}};
    if (!context.empty()) ids.job[kContext] = context;
    if (auto kept = following.keep(ids); !kept)
      return {End::kNotStarted, {}, kept.findings().front().message};
    if (auto made = cluster.create(documents_of(file.content)); !made)
      return {End::kNotStarted, {}, made.findings().front().message};
    following.say(fmt::format("{} {} in namespace {}{}", job->kind, job->name, job->name_space,
                              context.empty() ? "" : " of " + context));
    following.set_running(false);

    KubeFollowOptions options;
    options.start_limit = asked.start_limit;
    auto result = follow_kubernetes(
        *job, cluster, asked.run_directory / "logs", seams_.files, seams_.clock, options,
        [&] { return following.tick(); },
        [&](const KubeLook& look) {
          following.say(describe(*job, look.object, look.pods));
          following.set_running(all_up(*job, look.pods));
        });
    if (result.end == End::kUnknown) return result;  // the cluster is out of reach
    if (auto removed = cluster.remove(*job, asked.run_directory / file.path); !removed) {
      result.detail += fmt::format("; not deleted: {}", removed.findings().front().message);
    }
    return result;
  }

  Result<std::optional<JobStatus>> look(const runs::RunRecord& record) override {
    if (recorded_value(record, kObject).empty()) return std::optional<JobStatus>();
    const auto recorded = recorded_in(record);
    if (!recorded) return recorded.error();
    const auto look = recorded->cluster.look(recorded->job);
    if (!look) return look.error();
    if (!*look) {
      return failure("kubernetes-gone", fmt::format("the cluster has no {} {} any more",
                                                    recorded->job.kind, recorded->job.name));
    }
    const KubeLook& now = **look;
    JobStatus status{describe(recorded->job, now.object, now.pods),
                     {{"state", now.object.state}, {"reason", now.object.reason}}};
    if (!now.object.message.empty()) status.data["message"] = now.object.message;
    status.data["pods"] = nlohmann::ordered_json::array();
    for (const KubePod& pod : now.pods) {
      nlohmann::ordered_json row = {{"name", pod.name},        {"node", pod.node},
                                    {"phase", pod.phase},      {"up", pod.up},
                                    {"reason", pod.reason},    {"message", pod.message},
                                    {"restarts", pod.restarts}};
      if (pod.exit_code) row["exit_code"] = *pod.exit_code;
      status.data["pods"].push_back(std::move(row));
    }
    return std::optional(std::move(status));
  }

  Result<std::string> cancel(const runs::RunRecord& record) override {
    if (recorded_value(record, kObject).empty()) return std::string();
    const auto recorded = recorded_in(record);
    if (!recorded) return recorded.error();
    if (auto removed = recorded->cluster.remove(recorded->job, recorded->file); !removed)
      return removed.error();
    return fmt::format("{} {} was deleted", recorded->job.kind, recorded->job.name);
  }

 private:
  Result<RecordedJob> recorded_in(const runs::RunRecord& record) {
    const std::filesystem::path file = record.directory / recorded_value(record, kFile);
    const auto text = seams_.files.read(file);
    if (!text) return text.error();
    auto job = kube_job_of({file.string(), *text, false});
    if (!job) return job.error();
    std::vector<std::string> kubectl = {"kubectl"};
    if (const std::string context = recorded_value(record, kContext); !context.empty())
      kubectl.push_back("--context=" + context);
    return RecordedJob{std::move(*job), KubeCluster(kubectl, seams_.processes), file};
  }

  const Seams& seams_;
};

}  // namespace

std::unique_ptr<Submission> kubernetes_submission(const Seams& seams) {
  return std::make_unique<KubernetesSubmission>(seams);
}

}  // namespace muster::launch
