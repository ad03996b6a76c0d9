// Kubernetes objects offline: strict on keys, types and choices, and on what goes beyond types.
#include <gtest/gtest.h>

#include "base/schema.h"
#include "base/verdict.h"
#include "lint/kubernetes_objects.h"
#include "lint/lint.h"
#include "testing.h"

namespace muster::lint {
namespace {

const KubeTypes& types() {
  static const auto kTypes = KubeTypes::load(real_file_system(), muster::testing::source_dir());
  return **kTypes;
}

/// Findings on a text of objects, one a line: "line: message [rule]; hint".
std::string findings(const std::string& text) {
  const auto documents = parse_yaml_stream(text, "f");
  if (!documents) return to_string(documents.findings().front());
  std::string all;
  for (const Node& document : *documents) {
    for (const Finding& finding : check_object(document, types())) all += to_string(finding) + "\n";
  }
  return all;
}

const std::string kDeployment = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: example.test/web:1.0
          resources: {limits: {cpu: 500m, memory: 1Gi}}
)";

std::string with(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  if (at == std::string::npos) return "no " + what;
  return text.replace(at, what.size(), by);
}

TEST(KubernetesObjects, AGoodOneHasNoFinding) {
  EXPECT_EQ(findings(kDeployment), "");
}

TEST(KubernetesObjects, AMisspeltKeyIsUnknownAndTheRightOneMissing) {
  EXPECT_EQ(
      findings(with(kDeployment, "spec:\n  selector", "specDOESNOTEXIST:\n  selector")),
      "f:4:1: error: unknown key \"specDOESNOTEXIST\"; keys here: apiVersion, kind, metadata, "
      "spec, status [kubernetes-unknown-key]\n");
  EXPECT_EQ(findings(with(kDeployment, "selector:", "selectr:")),
            "f:5:3: error: unknown key \"spec.selectr\"; did you mean \"selector\"? "
            "[kubernetes-unknown-key]\n"
            "f:5:3: error: spec.selector is missing [kubernetes-missing-key]\n");
}

TEST(KubernetesObjects, AListWithoutObjectsIsNoPass) {
  const std::string head = "apiVersion: v1\nkind: List\n";
  const std::string wrong =
      ": error: the List holds no objects: items is missing, empty or no sequence "
      "[kubernetes-missing-key]\n";
  EXPECT_EQ(findings(head), "f:1:1" + wrong);
  for (const char* items : {"[]", "3", "{kind: Pod}"})
    EXPECT_EQ(findings(head + "items: " + items + "\n"), "f:3:8" + wrong) << items;
}

TEST(KubernetesObjects, CustomObjectsAreAsStrict) {
  const std::string job = R"(apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpec: {}
)";
  EXPECT_EQ(findings(job),
            "f:5:3: error: unknown key \"spec.pytorchReplicaSpec\"; did you mean "
            "\"pytorchReplicaSpecs\"? [kubernetes-unknown-key]\n"
            "f:5:3: error: spec.pytorchReplicaSpecs is missing [kubernetes-missing-key]\n");
}

TEST(KubernetesObjects, TypesAreThoseOfTheServer) {
  EXPECT_EQ(findings(with(kDeployment, "selector:", "replicas: \"2\"\n  selector:")),
            "f:5:13: error: spec.replicas is text, not an integer [kubernetes-type]\n");
  EXPECT_NE(findings(with(kDeployment, "memory: 1Gi", "memory: 1 GB")).find("not a quantity"),
            std::string::npos);
  EXPECT_EQ(findings(with(kDeployment, "memory: 1Gi", "memory: 1.5e9")), "");
  EXPECT_NE(findings(with(kDeployment, "image: example.test/web:1.0",
                          "image: example.test/web:1.0\n          imagePullPolicy: always"))
                .find("did you mean \"Always\"?"),
            std::string::npos);
}

// kubectl reads YAML 1.1: `no` is a boolean there, and a variable's value must be text.
TEST(KubernetesObjects, WordsThatKubectlTakesForBooleansAreNoText) {
  for (const char* value : {"1", "true", "no", "On", "1.5"}) {
    const std::string env = "image: example.test/web:1.0\n          env: [{name: A, value: ";
    const std::string text = with(kDeployment, "image: example.test/web:1.0", env + value + "}]");
    EXPECT_NE(findings(text).find("not a string; \"" + std::string(value) + "\" [kubernetes-type]"),
              std::string::npos)
        << value;
    const std::string quoted =
        with(kDeployment, "image: example.test/web:1.0", env + "\"" + value + "\"}]");
    EXPECT_EQ(findings(quoted), "") << value;
  }
}

TEST(KubernetesObjects, DuplicateKeysAreErrors) {
  EXPECT_NE(findings(kDeployment + "kind: Deployment\n").find("duplicate"), std::string::npos);
}

TEST(KubernetesObjects, OldVersionsAreSentToTheNewOnes) {
  EXPECT_EQ(findings("apiVersion: ray.io/v1alpha1\nkind: RayCluster\nmetadata: {name: a}\n"),
            "f:1:13: error: RayCluster is not in ray.io/v1alpha1; apiVersion: ray.io/v1 "
            "[kubernetes-api-version]\n");
  EXPECT_NE(findings("apiVersion: apps/v1\nkind: Deploymnet\nmetadata: {name: a}\n")
                .find("did you mean \"Deployment\"?"),
            std::string::npos);
}

TEST(KubernetesObjects, WhatIsNotKnownIsSaidNotPassed) {
  const std::string text = findings("apiVersion: example.test/v1\nkind: Thing\nmetadata: {}\n");
  EXPECT_NE(text.find("warning: Thing of example.test/v1 was not checked"), std::string::npos);
}

TEST(KubernetesObjects, RulesBeyondTypes) {
  const auto has = [](const std::string& text, const std::string& rule) {
    const std::string all = findings(text);
    EXPECT_NE(all.find(rule), std::string::npos) << rule << " not in\n" << all;
  };
  const auto& d = kDeployment;
  has(with(d, "labels: {app: web}", "labels: {app: other}"), "[kubernetes-selector]");
  has(with(d, "name: web}", "name: Web}"), "[kubernetes-name]");
  has(with(d, "web:1.0", "web:latest"), "[kubernetes-image]");
  has(with(d, "web:1.0", "web"), "[kubernetes-image]");
  has(with(d, "      containers:", "      restartPolicy: Never\n      containers:"),
      "[kubernetes-restart-policy]");
  has(with(d, "limits: {cpu: 500m",
           "requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2, cpu: 500m"),
      "[kubernetes-resources]");
  has(with(d, "limits: {cpu: 500m, memory: 1Gi}", "limits: {hugepages-2Mi: 5Gi}"),
      "[kubernetes-resources]");
  has(with(d, "image: example",
           "volumeMounts: [{name: data, mountPath: /d}]\n          image: example"),
      "no volume is called \"data\"");
  has(with(d, "image: example",
           "env: [{name: HF_TOKEN, value: abcdefgh}]\n          image: example"),
      "[kubernetes-secret]");
  has(with(d, "      containers:",
           "      tolerations: [{key: a, operator: Exists, value: b}]\n      containers:"),
      "[kubernetes-toleration]");
  has("apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: qwen3.6}\n"
      "spec: {services: {}}\n",
      "[kubernetes-name]");
  has("apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: "
      "{sagemaker.amazonaws.com/enable-job-auto-resume: \"true\"}}\nspec: {containers: []}\n",
      "[kubernetes-auto-resume]");
}

TEST(KubernetesObjects, RulesOfPods) {
  const std::string good = R"(apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
  tolerations: [{operator: Exists}]
  containers:
    - name: a
      image: "${REGISTRY}/a"
      env: [{name: A, value: b}]
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
)";
  EXPECT_EQ(findings(good), "");
  const auto only = [&](const std::string& what, const std::string& by, const std::string& start) {
    const std::string all = findings(with(good, what, by));
    EXPECT_EQ(all.rfind(start, 0), 0U) << all;
    EXPECT_EQ(all.find('\n') + 1, all.size()) << all;
  };
  only("{name: a}", "{labels: {a: b}}", "f:3:11: error: metadata.name is missing");
  EXPECT_EQ(findings(with(good, "{name: a}", "{generateName: a-}")), "");
  only("emptyDir: {medium: Memory}}", "emptyDir: {}}, {name: shm, emptyDir: {}}",
       "f:5:40: error: two volumes are called \"shm\"");
  only("emptyDir: {medium: Memory}", "hostPath: {path: /dev/shm}",
       "f:5:13: warning: the node's /dev/shm is shared");
  EXPECT_NE(findings(with(good, "emptyDir: {medium: Memory}", "hostPath: {path: /dev/shm}"))
                .find("[kubernetes-shm]"),
            std::string::npos);
  only("containers:\n", "initContainers: [{name: a, image: a:1}]\n  containers:\n",
       "f:9:7: error: two containers are called \"a\"");
  only("{operator: Exists}", "{effect: NoSchedule}", "f:6:17: error: a toleration without key");
  only("[{name: A, value: b}]", "[{name: A, value: b}, {name: A, value: c}]",
       "f:10:34: warning: A is set twice");
  only("value: b", "value: b, valueFrom: {fieldRef: {fieldPath: status.podIP}}",
       "f:10:13: error: A has a value and a valueFrom");
}

TEST(KubernetesObjects, RulesOfJobs) {
  const std::string good = R"(apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  podFailurePolicy: {rules: []}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: a:1}]
)";
  EXPECT_EQ(findings(good), "");
  const auto only = [&](const std::string& what, const std::string& by, const std::string& start) {
    const std::string all = findings(with(good, what, by));
    EXPECT_EQ(all.rfind(start, 0), 0U) << all;
    EXPECT_EQ(all.find('\n') + 1, all.size()) << all;
  };
  only("  completions: 2\n", "", "f:5:3: error: an Indexed Job says how many completions");
  only("parallelism: 2", "parallelism: 1", "f:5:3: warning: 1 of 2 pods run at a time");
  EXPECT_EQ(findings(with(with(good, "Indexed", "NonIndexed"), "parallelism: 2", "parallelism: 1")),
            "");
  only("restartPolicy: Never", "restartPolicy: OnFailure",
       "f:8:21: error: a pod failure policy needs pods that are not restarted");
  const std::string always =
      findings(with(with(good, "  podFailurePolicy: {rules: []}\n", ""), "Never", "Always"));
  EXPECT_EQ(always.rfind("f:10:7: error: pods of a Job are restarted Never or OnFailure", 0), 0U)
      << always;
}

TEST(KubernetesObjects, APyTorchJobHasOneMaster) {
  const std::string all = findings(R"(apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: a:1}]}}
)");
  EXPECT_EQ(all.rfind("f:7:17: error: a PyTorchJob has one Master", 0), 0U) << all;
}

TEST(KubernetesObjects, AnElasticJobHasNoFixedRank) {
  const std::string job = R"(apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  elasticPolicy: {minReplicas: 1, maxReplicas: 4}
  pytorchReplicaSpecs:
    Workers:
      template:
        spec:
          containers:
            - name: main
              image: example.test/a:1
              command: [torchrun, --node_rank=$RANK]
)";
  const std::string all = findings(job);
  EXPECT_NE(all.find("[kubernetes-elastic]"), std::string::npos);
  EXPECT_NE(all.find("no replicas called Workers"), std::string::npos);
  EXPECT_NE(all.find("a container called pytorch"), std::string::npos);
}

TEST(KubernetesObjects, ValidateTakesStreamsOfObjects) {
  muster::testing::TemporaryDirectory folder;
  const auto file = folder.path() / "web.yaml";
  ASSERT_TRUE(
      real_file_system().write(file, kDeployment + "---\n" + kDeployment + "bogus: 1\n").ok());
  const Report report = validate(real_file_system(), muster::testing::source_dir(), {file});
  ASSERT_EQ(report.checked.size(), 1u);
  EXPECT_STREQ(report.checked[0].second, "kubernetes");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].where.line, 26);
  EXPECT_EQ(report.exit_code(), kExitFailed);
}

}  // namespace
}  // namespace muster::lint
