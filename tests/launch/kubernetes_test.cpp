// The objects that a case becomes on Kubernetes and on HyperPod, one by one.
#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/schema.h"
#include "kubernetes_case.h"
#include "launch/kubernetes_build.h"

namespace muster::launch {
namespace {

using kube_test::containers_of;
using kube_test::good;
using kube_test::kHyperpodJob;
using kube_test::object;
using kube_test::objects;
using kube_test::render;

TEST(Kubernetes, ALiteralSurvivesTheExpansionOfKubernetes) {
  EXPECT_EQ(kube_literal("$(date) $$ $HOME $"), "$$(date) $$$ $HOME $");
  EXPECT_EQ(kube_literal("plain"), "plain");
}

// What kubelet makes of a command's word: $(NAME) of no known variable stays, $$ is $.
std::string expand(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size()) {
      if (text[i + 1] == '$') {
        out += '$';
        ++i;
        continue;
      }
      if (text[i + 1] == '(' && text.find(')', i) != std::string::npos) {
        out += "EXPANDED";
        i = text.find(')', i);
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

RC_GTEST_PROP(KubernetesProperty, LiteralsSurviveExpansion, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("$()aB{}")));
  RC_ASSERT(expand(kube_literal(text)) == text);
}

// Scripts are written as literal blocks.
RC_GTEST_PROP(KubernetesProperty, TextOfSeveralLinesIsReadBack, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string(" \n\tab:#'\"-$|0_")));
  KubeMap map;
  map.set("one", text).set("list", kube_texts({text, "end"}));
  const auto again = parse_yaml(to_yaml(map.take()), "f");
  RC_ASSERT(again.ok());
  RC_ASSERT(text_at(*again, "one") == text);
  RC_ASSERT(texts_at(*again, "list") == (std::vector<std::string>{text, "end"}));
}

TEST(Kubernetes, QuantitiesAreWholeAndExact) {
  EXPECT_EQ(kube_bytes(std::int64_t{64} << 30), "64Gi");
  EXPECT_EQ(kube_bytes(std::int64_t{5} << 20), "5Mi");
  EXPECT_EQ(kube_bytes(1000), "1000");
  EXPECT_EQ(kube_bytes(0), "0");
  EXPECT_EQ(kube_cores(8), "8");
  EXPECT_EQ(kube_cores(1.5), "1500m");
}

TEST(Kubernetes, TheSameCaseGivesTheSameBytes) {
  EXPECT_EQ(good(render({}))[0].content, good(render({}))[0].content);
}

TEST(Kubernetes, AJobIsBoundedAndItsMissingNodeNamed) {
  for (const char* kind : {"PyTorchJob", "MPIJob", "JobSet", "IndexedJob", "TrainJob"}) {
    const std::string text =
        good(render(object(kind, {{"rendezvous.start_timeout", "7m"}})))[0].content;
    EXPECT_NE(text.find("activeDeadlineSeconds: 21600"), std::string::npos) << kind;
    EXPECT_NE(text.find("did not come within 420 s"), std::string::npos) << kind;
  }
  const std::string hyperpod = good(render(kHyperpodJob, Target::kHyperpodEks))[0].content;
  EXPECT_NE(hyperpod.find("startupDeadlineSeconds: 600"), std::string::npos);
}

TEST(Kubernetes, AnMpiJobHandsItsEnvironmentToTheRanks) {
  const std::string text = good(render(object("MPIJob")))[0].content;
  for (const char* part :
       {"-x PATH", "-x LD_LIBRARY_PATH", "-x HF_TOKEN", "-x HF_HUB_ETAG_TIMEOUT",
        "-x MASTER_ADDR=demo-tiny-worker-0.demo-tiny", "demo-tiny-worker-3.demo-tiny'",
        "--allow-run-as-root", "no ssh within 600 s"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(Kubernetes, AFixedWorldHasAMasterAnElasticOneHasNot) {
  const Node fixed = objects(good(render({}))).front();
  EXPECT_EQ(integer_at(fixed, "spec.pytorchReplicaSpecs.Master.replicas"), 1);
  EXPECT_EQ(integer_at(fixed, "spec.pytorchReplicaSpecs.Worker.replicas"), 3);
  EXPECT_EQ(node_at(fixed, "spec.elasticPolicy"), nullptr);
  const Node elastic =
      objects(good(render({{"rendezvous.elastic", "true"}, {"topology.min_nodes", "2"}}))).front();
  EXPECT_EQ(node_at(elastic, "spec.pytorchReplicaSpecs.Master"), nullptr);
  EXPECT_EQ(integer_at(elastic, "spec.pytorchReplicaSpecs.Worker.replicas"), 4);
  EXPECT_EQ(integer_at(elastic, "spec.elasticPolicy.minReplicas"), 2);
  EXPECT_EQ(integer_at(elastic, "spec.elasticPolicy.maxReplicas"), 4);
  const Node single = objects(good(render({{"topology.nodes", "1"}}))).front();
  EXPECT_EQ(node_at(single, "spec.pytorchReplicaSpecs.Worker"), nullptr);
}

TEST(Kubernetes, EfaComesFromTheInstance) {
  for (const auto& [type, count] : {std::pair{"p5.48xlarge", "32"}, {"p5en.48xlarge", "16"}}) {
    const Node job = objects(good(render({{"topology.instance_type", type}}))).front();
    const Node* resources = node_at(*containers_of(job).front(), "resources.limits");
    EXPECT_EQ(resources->find("vpc.amazonaws.com/efa")->text(), count);
    EXPECT_EQ(resources->find("nvidia.com/gpu")->text(), "8");
    EXPECT_EQ(resources->find("hugepages-2Mi")->text(), "5Gi");
  }
}

TEST(Kubernetes, NodesAreFoundUnderBothNames) {
  const std::string plain = good(render({}))[0].content;
  EXPECT_NE(plain.find("- p5.48xlarge\n"), std::string::npos);
  EXPECT_NE(plain.find("- ml.p5.48xlarge\n"), std::string::npos);
  const std::string hyperpod = good(render({}, Target::kHyperpodEks))[0].content;
  EXPECT_EQ(hyperpod.find("- p5.48xlarge\n"), std::string::npos);
  EXPECT_NE(hyperpod.find("- ml.p5.48xlarge\n"), std::string::npos);
}

TEST(Kubernetes, HyperpodsDeltasAreOnItsObjectsOnly) {
  const char* const kDeltas[] = {"sagemaker.amazonaws.com/enable-job-auto-resume: \"true\"",
                                 "sagemaker.amazonaws.com/job-max-retry-count: \"3\"",
                                 "sagemaker.amazonaws.com/node-health-status",
                                 "sagemaker.amazonaws.com/deep-health-check-status",
                                 "/opt/dlami/nvme"};
  const std::string hyperpod = good(render({}, Target::kHyperpodEks))[0].content;
  const std::string plain = good(render({}))[0].content;
  for (const char* delta : kDeltas) {
    EXPECT_NE(hyperpod.find(delta), std::string::npos) << delta;
    EXPECT_EQ(plain.find(delta), std::string::npos) << delta;
  }
  EXPECT_NE(plain.find("/mnt/k8s-disks/0"), std::string::npos);
}

TEST(Kubernetes, HyperpodsOperatorWatchesTheLog) {
  const Node job = objects(good(render(kHyperpodJob, Target::kHyperpodEks))).front();
  EXPECT_EQ(to_yaml(*node_at(job, "spec.runPolicy")),
            "activeDeadlineSeconds: 21600\n"
            "startupDeadlineSeconds: 600\n"
            "cleanPodPolicy: All\n"
            "jobMaxRetryCount: 3\n"
            "restartPolicy:\n"
            "  numRestartBeforeFullJobRestart: 3\n"
            "  evalPeriodSeconds: 21600\n"
            "  maxFullJobRestarts: 3\n"
            "logMonitoringConfiguration:\n"
            "  - name: JobStart\n"
            "    logPattern: \".*Loss: ([0-9.]+).*\"\n"
            "    expectedStartCutOffInSeconds: 240\n"
            "  - name: JobHangingDetection\n"
            "    logPattern: \".*Loss: ([0-9.]+).*\"\n"
            "    expectedRecurringFrequencyInSeconds: 600\n");
  EXPECT_EQ(text_at(job, "spec.nprocPerNode"), "8");
  EXPECT_EQ(texts_at(*containers_of(job).front(), "command").front(), "hyperpodrun");
}

TEST(Kubernetes, StepsAreJobsInOrderAroundTheCasesOwn) {
  const auto files = good(render({{"steps",
                                   "[{name: merge, when: after, command: [merge]}, {name: "
                                   "download, command: [hf, download, m], timeout: 30m}]"}}));
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].path, "kubernetes/demo-tiny-download.yaml");
  EXPECT_EQ(files[1].path, "kubernetes/demo-tiny.yaml");
  EXPECT_EQ(files[2].path, "kubernetes/demo-tiny-merge.yaml");
  const Node step = objects({files[0]}).front();
  EXPECT_EQ(integer_at(step, "spec.activeDeadlineSeconds"), 1800);
  EXPECT_EQ(texts_at(*containers_of(step).front(), "command"),
            (std::vector<std::string>{"hf", "download", "m"}));
}

TEST(Kubernetes, StepsAreSubmittedOneAfterTheOther) {
  const catalog::ResolvedCase value = kube_test::resolved(
      {{"steps",
        "[{name: merge, when: after, command: [merge]}, {name: download, command: [hf], timeout: "
        "30m}]"}});
  const std::vector<RenderedFile> files = {{"kubernetes/demo-tiny-download.yaml", "", false},
                                           {"kubernetes/demo-tiny.yaml", "", false},
                                           {"kubernetes/demo-tiny-merge.yaml", "", false}};
  const auto command = kubernetes_submission(files, value, false);
  ASSERT_EQ(command.size(), 3u);
  EXPECT_EQ(command[2],
            "kubectl apply --server-side -f kubernetes/demo-tiny-download.yaml\n"
            "kubectl wait --namespace=training --timeout=1800s --for=condition=Complete "
            "job/demo-tiny-download\n"
            "kubectl apply --server-side -f kubernetes/demo-tiny.yaml\n"
            "kubectl wait --namespace=training --timeout=21600s --for=condition=Succeeded "
            "pytorchjob/demo-tiny\n"
            "kubectl apply --server-side -f kubernetes/demo-tiny-merge.yaml");
  EXPECT_EQ(kubernetes_submission({files[1]}, value, false),
            (std::vector<std::string>{"kubectl", "apply", "--server-side", "-f",
                                      "kubernetes/demo-tiny.yaml"}));
}

TEST(Kubernetes, ServicesAreScaledByTheirScalerAlone) {
  const auto all = objects(good(render(object("Deployment"))));
  std::vector<std::string> kinds;
  for (const Node& node : all)
    kinds.push_back(text_at(node, "kind") + " " + text_at(node, "metadata.name"));
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"Deployment demo-tiny-front", "Service demo-tiny-front",
                                      "Deployment demo-tiny-engine", "Service demo-tiny-engine",
                                      "HorizontalPodAutoscaler demo-tiny-engine"}));
  EXPECT_EQ(integer_at(all[0], "spec.replicas"), 1);
  EXPECT_EQ(node_at(all[2], "spec.replicas"), nullptr);
  EXPECT_EQ(integer_at(all[4], "spec.minReplicas"), 2);
  EXPECT_EQ(integer_at(all[4], "spec.maxReplicas"), 4);
}

constexpr const char* kExpectedJob = R"(apiVersion: v1
kind: Service
metadata:
  name: demo-tiny
  namespace: training
  labels:
    app.kubernetes.io/managed-by: muster
    app.kubernetes.io/instance: demo-tiny
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    app.kubernetes.io/instance: demo-tiny
  ports:
    - name: rendezvous
      port: 29500
---
apiVersion: batch/v1
kind: Job
metadata:
  name: demo-tiny
  namespace: training
  labels:
    app.kubernetes.io/managed-by: muster
    app.kubernetes.io/instance: demo-tiny
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  backoffLimit: 0
  activeDeadlineSeconds: 21600
  podFailurePolicy:
    rules:
      - action: FailJob
        onExitCodes:
          containerName: node
          operator: In
          values:
            - 124
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
            status: "True"
  template:
    metadata:
      labels:
        app.kubernetes.io/instance: demo-tiny
    spec:
      restartPolicy: Never
      subdomain: demo-tiny
)";

TEST(Kubernetes, AnIndexedJobExactly) {
  const std::string text = good(render({{"targets.kubernetes.object", "IndexedJob"},
                                        {"topology.nodes", "2"},
                                        {"resilience", "null"},
                                        {"scheduling", "null"},
                                        {"storage", "null"},
                                        {"resources", "{cpu: 4, memory: 8Gi}"}}))[0]
                               .content;
  EXPECT_EQ(text.substr(0, std::string(kExpectedJob).size()), kExpectedJob);
  const Node job = objects({{"f", text, false}})[1];
  const auto command = texts_at(*containers_of(job).front(), "command");
  ASSERT_EQ(command.size(), 3u);
  EXPECT_EQ(
      expand(command[2]).substr(0, expand(command[2]).find(" \\\n  --nproc")),
      "end=$(($(date +%s) + 600))\n"
      "for node in $(seq -f demo-tiny-%g.demo-tiny 0 1); do\n"
      "  until getent hosts \"$node\" >/dev/null; do\n"
      "    if [ \"$(date +%s)\" -ge \"$end\" ]; then\n"
      "      echo \"$node did not come within 600 s\" >&2\n"
      "      exit 124\n"
      "    fi\n"
      "    sleep 2\n"
      "  done\n"
      "done\n"
      "echo \"muster: node $JOB_COMPLETION_INDEX of 2 started, 8 processes, on $(uname -n)\"\n"
      "exec torchrun \\\n"
      "  --nnodes=2");
}

}  // namespace
}  // namespace muster::launch
