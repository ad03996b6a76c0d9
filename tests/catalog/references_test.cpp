#include "catalog/references.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace muster::catalog {
namespace {

const std::string kForeign = R"(apiVersion: muster/v1
kind: Case
name: training/native/llama/tiny
description: A case
case: {framework: pytorch, library: FSDP, model: llama2_7b, kind: train}
launcher: torchrun
topology: {nodes: 2, accelerators_per_node: 4, accelerator: gpu}
entrypoint:
  script: /fsdp/train.py
  args: ["--steps=${batch.steps}", "--out", "${checkpoint.dir}", "${topology.world}/${batch.global}",
         "--home=${HF_HOME}", "--cost=$5"]
batch: {micro: 3, steps: 50, grad_accum: 2}
optimizer: {betas: [0.9, 0.99]}
env: {set: {LENGTH: "${batch.seq_len}", BETA2: "${optimizer.beta2}"}}
checkpoint: {dir: /fsx/out}
storage: {mounts: [{name: fsx, path: /fsx}]}
profiles:
  smoke: {batch: {steps: 5}, checkpoint: {dir: null}}
)";

TEST(References, ValuesOfTheCaseAreFilledIn) {
  const auto resolved = settle(kForeign);
  ASSERT_TRUE(resolved) << resolved.findings()[0].message;
  const std::vector<std::string> expected = {"--steps=50",        "--out",    "/fsx/out", "8/48",
                                             "--home=${HF_HOME}", "--cost=$5"};
  EXPECT_EQ(resolved->values.entrypoint.args, expected);
  EXPECT_EQ(resolved->values.env.set.at("LENGTH"), "512");
  EXPECT_EQ(resolved->values.env.set.at("BETA2"), "0.99");
  const std::vector<std::string> used = {"batch.global",   "batch.seq_len",   "batch.steps",
                                         "checkpoint.dir", "optimizer.beta2", "topology.world"};
  EXPECT_EQ(resolved->referenced, used);
}

TEST(References, ProfilesAndOptionsChangeTheCommand) {
  const auto resolved = settle(kForeign, "smoke", {{"topology.nodes", "1"}});
  ASSERT_TRUE(resolved) << resolved.findings()[0].message;
  EXPECT_EQ(resolved->values.entrypoint.args[0], "--steps=5");
  EXPECT_EQ(resolved->values.entrypoint.args[3], "4/24");
}

TEST(References, WhatOnlyALaunchKnowsStays) {
  const auto resolved = settle(kForeign, "smoke");
  ASSERT_TRUE(resolved) << resolved.findings()[0].message;
  EXPECT_EQ(resolved->values.entrypoint.args[2], "${checkpoint.dir}");
  EXPECT_EQ(open_references("a ${run.dir}/${HOME} ${data.path}"),
            (std::vector<std::string>{"run.dir", "data.path"}));
}

TEST(References, AnUnknownKeyIsLocated) {
  std::string text = kForeign;
  text.replace(text.find("${batch.steps}"), 14, "${batch.step}");
  const auto resolved = settle(text);
  ASSERT_FALSE(resolved);
  const Finding& finding = resolved.findings()[0];
  EXPECT_EQ(finding.rule, "case-reference");
  EXPECT_EQ(finding.where.line, 10);
  EXPECT_EQ(finding.hint, "did you mean ${batch.steps}?");
}

}  // namespace
}  // namespace muster::catalog
