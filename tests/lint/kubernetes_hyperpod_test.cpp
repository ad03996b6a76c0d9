// What HyperPod needs of objects, and what only it has.
#include <gtest/gtest.h>

#include "lint/kubernetes_objects.h"
#include "lint/lint.h"
#include "testing.h"

namespace muster::lint {
namespace {

/// A PyTorchJob as HyperPod wants it.
const std::string kGood = R"(apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
  annotations:
    sagemaker.amazonaws.com/enable-job-auto-resume: "true"
    sagemaker.amazonaws.com/job-max-retry-count: "3"
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms:
                  - matchExpressions:
                      - {key: node.kubernetes.io/instance-type, operator: In, values: [ml.p5.48xlarge]}
                      - {key: sagemaker.amazonaws.com/node-health-status, operator: In, values: [Schedulable]}
              preferredDuringSchedulingIgnoredDuringExecution:
                - weight: 100
                  preference:
                    matchExpressions:
                      - {key: sagemaker.amazonaws.com/deep-health-check-status, operator: In, values: [Passed]}
          tolerations:
            - {key: sagemaker.amazonaws.com/node-health-status, operator: Exists, effect: NoSchedule}
          containers:
            - name: pytorch
              image: train:1
              resources: {limits: {nvidia.com/gpu: 8}}
)";

std::string without(const std::string& text, const std::string& what, const std::string& by = "") {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : std::string(text).replace(at, what.size(), by);
}

std::string judged(const std::string& text, Cluster cluster = Cluster::kHyperpod) {
  const auto object = parse_yaml(text, "f");
  if (!object) return to_string(object.findings().front());
  std::string all;
  for (const Finding& finding : check_hyperpod(*object, cluster)) all += to_string(finding) + "\n";
  return all;
}

void expect_rule(const std::string& findings, const std::string& start, const std::string& rule) {
  EXPECT_EQ(findings.rfind(start, 0), 0U) << findings;
  EXPECT_NE(findings.find("[" + rule + "]\n"), std::string::npos) << findings;
  EXPECT_EQ(findings.find('\n') + 1, findings.size()) << findings;
}

TEST(KubernetesHyperpod, AGoodOneHasNoFinding) {
  EXPECT_EQ(judged(kGood), "");
  EXPECT_EQ(judged(kGood, Cluster::kAny), "");
}

TEST(KubernetesHyperpod, PlacementThatIsMissingIsNamed) {
  const std::string healthy =
      "                      - {key: sagemaker.amazonaws.com/node-health-status, operator: In, "
      "values: [Schedulable]}\n";
  const std::string none = judged(without(kGood, healthy));
  expect_rule(none, "f:13:11: warning: ", "kubernetes-hyperpod-health");
  EXPECT_NE(none.find("no a required node affinity"), std::string::npos) << none;
  EXPECT_EQ(none.find("toleration of"), std::string::npos) << none;
  const std::string toleration =
      judged(without(kGood, "key: sagemaker.amazonaws.com/node-health-status, operator: Exists",
                     "key: a, operator: Exists"));
  EXPECT_NE(toleration.find("no a toleration of"), std::string::npos) << toleration;
  const std::string tested = judged(without(kGood, "deep-health-check-status", "other"));
  EXPECT_NE(tested.find("no a preferred node affinity"), std::string::npos) << tested;
  // What runs no training has no device to lose.
  EXPECT_EQ(judged(without(without(kGood, healthy), "nvidia.com/gpu: 8", "cpu: 8")), "");
}

TEST(KubernetesHyperpod, TypesRetriesDisksAndQueues) {
  expect_rule(judged(without(kGood, "ml.p5", "p5")), "f:18:88: error: HyperPod's nodes have no",
              "kubernetes-hyperpod-instance");
  expect_rule(judged(without(kGood, "    sagemaker.amazonaws.com/job-max-retry-count: \"3\"\n")),
              "f:6:53: warning", "kubernetes-hyperpod-retries");
  expect_rule(judged(without(kGood, "count: \"3\"", "count: often")), "f:7:50: error",
              "kubernetes-hyperpod-retries");
  const std::string disk = without(
      kGood, "          containers:",
      "          volumes: [{name: d, hostPath: {path: /mnt/k8s-disks/0}}]\n          containers:");
  expect_rule(judged(disk), "f:27:48: warning: /mnt/k8s-disks/0", "kubernetes-hyperpod-disk");
  const std::string priority = without(
      kGood, "  annotations:", "  labels: {kueue.x-k8s.io/priority-class: high}\n  annotations:");
  expect_rule(judged(priority), "f:5:43: warning", "kubernetes-hyperpod-queue");
  EXPECT_EQ(judged(without(priority, "high}", "high, kueue.x-k8s.io/queue-name: q}")), "");
}

TEST(KubernetesHyperpod, TheOperatorsJobIsStartedByItsAgent) {
  const auto job = [](const std::string& program) {
    return "apiVersion: sagemaker.amazonaws.com/v1\nkind: HyperPodPyTorchJob\nmetadata: {name: a}\n"
           "spec:\n  replicaSpecs:\n    - name: pod\n      template:\n        spec:\n"
           "          containers:\n            - {name: a, image: a:1, command: [" +
           program + ", train.py]}\n";
  };
  expect_rule(judged(job("torchrun"), Cluster::kAny), "f:10:15: warning",
              "kubernetes-hyperpod-launcher");
  EXPECT_EQ(judged(job("hyperpodrun"), Cluster::kAny), "");
}

TEST(KubernetesHyperpod, OnOtherClustersItsLabelsKeepPodsPending) {
  const std::string findings = judged(kGood, Cluster::kPlain);
  EXPECT_NE(findings.find("f:19:25: error: only HyperPod's nodes have the label"),
            std::string::npos)
      << findings;
  EXPECT_NE(findings.find("only HyperPod's nodes are of a type ml.p5.48xlarge"), std::string::npos);
  EXPECT_EQ(judged(without(without(kGood, "[ml.p5.48xlarge]", "[p5.48xlarge, ml.p5.48xlarge]"),
                           "/node-health-status, operator: In", "/other, operator: In"),
                   Cluster::kPlain),
            "");
}

TEST(KubernetesHyperpod, WhatNamesNothingOfItIsForAnyCluster) {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - {name: a, "
      "image: "
      "a:1, resources: {limits: {nvidia.com/gpu: 8}}}\n";
  EXPECT_EQ(judged(pod, Cluster::kAny), "");
  EXPECT_NE(judged(pod, Cluster::kHyperpod), "");
}

TEST(KubernetesHyperpod, TheFolderSaysTheCluster) {
  muster::testing::TemporaryDirectory folder;
  const std::string bad = without(kGood, "ml.p5", "p5");
  for (const char* name : {"hyperpod-eks", "kubernetes", "other"})
    ASSERT_TRUE(real_file_system().write(folder.path() / name / "a.yaml", bad).ok());
  const auto rules = [&](const char* name) {
    const Report report =
        validate(real_file_system(), muster::testing::source_dir(), {folder.path() / name});
    return report.findings.empty() ? "" : report.findings.front().rule;
  };
  EXPECT_EQ(rules("hyperpod-eks"), "kubernetes-hyperpod-instance");
  EXPECT_EQ(rules("kubernetes"), "kubernetes-hyperpod-only");
}

}  // namespace
}  // namespace muster::lint
