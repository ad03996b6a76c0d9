#include "catalog/coverage.h"

#include <gtest/gtest.h>

namespace muster::catalog {
namespace {

using Names = std::vector<std::string>;

Coverage of(const std::string& text) {
  const auto manifest = parse_yaml(text, "case.yaml");
  EXPECT_TRUE(manifest);
  return coverage_of(*manifest);
}

const std::string kGpu = R"(launcher: torchrun
topology: {nodes: 2, accelerators_per_node: 8, accelerator: gpu, instance_type: p5.48xlarge}
targets: {kubernetes: {object: PyTorchJob}, slurm: {}}
)";

TEST(Coverage, AGpuCaseIsNotRunHere) {
  const Coverage coverage = of(kGpu);
  EXPECT_EQ(coverage.renders, (Names{"slurm", "kubernetes"}));
  EXPECT_EQ(coverage.submits, (Names{"slurm", "kubernetes"}));
  EXPECT_TRUE(coverage.runs_here.empty());
  EXPECT_EQ(coverage.needs, "2 × 8 gpu (p5.48xlarge)");
  EXPECT_EQ(coverage.state(), "needs a GPU: not run");
}

TEST(Coverage, AProfileOnCpusOfOneNodeRunsHere) {
  const std::string smoke =
      "profiles: {smoke: {topology: {nodes: 1, accelerator: cpu}, targets: {local: {}}}}\n";
  const Coverage coverage = of(kGpu + smoke);
  EXPECT_EQ(coverage.renders, (Names{"local", "slurm", "kubernetes"}));
  EXPECT_EQ(coverage.submits, (Names{"local", "slurm", "kubernetes"}));
  EXPECT_EQ(coverage.runs_here, Names{"smoke"});
  EXPECT_EQ(coverage.state(), "runs here");
}

TEST(Coverage, AProfileThatTakesATargetAwayCountsForTheOthers) {
  const Coverage coverage =
      of(kGpu + "profiles: {bare: {targets: {kubernetes: null, batch: {}}}}\n");
  EXPECT_EQ(coverage.renders, (Names{"slurm", "kubernetes", "batch"}));
  EXPECT_EQ(coverage.submits, coverage.renders);
  EXPECT_EQ(of(kGpu + "profiles: {two: {topology: {nodes: 2, accelerator: cpu}, targets: {local: "
                      "{}}}}\n")
                .state(),
            "needs a GPU: not run");
}

TEST(Coverage, AServerIsSubmittedNowhere) {
  const Coverage coverage =
      of("launcher: server\ntopology: {nodes: 1, accelerators_per_node: 1}\n"
         "targets: {local: {}, kubernetes: {object: Deployment}}\n");
  EXPECT_EQ(coverage.renders, (Names{"local", "kubernetes"}));
  EXPECT_TRUE(coverage.submits.empty());
  EXPECT_TRUE(coverage.runs_here.empty());
  EXPECT_EQ(coverage.state(), "renders and validates");
}

TEST(Coverage, WhatRayStartsIsFollowedByItsDriver) {
  const Coverage coverage =
      of("launcher: ray-job\ntopology: {nodes: 1, accelerators_per_node: 1}\n"
         "targets: {local: {}, slurm: {}, kubernetes: {object: RayJob}}\n");
  EXPECT_EQ(coverage.submits, (Names{"local", "slurm", "kubernetes"}));
  EXPECT_EQ(coverage.runs_here, Names{"none"});
}

TEST(Coverage, ACaseOnCpusRunsAsItIs) {
  const Coverage coverage = of(
      "topology: {nodes: 1, accelerators_per_node: 2}\ntargets: {local: {}}\nlauncher: native\n");
  EXPECT_EQ(coverage.runs_here, Names{"none"});
  EXPECT_EQ(coverage.needs, "1 × 2 cpu");
}

TEST(Coverage, NoMappingCoversNothing) {
  EXPECT_TRUE(of("[1, 2]").renders.empty());
  EXPECT_EQ(of("topology: {accelerator: neuron}").state(), "needs Neuron: not run");
}

}  // namespace
}  // namespace muster::catalog
