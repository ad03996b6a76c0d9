// The rules on environment variables where variables are set: batch scripts, images, cases,
// objects.
#include <gtest/gtest.h>

#include "lint/lint.h"
#include "testing.h"

namespace muster::lint {
namespace {

const facts::Facts& known() {
  static const auto kFacts = facts::load_facts(real_file_system(), muster::testing::source_dir());
  return *kFacts;
}

/// The env-* findings of a checker on a text, one a line.
std::string judged(const Checker& checker, const std::string& path, const std::string& text) {
  bool unreadable = false;
  std::string all;
  for (const Finding& finding :
       checker.check({path, muster::testing::source_dir(), text, nullptr}, known(), unreadable)) {
    const bool ours = finding.rule.starts_with("env-");
    if (ours) all += to_string(finding) + "\n";
  }
  EXPECT_FALSE(unreadable);
  return all;
}

/// One finding with this start and a source.
void expect_one(const std::string& findings, const std::string& start, const std::string& rule) {
  EXPECT_EQ(findings.rfind(start, 0), 0U) << findings;
  EXPECT_NE(findings.find("(source: "), std::string::npos) << findings;
  EXPECT_NE(findings.find("[" + rule + "]\n"), std::string::npos) << findings;
  EXPECT_EQ(findings.find('\n') + 1, findings.size()) << findings;
}

std::string sbatch(const std::string& body, const std::string& directives = "") {
  return judged(kSbatchChecker, "f.sbatch",
                "#!/bin/bash\n#SBATCH --nodes=2\n" + directives + body + "\n");
}

TEST(EnvironmentInFiles, BatchScripts) {
  expect_one(sbatch("export FI_PROVIDER=efa"), "f.sbatch:3:8: warning: FI_PROVIDER is automatic",
             "env-automatic");
  expect_one(sbatch("RDMAV_FORK_SAFE=1"), "f.sbatch:3:1: error: RDMAV_FORK_SAFE is harmful",
             "env-harmful");
  expect_one(sbatch("RDMAV_FORK_SAFE=1 srun ./train"), "f.sbatch:3:1: error", "env-harmful");
  expect_one(sbatch("srun --export=ALL,NCCL_BUFFERSIZE=8 ./train"),
             "f.sbatch:3:19: error: NCCL_BUFFERSIZE does nothing", "env-no-op");
  expect_one(sbatch("mpirun -x FI_EFA_ENABLE_SHM_TRANSFER=1 ./train"), "f.sbatch:3:11: error",
             "env-no-op");
  expect_one(sbatch("srun ./train", "#SBATCH --export=ALL,GLOO_SOCKET_IFNAME=lo\n"),
             "f.sbatch:3:22: error: GLOO_SOCKET_IFNAME is harmful", "env-harmful");
  expect_one(sbatch("export NCCL_SOCKET_IFNAM=eth0"), "f.sbatch:3:8: error", "env-misspelt");
  // g5 needs this; the script does not say that it is for another.
  EXPECT_EQ(sbatch("export FI_EFA_USE_DEVICE_RDMA=0"), "");
  expect_one(sbatch("export FI_EFA_USE_DEVICE_RDMA=0", "#SBATCH --constraint=p5.48xlarge\n"),
             "f.sbatch:4:8: warning", "env-automatic");
  // On one node the loopback reaches all.
  EXPECT_EQ(sbatch("export GLOO_SOCKET_IFNAME=lo", "#SBATCH --nodes=1\n"), "");
  EXPECT_EQ(sbatch("export NCCL_DEBUG=INFO\nexport NCCL_SOCKET_IFNAME=^docker,lo,veth\n"
                   "export FI_EFA_USE_HUGE_PAGE=0"),
            "");
}

TEST(EnvironmentInFiles, BatchScriptsThatSayTheirInstanceType) {
  expect_one(sbatch("export FI_EFA_USE_DEVICE_RDMA=1", "#SBATCH --constraint=g6e.12xlarge\n"),
             "f.sbatch:4:8: error", "env-harmful");
  EXPECT_NE(sbatch("export FI_PROVIDER=tcp", "#SBATCH --constraint=p5.48xlarge\n").find("conflict"),
            std::string::npos);
  // Filled in when the script runs: nothing to judge but the name.
  EXPECT_EQ(sbatch("export FI_PROVIDER=$X", "#SBATCH --constraint=p5.48xlarge\n").find("conflict"),
            std::string::npos);
}

TEST(EnvironmentInFiles, Images) {
  const auto image = [](const std::string& lines) {
    return judged(kDockerfileChecker, "Dockerfile", "FROM ubuntu:24.04\n" + lines + "\n");
  };
  expect_one(image("ENV A=1 \\\n    RDMAV_FORK_SAFE=1"), "Dockerfile:3:5: error", "env-harmful");
  expect_one(image("ENV FI_EFA_FORK_SAFE 1"), "Dockerfile:2:5: warning", "env-automatic");
  // What the image pins decides.
  const std::string old = "ARG EFA_INSTALLER_VERSION=1.28.0\nENV NCCL_VERSION=2.19.3-1\n";
  EXPECT_EQ(image(old + "ENV FI_EFA_SET_CUDA_SYNC_MEMOPS=0"), "");
  expect_one(image(old + "ENV FI_EFA_SET_CUDA_SYNC_MEMOPS=1"), "Dockerfile:4:5: error",
             "env-value");
  expect_one(image("ENV FI_EFA_SET_CUDA_SYNC_MEMOPS=0"), "Dockerfile:2:5: warning",
             "env-automatic");
  EXPECT_EQ(image("ENV NCCL_VERSION=2.28.3\nARG NCCL_BUFFERSIZE=1"), "");
}

std::string pod(const std::string& env, const std::string& limits = "nvidia.com/gpu: 8",
                const std::string& type = "p5.48xlarge") {
  return judged(kKubernetesChecker, "pod.yaml",
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: "
                "{node.kubernetes.io/instance-type: " +
                    type + "}\n  containers:\n    - name: a\n      image: a:1\n      resources: " +
                    "{limits: {" + limits + "}}\n      env:\n        - {name: " + env + "}\n");
}

TEST(EnvironmentInFiles, Objects) {
  expect_one(pod("RDMAV_FORK_SAFE, value: \"1\""), "pod.yaml:11:11: error", "env-harmful");
  expect_one(pod("FI_EFA_USE_DEVICE_RDMA, value: \"1\"", "nvidia.com/gpu: 4", "ml.g6e.12xlarge"),
             "pod.yaml:11:11: error", "env-harmful");
  expect_one(pod("FI_EFA_USE_DEVICE_RDMA, value: \"1\""), "pod.yaml:11:11: warning",
             "env-automatic");
  const std::string tcp = "FI_PROVIDER, value: tcp";
  EXPECT_NE(pod(tcp, "vpc.amazonaws.com/efa: 32").find("[env-conflict]"), std::string::npos);
  EXPECT_EQ(pod(tcp).find("[env-conflict]"), std::string::npos);  // the pod asks for no card
  EXPECT_EQ(pod("NCCL_DEBUG, value: INFO"), "");
  EXPECT_EQ(pod("OTHER, value: \"1\""), "");
}

TEST(EnvironmentInFiles, ObjectsInALists) {
  const std::string list =
      "apiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: Pod\n"
      "    metadata: {name: a}\n    spec:\n      containers:\n        - name: a\n"
      "          image: a:1\n          env: [{name: RDMAV_FORK_SAFE, value: \"1\"}]\n";
  expect_one(judged(kKubernetesChecker, "list.yaml", list), "list.yaml:11:17: error",
             "env-harmful");
}

TEST(EnvironmentInFiles, Cases) {
  const auto folder = std::filesystem::path(muster::testing::source_dir()) /
                      "test_cases/training/pytorch/FSDP/llama3_1_8b";
  const auto text = real_file_system().read(folder / "case.yaml");
  ASSERT_TRUE(text);
  const auto with = [&](const std::string& set) {
    std::string changed = *text;
    const auto at = changed.find("  set: {");
    EXPECT_NE(at, std::string::npos);
    changed.insert(at + 8, set + ", ");
    return judged(kManifestChecker, (folder / "case.yaml").string(), changed);
  };
  EXPECT_EQ(with("A: b"), "");
  const std::string harmful = with("RDMAV_FORK_SAFE: \"1\"");
  EXPECT_NE(harmful.find("case.yaml:"), std::string::npos) << harmful;
  EXPECT_NE(harmful.find("[env-harmful]"), std::string::npos) << harmful;
  EXPECT_NE(with("FI_EFA_USE_HUGE_PAGE: \"1\"").find("[env-value]"), std::string::npos);
  EXPECT_NE(with("FI_PROVIDER: tcp").find("[env-conflict]"), std::string::npos);
}

}  // namespace
}  // namespace muster::lint
