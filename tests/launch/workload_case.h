// A case made for tests of workloads and their renderers.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "base/document.h"
#include "catalog/case.h"
#include "launch/committed.h"
#include "launch/workload.h"
#include "testing.h"

namespace muster::launch::workload_test {

/// Four nodes of p5.48xlarge with all that a job can have.
inline constexpr const char* kManifest = R"yaml(apiVersion: muster/v1
kind: Case
name: training/pytorch/demo/tiny
description: A case for tests
case: {framework: pytorch, library: demo, model: tiny}
image: {uri: "registry.test/team/demo:1.2", pins: {efa: 1.48.0, nccl: 2.30.4}}
topology: {nodes: 4, accelerators_per_node: 8, accelerator: gpu, instance_type: p5.48xlarge}
launcher: torchrun
rendezvous: {backend: c10d}
batch: {steps: 50}
entrypoint: {script: /demo/train.py, workdir: /demo, args: ["--steps=${batch.steps}", "--text=it's $5"]}
env: {profile: efa, set: {HF_HUB_ETAG_TIMEOUT: "60"}}
secrets: [{env: HF_TOKEN, from: {secret: hf-token, key: token}}]
storage: {mounts: [{name: fsx, claim: fsx-claim, path: /fsx}], shm: 64Gi}
resilience: {auto_resume: true, max_retries: 3}
expect: {timeout: 6h, pattern: "loss: ([0-9.]+)"}
targets:
  local: {}
  slurm: {container: pyxis}
  kubernetes: {object: PyTorchJob}
  hyperpod-eks: {object: HyperPodPyTorchJob}
  batch: {job_queue: research}
)yaml";

inline const facts::Facts& known() {
  static const facts::Facts kFacts = [] {
    auto facts = facts::load_facts(real_file_system(), muster::testing::source_dir());
    if (!facts) throw std::runtime_error(to_string(facts.findings().front()));
    return std::move(*facts);
  }();
  return kFacts;
}

inline Result<catalog::ResolvedCase> resolved(const std::vector<catalog::Override>& overrides) {
  const auto manifest = parse_yaml(kManifest, "case.yaml");
  auto value = catalog::resolve(*manifest, "", "", overrides, known());
  if (value) value->file = "case.yaml";
  return value;
}

inline Result<Workload> workload(const std::vector<catalog::Override>& overrides, Target target) {
  const auto value = resolved(overrides);
  if (!value) return value.error();
  return plan_workload(*value, target, known(), "");
}

inline Result<Rendered> render(const std::vector<catalog::Override>& overrides, Target target) {
  const auto value = resolved(overrides);
  if (!value) return value.error();
  return render_kept(*value, target, known());
}

}  // namespace muster::launch::workload_test
