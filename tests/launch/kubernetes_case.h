// A case made for tests of the Kubernetes renderers.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "catalog/case.h"
#include "launch/kubernetes.h"
#include "launch/workload.h"
#include "lint/kubernetes_objects.h"
#include "testing.h"

namespace muster::launch::kube_test {

/// Four nodes of p5.48xlarge with all that a pod can have. OBJECT stands for the kind.
inline constexpr const char* kManifest = R"yaml(apiVersion: muster/v1
kind: Case
name: training/pytorch/demo/tiny
description: A case for tests
case: {framework: pytorch, library: demo, model: tiny}
image: {uri: "example.test/demo:1.2", pins: {efa: 1.48.0, nccl: 2.30.4, ray: 2.55.1}}
topology: {nodes: 4, accelerators_per_node: 8, accelerator: gpu, instance_type: p5.48xlarge}
launcher: torchrun
rendezvous: {backend: c10d}
entrypoint: {script: /demo/train.py, workdir: /demo, args: [--text, "cost: $(5)"]}
env: {profile: efa, set: {HF_HUB_ETAG_TIMEOUT: "60"}}
secrets: [{env: HF_TOKEN, from: {secret: hf-token, key: token}}]
storage: {mounts: [{name: fsx, claim: fsx-claim, path: /fsx}], shm: 64Gi, scratch: /local}
resources: {cpu: 90, memory: 1000Gi, hugepages_2Mi: 5Gi}
resilience: {auto_resume: true, max_retries: 3}
scheduling: {queue: team-a, priority: high, anti_affinity: hostname}
expect: {timeout: 6h}
targets:
  kubernetes: {object: PyTorchJob, namespace: training}
  hyperpod-eks: {object: PyTorchJob, namespace: training}
)yaml";

inline const facts::Facts& known() {
  static const auto kFacts = facts::load_facts(real_file_system(), muster::testing::source_dir());
  return *kFacts;
}

inline catalog::ResolvedCase resolved(const std::vector<catalog::Override>& overrides) {
  const auto manifest = parse_yaml(kManifest, "case.yaml");
  auto resolved = catalog::resolve(*manifest, "", "", overrides, known());
  if (!resolved) throw std::runtime_error(to_string(resolved.findings().front()));
  return std::move(*resolved);
}

inline Result<std::vector<RenderedFile>> render(const std::vector<catalog::Override>& overrides,
                                                Target target = Target::kKubernetes) {
  const catalog::ResolvedCase value = resolved(overrides);
  const auto workload = plan_workload(value, target, known(), "");
  if (!workload) return workload.error();
  return render_kubernetes(*workload, value, target == Target::kHyperpodEks);
}

/// All objects of all files.
inline std::vector<Node> objects(const std::vector<RenderedFile>& files) {
  std::vector<Node> all;
  for (const RenderedFile& file : files) {
    auto documents = parse_yaml_stream(file.content, file.path);
    if (!documents) throw std::runtime_error(to_string(documents.findings().front()));
    for (Node& document : *documents) all.push_back(std::move(document));
  }
  return all;
}

using Overrides = std::vector<catalog::Override>;

/// The files; findings are failures.
inline std::vector<RenderedFile> good(const Result<std::vector<RenderedFile>>& files) {
  for (const Finding& finding : files.findings()) ADD_FAILURE() << to_string(finding);
  return files ? *files : std::vector<RenderedFile>();
}

/// What a case is rendered as the kind with: what else it needs, and then `more`.
inline Overrides object(const std::string& kind, Overrides more = {}) {
  Overrides all = {{"targets.kubernetes.object", kind}};
  const bool torch = kind.ends_with("Job") && kind != "MPIJob" && kind != "RayJob";
  if (!torch && kind != "JobSet") all.emplace_back("rendezvous.backend", "null");
  if (kind == "MPIJob") all.emplace_back("launcher", "mpirun");
  if (kind.starts_with("Ray")) all.emplace_back("launcher", "ray-job");
  if (kind == "RayService") {
    all.emplace_back("entrypoint", "{script: null, module: \"demo.serve:app\"}");
    all.emplace_back("resilience", "null");
    all.emplace_back("launcher", "server");
    all.emplace_back("case.kind", "serve");
  }
  if (kind == "Deployment" || kind == "DynamoGraphDeployment" || kind == "LeaderWorkerSet") {
    all.emplace_back("launcher", "server");
    all.emplace_back("case.kind", "serve");
    all.emplace_back("resilience", "null");
    all.emplace_back("topology.nodes", "1");
    const bool group = kind == "LeaderWorkerSet";
    const bool dynamo = kind == "DynamoGraphDeployment";
    all.emplace_back(
        "services",
        fmt::format("[{{name: front, role: frontend, command: [serve, --port, \"8000\"], port: "
                    "8000, cpu: 2, memory: 4Gi{}}}, {{name: engine, role: decode, replicas: 2, "
                    "nodes: {}, accelerators: 8, port: 9000{}}}]",
                    dynamo ? "" : ", probe: /health", group ? 2 : 1,
                    dynamo ? "" : ", max_replicas: 4, scale: {metric: queue, target: \"3\"}"));
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline const Overrides kHyperpodJob = {{"targets.hyperpod-eks.object", "HyperPodPyTorchJob"},
                                       {"expect.pattern", "\"Loss: ([0-9.]+)\""},
                                       {"resilience.hang", "{start: 4m, period: 10m}"}};

/// The containers of all pods of an object.
inline std::vector<const Node*> containers_of(const Node& object) {
  std::vector<const Node*> all;
  for (const Node* spec : lint::pod_specs(object)) {
    for (const Node& container : spec->find("containers")->items()) all.push_back(&container);
  }
  return all;
}

}  // namespace muster::launch::kube_test
