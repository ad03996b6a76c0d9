// A case made for tests of the Kubernetes renderers.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "catalog/case.h"
#include "launch/kubernetes.h"
#include "launch/workload.h"
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

}  // namespace muster::launch::kube_test
