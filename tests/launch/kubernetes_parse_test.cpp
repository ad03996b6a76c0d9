// What kubectl prints, as data. The JSON is written by hand after the status types of each
// operator's API (k8s.io/api v0.36, kubeflow training-operator v1.8.1, mpi-operator v0.6.0, trainer
// v2.0.0, kuberay v1.5.0, jobset v0.8.0, lws v0.6.0), cut to what is read; HyperPod's is after its
// documentation. tests/conformance/kube-apiserver reads what a real API server and its controllers
// write.
#include "launch/kubernetes_parse.h"

#include <gtest/gtest.h>

#include "launch/kubernetes_follow.h"
#include "launch/kubernetes_logs.h"
#include "launch/process_wrapper.h"
#include "testing.h"

namespace muster::launch {
namespace {

KubeObject object(const std::string& kind, const std::string& api_version,
                  const std::string& status) {
  const auto parsed = parse_kube_object(R"({"apiVersion":")" + api_version + R"(","kind":")" +
                                        kind + R"(","status":)" + status + "}");
  EXPECT_TRUE(parsed) << status;
  return parsed ? *parsed : KubeObject{"unparsed", {}, {}, KubePhase::kUnknown};
}

std::string condition(const std::string& type, const std::string& reason = "",
                      const std::string& message = "", const std::string& status = "True") {
  return R"({"type":")" + type + R"(","status":")" + status + R"(","reason":")" + reason +
         R"(","message":")" + message + R"("})";
}

std::string conditions(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += (text.empty() ? "" : ",") + one;
  return R"({"conditions":[)" + text + "]}";
}

TEST(KubernetesParse, EveryKindTellsItsPhaseByItsConditions) {
  struct Row {
    const char* kind;
    const char* api;
    std::string status;
    KubePhase phase;
  };
  const std::vector<Row> rows = {
      {"Job", "batch/v1", "{}", KubePhase::kWaiting},
      {"Job", "batch/v1", R"({"active":2,"ready":1})", KubePhase::kRunning},
      {"Job", "batch/v1", conditions({condition("Suspended")}), KubePhase::kSuspended},
      {"Job", "batch/v1", conditions({condition("SuccessCriteriaMet"), condition("Complete")}),
       KubePhase::kSucceeded},
      {"Job", "batch/v1", conditions({condition("FailureTarget"), condition("Failed")}),
       KubePhase::kFailed},
      {"Job", "batch/v1", conditions({condition("FailureTarget")}), KubePhase::kRunning},
      {"JobSet", "jobset.x-k8s.io/v1alpha2", conditions({condition("Completed")}),
       KubePhase::kSucceeded},
      {"JobSet", "jobset.x-k8s.io/v1alpha2", conditions({condition("Failed")}), KubePhase::kFailed},
      {"JobSet", "jobset.x-k8s.io/v1alpha2",
       conditions({condition("StartupPolicyInProgress"), condition("Suspended", "", "", "False")}),
       KubePhase::kWaiting},
      {"JobSet", "jobset.x-k8s.io/v1alpha2",
       R"({"replicatedJobsStatus":[{"name":"a","active":0},{"name":"b","active":1}]})",
       KubePhase::kRunning},
      {"JobSet", "jobset.x-k8s.io/v1alpha2",
       R"({"replicatedJobsStatus":[{"name":"a","active":0,"suspended":0}]})", KubePhase::kWaiting},
      {"TrainJob", "trainer.kubeflow.org/v1alpha1",
       R"({"jobsStatus":[{"name":"node","active":1}]})", KubePhase::kRunning},
      {"PyTorchJob", "kubeflow.org/v1", conditions({condition("Created"), condition("Running")}),
       KubePhase::kRunning},
      {"PyTorchJob", "kubeflow.org/v1",
       conditions(
           {condition("Created"), condition("Running", "", "", "False"), condition("Succeeded")}),
       KubePhase::kSucceeded},
      {"PyTorchJob", "kubeflow.org/v1", conditions({condition("Created"), condition("Restarting")}),
       KubePhase::kWaiting},
      {"MPIJob", "kubeflow.org/v2beta1",
       conditions({condition("Created"), condition("Failed", "BackoffLimitExceeded")}),
       KubePhase::kFailed},
      {"TrainJob", "trainer.kubeflow.org/v1alpha1", conditions({condition("Complete")}),
       KubePhase::kSucceeded},
      {"TrainJob", "trainer.kubeflow.org/v1alpha1", conditions({condition("Suspended")}),
       KubePhase::kSuspended},
      {"HyperPodPyTorchJob", "sagemaker.amazonaws.com/v1",
       conditions({condition("Created"), condition("PodsRunning")}), KubePhase::kRunning},
      {"HyperPodPyTorchJob", "sagemaker.amazonaws.com/v1", conditions({condition("Completed")}),
       KubePhase::kSucceeded},
      {"Deployment", "apps/v1", conditions({condition("Progressing"), condition("Available")}),
       KubePhase::kRunning},
      {"Deployment", "apps/v1",
       conditions({condition("Available"),
                   condition("Progressing", "ProgressDeadlineExceeded", "timed out", "False")}),
       KubePhase::kFailed},
      {"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1",
       conditions({condition("Available", "", "", "False"), condition("Progressing")}),
       KubePhase::kWaiting},
      {"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", conditions({condition("Available")}),
       KubePhase::kRunning},
      {"RayService", "ray.io/v1", conditions({condition("Ready")}), KubePhase::kRunning},
      {"RayCluster", "ray.io/v1", R"({"state":"ready"})", KubePhase::kRunning},
      {"RayJob", "ray.io/v1", R"({"jobDeploymentStatus":"Initializing"})", KubePhase::kWaiting},
      {"RayJob", "ray.io/v1", R"({"jobStatus":"RUNNING","jobDeploymentStatus":"Running"})",
       KubePhase::kRunning},
      {"RayJob", "ray.io/v1", R"({"jobStatus":"SUCCEEDED","jobDeploymentStatus":"Complete"})",
       KubePhase::kSucceeded},
      {"RayJob", "ray.io/v1", R"({"jobStatus":"STOPPED"})", KubePhase::kFailed},
      {"RayJob", "ray.io/v1", R"({"jobStatus":"PENDING","jobDeploymentStatus":"Failed"})",
       KubePhase::kFailed},
      {"RayJob", "ray.io/v1", R"({"jobDeploymentStatus":"Suspended"})", KubePhase::kSuspended},
  };
  for (const Row& row : rows)
    EXPECT_EQ(object(row.kind, row.api, row.status).phase, row.phase) << row.kind << row.status;
}

TEST(KubernetesParse, AnUnknownStateIsShownAndNeverAnEnd) {
  const KubeObject strange = object("PyTorchJob", "kubeflow.org/v1",
                                    conditions({condition("Hibernating", "Cold", "it snows")}));
  EXPECT_EQ(strange.phase, KubePhase::kUnknown);
  EXPECT_EQ(strange.state, "Hibernating");
  EXPECT_EQ(object("RayJob", "ray.io/v1", R"({"jobStatus":"DREAMING"})").state, "DREAMING");
  const KubeJob job{"x", "PyTorchJob", "a", "default", {}, 1};
  EXPECT_NE(describe(job, strange, {}).find("not known here"), std::string::npos);
  EXPECT_EQ(conclude(job, strange, {}).end, runs::LauncherResult::End::kUnknown);
}

TEST(KubernetesParse, WhatIsNoObjectIsAnError) {
  for (const char* text : {"", "[]", "{}", "Error from server", R"({"kind":7})"}) {
    EXPECT_FALSE(parse_kube_object(text)) << text;
    EXPECT_FALSE(parse_kube_pods(text)) << text;
    EXPECT_TRUE(parse_kube_warnings(text).empty()) << text;
  }
}

KubePod pod(const std::string& status) {
  const auto pods =
      parse_kube_pods(R"({"items":[{"metadata":{"name":"x-0"},"spec":{"nodeName":"n1"},"status":)" +
                      status + "}]}");
  EXPECT_TRUE(pods) << status;
  return pods && pods->size() == 1 ? pods->front() : KubePod{};
}

TEST(KubernetesParse, WhyAPodDoesNotRun) {
  const KubePod pending = pod(
      R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
          "message":"0/4 nodes are available: 4 Insufficient nvidia.com/gpu."}]})");
  EXPECT_FALSE(pending.up);
  EXPECT_NE(describe(pending).find("Unschedulable (0/4 nodes are available: 4 Insufficient"),
            std::string::npos)
      << describe(pending);
  for (const auto& [reason, hopeless] : {std::pair{"ImagePullBackOff", false},
                                         {"ErrImagePull", false},
                                         {"CreateContainerConfigError", false},
                                         {"InvalidImageName", true},
                                         {"ErrImageNeverPull", true}}) {
    const KubePod waiting = pod(
        std::string(
            R"({"phase":"Pending","containerStatuses":[{"name":"c","state":{"waiting":{"reason":")") +
        reason + R"(","message":"why"}}}]})");
    EXPECT_EQ(waiting.reason, reason);
    EXPECT_EQ(waiting.hopeless, hopeless) << reason;
    EXPECT_FALSE(waiting.up);
  }
  const KubePod loop = pod(R"({"phase":"Running","containerStatuses":[{"name":"c","restartCount":4,
      "state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1}}}]})");
  EXPECT_FALSE(loop.up);
  EXPECT_EQ(describe(loop), "pod x-0 on n1: CrashLoopBackOff, exit code 1, restarted 4 times");
  const KubePod starting = pod(
      R"({"phase":"Pending","containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ContainerCreating"}}}]})");
  EXPECT_EQ(starting.reason, "");
}

TEST(KubernetesParse, HowAPodEnded) {
  const KubePod killed = pod(R"({"phase":"Failed","containerStatuses":[{"name":"c",
      "state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]})");
  EXPECT_TRUE(killed.up);
  EXPECT_EQ(describe(killed), "pod x-0 on n1: OOMKilled, exit code 137");
  EXPECT_EQ(pod(R"({"phase":"Failed","reason":"Evicted","message":"low on\nmemory"})").message,
            "low on memory");
  const KubePod done = pod(
      R"({"phase":"Succeeded","containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]})");
  EXPECT_TRUE(done.up);
  EXPECT_FALSE(done.exit_code);
}

TEST(KubernetesParse, AnEndIsToldWithThePodThatFailed) {
  const KubeJob job{"job.v1.batch", "Job", "x", "ml", {}, 2};
  const KubeObject failed =
      object("Job", "batch/v1", conditions({condition("Failed", "BackoffLimitExceeded", "limit")}));
  const KubePod bad = pod(R"({"phase":"Failed","containerStatuses":[{"name":"c",
      "state":{"terminated":{"exitCode":7,"reason":"Error"}}}]})");
  const auto ended = conclude(job, failed, {bad});
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_NE(ended.detail.find("pod x-0 on n1: Error, exit code 7"), std::string::npos)
      << ended.detail;
  const KubeObject late =
      object("Job", "batch/v1", conditions({condition("Failed", "DeadlineExceeded", "too long")}));
  EXPECT_EQ(conclude(job, late, {}).end, runs::LauncherResult::End::kTimedOut);
  const KubeObject good = object("Job", "batch/v1", conditions({condition("Complete")}));
  EXPECT_EQ(conclude(job, good, {}).exit_code, 0);
}

TEST(KubernetesParse, KubectlsOwnWords) {
  EXPECT_EQ(
      kube_error("Warning: x is old\nError from server (NotFound): jobs.batch \"x\" not found\n"),
      "jobs.batch \"x\" not found");
  EXPECT_EQ(kube_error("The connection to the server was refused\nmore"),
            "The connection to the server was refused");
  EXPECT_EQ(kube_error(" \n"), "");
  EXPECT_TRUE(says_not_found("Error from server (NotFound): x"));
  EXPECT_FALSE(says_not_found("Error from server (Forbidden): not found for you"));
  EXPECT_EQ(parse_kube_warnings(
                R"({"items":[{"type":"Normal","reason":"Made","message":"m"},
                    {"type":"Warning","reason":"FailedCreate","message":"a"},
                    {"type":"Warning","reason":"FailedCreate","message":"exceeded quota"}]})"),
            std::vector<std::string>{"FailedCreate: exceeded quota"});
}

TEST(KubernetesLogs, LinesGoToTheirRankOrTheirPod) {
  KubeLogs logs;
  const auto first = logs.take(
      "[pod/x-0/node] 2026-11-30T17:00:00.1Z launcher says\n"
      "[pod/x-0/node] 2026-11-30T17:00:00.1Z [muster rank 0] one\n"
      "error: container \"node\" in pod \"x-1\" is waiting to start\n"
      "[pod/x-1/node] 2026-11-30T17:00:00.2Z [muster rank 1] eins\n"
      "[pod/../node] 2026-11-30T17:00:00.2Z up and away\n");
  EXPECT_EQ(first, (std::map<std::string, std::string>{{"x-0.log", "launcher says\n"},
                                                       {"rank-0.log", "one\n"},
                                                       {"rank-1.log", "eins\n"}}));
  // The next answer overlaps: two lines of the same time among what is known.
  const auto second = logs.take(
      "[pod/x-0/node] 2026-11-30T17:00:00.1Z launcher says\n"
      "[pod/x-0/node] 2026-11-30T17:00:00.1Z [muster rank 0] one\n"
      "[pod/x-0/node] 2026-11-30T17:00:00.1Z [muster rank 0] one more of that time\n"
      "[pod/x-0/node] 2026-11-30T17:00:02.0Z\n"
      "[pod/x-1/node] 2026-11-30T17:00:09.2Z [muster rank 1] zwei\n");
  EXPECT_EQ(second, (std::map<std::string, std::string>{{"x-0.log", "\n"},
                                                        {"rank-0.log", "one more of that time\n"},
                                                        {"rank-1.log", "zwei\n"}}));
  EXPECT_TRUE(logs.take("[pod/x-0/node] 2026-11-30T17:00:02.0Z\n").empty());
}

TEST(KubernetesLogs, RankPrefixesAreReadStrictly) {
  for (const char* line : {"[muster rank ] x", "[muster rank -1] x", "[muster rank 1]x",
                           "[muster rank 99999999999] x", " [muster rank 1] x"})
    EXPECT_FALSE(rank_of_line(line)) << line;
  ASSERT_TRUE(rank_of_line("[muster rank 12] a [muster rank 3] b"));
  EXPECT_EQ(rank_of_line("[muster rank 12] a [muster rank 3] b")->rank, 12);
}

TEST(KubernetesJob, OfWhatWasRendered) {
  const auto job =
      kube_job_of({"x.yaml",
                   "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: ml, labels: "
                   "{app.kubernetes.io/instance: s}}\n---\napiVersion: batch/v1\nkind: Job\n"
                   "metadata: {name: s, namespace: ml}\nspec: {parallelism: 3}\n",
                   false});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->resource, "job.v1.batch");
  EXPECT_EQ(job->pods, 3);
  EXPECT_EQ(job->selectors, std::vector<std::string>{"app.kubernetes.io/instance=s"});
  EXPECT_FALSE(kube_job_of({"x.yaml", "# nothing\n", false}));
}

TEST(KubernetesJob, DocumentsAreParted) {
  EXPECT_EQ(documents_of("a: 1\n---\nb: '---'\nc: |\n  ---\n  x\n---\nd: 2\n"),
            (std::vector<std::string>{"a: 1\n", "b: '---'\nc: |\n  ---\n  x\n", "d: 2\n"}));
}

}  // namespace
}  // namespace muster::launch
