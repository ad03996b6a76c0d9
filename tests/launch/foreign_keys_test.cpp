// Every key of a case's schema does something on every target, or is refused with a reason, or is
// stated to be of no use to that target: for cases of other launchers than native.
#include <gtest/gtest.h>

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "key_samples.h"
#include "launch/foreign.h"
#include "launch/key_use.h"
#include "workload_case.h"

namespace muster::launch {
namespace {

using catalog::Override;
using keys_test::keys;
using keys_test::sample;
using workload_test::known;
using workload_test::resolved;

/// What a key may make another: the files, and what the verdict asks.
std::string effect(const catalog::ResolvedCase& value, Target target) {
  std::string text;
  if (target == Target::kLocal) {
    const auto workload = plan_workload(value, target, known(), "RUN", {"/runs/RUN", "/p", "", 2});
    if (!workload) return "refused: " + to_string(workload.findings().front());
    ForeignPlace place;
    place.run_id = "RUN";
    place.run_directory = "/runs/RUN";
    place.project = "/p";
    for (const auto& file : render_foreign_local(*workload, place, {2, true, true}).files)
      text += file.content;
    for (const SecretVariable& secret : workload->secrets) text += secret.env + secret.secret;
    text += fmt::format("{}", workload->start_timeout);
  } else {
    const auto rendered = render_kept(value, target, known());
    if (!rendered) return "refused: " + to_string(rendered.findings().front());
    for (const RenderedFile& file : rendered->files) text += file.path + "\n" + file.content;
  }
  const runs::Expectations e = foreign_expectations(value);
  const auto number = [](const std::optional<double>& number) {
    return number ? fmt::format("{} ", *number) : std::string("- ");
  };
  text += fmt::format("{} {} {} {} {} ", e.world, e.steps.value_or(0), e.loss_fell,
                      e.checkpoint_reloads, e.transport);
  text += number(e.eval_loss_min) + number(e.eval_loss_max) + number(e.mfu_min) +
          number(e.tokens_per_second_min);
  // What `muster run` itself holds a job to while it follows it, and where it submits it.
  if (const auto& hang = value.values.resilience.hang)
    text += fmt::format("{} {} ", hang->start, hang->period);
  const auto& targets = value.values.targets;
  if (target == Target::kKubernetes && targets.kubernetes) text += targets.kubernetes->context;
  if (target == Target::kHyperpodEks && targets.hyperpod_eks) text += targets.hyperpod_eks->context;
  text += fmt::format("{} {} {} {} {}", e.stragglers, e.straggler_ratio, e.straggler_mads,
                      value.values.expect.timeout, value.values.expect.pattern);
  return text;
}

/// What has to be set beside a key, or in its place, for it to mean something.
const std::map<std::string, std::vector<Override>> kInstead = {
    {"rendezvous.backend", {{"rendezvous.backend", "static"}}},
    {"rendezvous.port", {{"rendezvous.port", "29600"}}},
    {"rendezvous.start_timeout", {{"rendezvous.start_timeout", "77s"}}},
    {"image.pins", {{"image.pins", "{ofi_nccl: 1.5.0}"}}},
    {"env.forks", {{"env.forks", "false"}}},
    {"env.unset", {{"env.unset", "[SOMETHING]"}}},
    {"expect.loss.trend", {{"expect.loss", "{trend: down}"}}},
    {"expect.eval_loss.min", {{"expect.eval_loss.min", "1.5"}}},
    {"expect.eval_loss.max", {{"expect.eval_loss.max", "9.5"}}},
    {"expect.straggler.ratio", {{"expect.straggler.ratio", "3.5"}}},
    {"expect.timeout", {{"expect.timeout", "2h"}}},
    {"entrypoint.module", {{"entrypoint.script", "null"}, {"entrypoint.module", "demo"}}},
    {"resources.cpu", {{"resources.cpu", "8"}}},
    {"storage.mounts", {{"storage.mounts", "[{name: a, claim: b, path: /c}]"}}},
    {"targets.slurm.mounts", {{"targets.slurm.mounts", "[\"/a:/b\"]"}}},
    {"targets.slurm.options", {{"targets.slurm.options", "[--constraint=x]"}}},
    {"targets.slurm.container", {{"targets.slurm.container", "enroot"}}},
    {"targets.slurm.mpi", {{"targets.slurm.mpi", "pmi2"}}},
    {"targets.slurm.workdir", {{"targets.slurm.workdir", "/elsewhere"}}},
    {"secrets", {{"secrets", "[{env: OTHER, from: {secret: a, key: b}}]"}}},
    {"storage.shm", {{"storage.shm", "32Gi"}}},
    {"steps", {{"steps", "[{name: get, command: [wget]}]"}}},
    {"topology.min_nodes", {{"topology.min_nodes", "2"}}},
    {"transport", {{"transport", "gloo"}}},
};

class ForeignKeys : public ::testing::TestWithParam<Target> {};

TEST_P(ForeignKeys, HaveAnEffectOrARefusalOrAStatedReason) {
  const Target target = GetParam();
  const auto base = resolved({});
  ASSERT_TRUE(base.ok()) << to_string(base.findings().front());
  const std::string before = effect(*base, target);
  ASSERT_FALSE(before.starts_with("refused")) << before;
  for (const auto& [key, schema] : keys()) {
    std::vector<Override> overrides;
    if (const auto instead = kInstead.find(key); instead != kInstead.end()) {
      overrides = instead->second;
    } else {
      const Node* now = node_at(base->manifest, key);
      overrides.emplace_back(key,
                             sample(schema, now != nullptr && now->is_scalar() ? now->text() : ""));
    }
    bool stated = false;
    for (const UnusedKey& unused : foreign_unused_keys(target)) {
      if (!unused.refused && (key == unused.key || key.starts_with(unused.key + ".")))
        stated = !unused.reason.empty();
    }
    const auto value = resolved(overrides);
    if (!value) {
      const Finding& finding = value.findings().front();
      EXPECT_FALSE(finding.message.empty()) << key;
      for (const char* rule : {"option-type", "option-form", "option-choice", "option-range",
                               "option-unknown-key", "option-missing-key", "yaml-syntax"})
        EXPECT_NE(finding.rule, rule) << key << ": " << to_string(finding);
      continue;
    }
    const std::string after = effect(*value, target);
    if (after.starts_with("refused")) continue;
    EXPECT_NE(after != before, stated)
        << key
        << (stated ? " has an effect, but is listed as unused"
                   : " has no effect, is not refused and not listed as unused");
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ForeignKeys, ::testing::ValuesIn(all_targets()),
                         [](const auto& target) {
                           std::string name = to_string(target.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST(ForeignUnusedKeys, AreKeysOfTheSchema) {
  for (const Target target : all_targets()) {
    for (const UnusedKey& unused : foreign_unused_keys(target))
      EXPECT_NE(catalog::case_schema().at(unused.key), nullptr) << unused.key;
  }
  for (const std::string& key : described_keys())
    EXPECT_NE(catalog::case_schema().at(key), nullptr) << key;
}

TEST(DescribedKeys, AreRefusedOnlyWhereSomebodyChangesThem) {
  const auto changed = resolved({{"seed", "7"}});
  ASSERT_TRUE(changed.ok());
  const Findings refusals = foreign_refusals(*changed, Target::kSlurm);
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals.front().rule, "launch-no-effect");
  const auto named = resolved({{"batch.steps", "7"}});
  ASSERT_TRUE(named.ok());
  EXPECT_TRUE(foreign_refusals(*named, Target::kSlurm).empty());
}

}  // namespace
}  // namespace muster::launch
