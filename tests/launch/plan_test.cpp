#include "launch/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/document.h"
#include "facts/facts.h"
#include "testing.h"
#include "workload_case.h"

namespace muster::launch {
namespace {

using workload_test::known;

catalog::ResolvedCase tiny(const std::vector<catalog::Override>& overrides = {}) {
  auto resolved = catalog::load_case(real_file_system(), muster::testing::source_dir(),
                                     "training/native/llama/tiny", "smoke", overrides);
  if (!resolved) throw std::runtime_error(to_string(resolved.findings().front()));
  return *resolved;
}

Place place() {
  return {"RUN",     "/p/.muster/runs/RUN", "/p",
          "/p/here", "/opt/muster-train",   "/p/.muster/cache/data/kjv.txt"};
}

/// The value behind an option, or "-" when the option is absent.
std::string option(const Job& job, const std::string& name) {
  const auto at = std::find(job.program.begin(), job.program.end(), name);
  return at == job.program.end() ? "-" : at + 1 == job.program.end() ? "" : *(at + 1);
}

bool has_flag(const Job& job, const std::string& name) {
  return std::find(job.program.begin(), job.program.end(), name) != job.program.end();
}

TEST(Plan, TheTinyCaseBecomesTheTrainersOptions) {
  const auto job = plan_job(tiny(), place(), Target::kLocal, {2, true, true}, known());
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->world(), 2);
  EXPECT_EQ(job->threads, 1);
  EXPECT_EQ(job->program[1], "train");
  EXPECT_EQ(option(*job, "--model"), "tiny");
  EXPECT_EQ(option(*job, "--data"), "/p/.muster/cache/data/kjv.txt");
  EXPECT_EQ(option(*job, "--out"), "/p/.muster/runs/RUN/out");
  EXPECT_EQ(option(*job, "--metrics"), "/p/.muster/runs/RUN");
  EXPECT_EQ(option(*job, "--global-batch"), "16");
  EXPECT_EQ(option(*job, "--strategy"), "full_shard");
  EXPECT_EQ(option(*job, "--resume"), "auto");
  EXPECT_EQ(option(*job, "--shard-size"), "-");
  EXPECT_TRUE(has_flag(*job, "--verify-checkpoint"));
  EXPECT_TRUE(has_flag(*job, "--deterministic"));
}

TEST(Plan, AWorldOfOneIsSingleWhateverTheCaseSays) {
  const auto job = plan_job(tiny({{"topology.accelerators_per_node", "1"}, {"transport", "mpi"}}),
                            place(), Target::kLocal, {4, true, true}, known());
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(option(*job, "--transport"), "single");
  EXPECT_EQ(job->threads, 4);
}

TEST(Plan, PathsOfOptionsAreTheCallersAndThoseOfTheManifestTheProjects) {
  auto resolved = tiny({{"data.path", "my.txt"}, {"data.name", "null"}});
  EXPECT_EQ(settle_path(resolved, "data.path", "my.txt", "/p", "/p/here"), "/p/here/my.txt");
  EXPECT_EQ(settle_path(resolved, "checkpoint.dir", "ckpt", "/p", "/p/here"), "/p/ckpt");
  EXPECT_EQ(settle_path(resolved, "data.path", "/abs", "/p", "/p/here"), "/abs");
}

TEST(Plan, AReferenceIsHandedOnByName) {
  EXPECT_EQ(referenced_variable("${HF_TOKEN}"), "HF_TOKEN");
  for (const char* literal : {"", "$HF_TOKEN", "${}", "x${HF_TOKEN}", "${HF_TOKEN}x", "${A-b}"}) {
    EXPECT_EQ(referenced_variable(literal), "") << literal;
  }
  const auto job = plan_job(tiny({{"env.set.HUB_TOKEN", "${HF_TOKEN}"}}), place(), Target::kSlurm,
                            {2, true, true}, known());
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->secrets, std::vector<std::string>{"HF_TOKEN"});
  EXPECT_EQ(job->references.front(),
            (std::pair<std::string, std::string>("HUB_TOKEN", "HF_TOKEN")));
}

std::string variable(const Job& job, const std::string& name) {
  const auto found = std::find_if(job.environment.begin(), job.environment.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == job.environment.end() ? "-" : found->second;
}

// The rules are those of facts/environment.yaml, as for every other launcher.
TEST(Plan, TheEnvironmentIsWhatTheRulesSayForTheInstanceAndItsVersions) {
  const auto on = [](const std::string& type, Target target,
                     std::vector<catalog::Override> more = {}) {
    std::vector<catalog::Override> overrides = {{"topology.accelerator", "gpu"},
                                                {"topology.instance_type", type},
                                                {"topology.accelerators_per_node", "1"},
                                                {"topology.nodes", "2"},
                                                {"env.profile", "efa"}};
    overrides.insert(overrides.end(), more.begin(), more.end());
    const auto job = plan_job(tiny(overrides), place(), target, {8, true, true}, known());
    if (!job) throw std::runtime_error(to_string(job.findings().front()));
    return *job;
  };
  const Job current = on("p5.48xlarge", Target::kSlurm);
  EXPECT_EQ(variable(current, "FI_PROVIDER"), "-") << "current libraries choose it themselves";
  EXPECT_EQ(variable(current, "FI_EFA_USE_HUGE_PAGE"), "-") << "the trainer forks nothing";
  EXPECT_EQ(variable(current, "NCCL_DEBUG"), "WARN");
  EXPECT_EQ(variable(current, "NCCL_SOCKET_IFNAME"), "^docker,lo,veth");
  EXPECT_EQ(variable(on("g5.8xlarge", Target::kSlurm), "FI_EFA_USE_DEVICE_RDMA"), "0");
  EXPECT_EQ(variable(on("g5.8xlarge", Target::kLocal), "FI_EFA_USE_DEVICE_RDMA"), "-");
  const Job old = on("p4d.24xlarge", Target::kSlurm, {{"image.pins", "{ofi_nccl: 1.5.0}"}});
  EXPECT_EQ(variable(old, "FI_PROVIDER"), "efa");
  const Job debug = on("p5.48xlarge", Target::kSlurm, {{"env.debug", "true"}});
  EXPECT_EQ(variable(debug, "NCCL_DEBUG"), "INFO");
  EXPECT_EQ(variable(debug, "TORCH_DISTRIBUTED_DEBUG"), "DETAIL");
}

TEST(Plan, TheSlurmTimeIsTheManifests) {
  EXPECT_EQ(plan_job(tiny(), place(), Target::kSlurm, {2, true, true}, known())->slurm.time,
            "00:20:00");
  auto resolved = tiny();
  resolved.values.targets.slurm->time.clear();
  resolved.values.expect.timeout = 3 * 3600 + 61;
  EXPECT_EQ(plan_job(resolved, place(), Target::kSlurm, {2, true, true}, known())->slurm.time,
            "03:01:01");
}

TEST(Plan, WhatTheNativeLauncherCantDoIsRefusedWithItsPlace) {
  auto resolved = tiny();
  resolved.values.launcher = "torchrun";
  const auto other = plan_job(resolved, place(), Target::kLocal, {2, true, true}, known());
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.findings().front().rule, "launch-launcher");
  EXPECT_GT(other.findings().front().where.line, 0);
  resolved = tiny();
  resolved.values.targets.slurm->container = "pyxis";
  EXPECT_EQ(
      plan_job(resolved, place(), Target::kSlurm, {2, true, true}, known()).findings().front().rule,
      "launch-container");
}

TEST(Expectations, AreTheCases) {
  const auto expected = expectations(tiny().values);
  EXPECT_EQ(expected.world, 2);
  EXPECT_EQ(expected.steps, 60);
  EXPECT_TRUE(expected.loss_fell);
  EXPECT_TRUE(expected.checkpoint_reloads);
  EXPECT_EQ(expected.straggler_ratio, 1.5);
}

}  // namespace
}  // namespace muster::launch
