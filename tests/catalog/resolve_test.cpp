#include <gtest/gtest.h>

#include "base/schema.h"
#include "fixture.h"

namespace muster::catalog {
namespace {

ResolvedCase good(const Result<ResolvedCase>& resolved) {
  for (const Finding& finding : resolved.findings()) ADD_FAILURE() << to_string(finding);
  return resolved ? *resolved : ResolvedCase();
}

TEST(Resolve, ManifestValuesAndDefaults) {
  const ResolvedCase resolved = good(settle(kManifest));
  const Case& values = resolved.values;
  EXPECT_EQ(values.topology.world(), 2);
  EXPECT_EQ(values.parallelism.strategy(), "full_shard");
  EXPECT_EQ(values.batch.micro, 4);
  EXPECT_EQ(values.global_batch(), 8);
  EXPECT_EQ(values.precision, "fp32");
  EXPECT_EQ(values.comm_timeout, 120);
  EXPECT_EQ(values.expect.timeout, 600);
  EXPECT_EQ(values.checkpoint.resume, "auto");
  EXPECT_TRUE(values.is_default);
  EXPECT_EQ(values.optimizer.beta1, 0.9);
  EXPECT_EQ(values.optimizer.beta2, 0.95);
}

TEST(Resolve, OptionBeatsProfileBeatsManifestBeatsDefault) {
  EXPECT_EQ(good(settle(kManifest)).values.batch.steps, 100);
  EXPECT_EQ(good(settle(kManifest, "smoke")).values.batch.steps, 20);
  const ResolvedCase resolved = good(settle(kManifest, "smoke", {{"batch.steps", "15"}}));
  EXPECT_EQ(resolved.values.batch.steps, 15);
  EXPECT_EQ(resolved.origins.at("batch.steps").kind, Origin::Kind::kOption);
  EXPECT_EQ(resolved.origins.at("batch.micro").kind, Origin::Kind::kManifest);
  EXPECT_EQ(resolved.origins.at("batch.micro").where.line, 9);
  EXPECT_EQ(resolved.origins.at("precision").kind, Origin::Kind::kDefault);
  EXPECT_EQ(good(settle(kManifest, "smoke")).origins.at("batch.steps").kind,
            Origin::Kind::kProfile);
  EXPECT_EQ(good(settle(kManifest, "smoke")).origins.at("batch.steps").where.line, 14);
}

TEST(Resolve, TheLastOptionWins) {
  EXPECT_EQ(good(settle(kManifest, "", {{"batch.steps", "15"}, {"batch.steps", "16"}}))
                .values.batch.steps,
            16);
}

TEST(Resolve, AnEmptyValueInAProfileRemovesTheKey) {
  const ResolvedCase resolved = good(settle(kManifest, "bench"));
  EXPECT_EQ(resolved.values.expect.loss_trend, "");
  EXPECT_EQ(resolved.origins.count("expect.loss.trend"), 0u);
  EXPECT_EQ(resolved.values.expect.timeout, 600);
}

TEST(Resolve, OptionsTakeFlowValues) {
  const ResolvedCase resolved = good(
      settle(kManifest, "", {{"optimizer.betas", "[0.8, 0.9]"}, {"parallelism", "{shard: none}"}}));
  EXPECT_EQ(resolved.values.optimizer.beta1, 0.8);
  EXPECT_EQ(resolved.values.parallelism.strategy(), "ddp");
}

TEST(Resolve, AccumulationFollowsFromTheGlobalBatch) {
  EXPECT_EQ(good(settle(kManifest, "", {{"batch.global", "32"}})).values.batch.grad_accum, 4);
  EXPECT_EQ(good(settle(kManifest, "", {{"batch.grad_accum", "3"}})).values.global_batch(), 24);
}

TEST(Resolve, TheManifestAsResolvedReadsBackToTheSameValues) {
  for (const std::string profile : {"", "smoke", "bench"}) {
    const ResolvedCase resolved =
        good(settle(kManifest, profile, {{"env.set", "{A: \"1\", B: \"yes\"}"}}));
    const std::string yaml = to_yaml(resolved);
    const ResolvedCase again = good(resolve(parsed(yaml), "", "", {}, known_facts()));
    EXPECT_EQ(to_yaml(again.manifest), to_yaml(resolved.manifest));
    EXPECT_EQ(again.values.batch.steps, resolved.values.batch.steps);
    EXPECT_EQ(again.values.env.set, resolved.values.env.set);
    EXPECT_EQ(again.values.expect.loss_trend, resolved.values.expect.loss_trend);
  }
}

struct Refused {
  const char* from;
  const char* to;
  const char* rule;
  const char* hint;  ///< part of it
  int line;
};

TEST(Resolve, MistakesAreLocatedWithWhatWouldBeRight) {
  const Refused cases[] = {
      {"batch: {micro", "batch: {stepps: 3, micro", "manifest-unknown-key",
       "did you mean \"steps\"?", 9},
      {"topology:", "topolgy:", "manifest-unknown-key", "did you mean \"topology\"?", 7},
      {"nodes: 1", "nodes: one", "manifest-type", "", 7},
      {"nodes: 1", "nodes: 0", "manifest-range", "", 7},
      {"nodes: 1", "nodes: \"1\"", "manifest-type", "", 7},
      {"shard: full", "shard: fulll", "manifest-choice", "did you mean \"full\"?", 8},
      {"timeout: 10m", "timeout: 10 minutes", "manifest-form", "for example 90s", 12},
      {"description: A case\n", "", "manifest-missing-key", "One sentence", 1},
      {"kind: Case", "kind: Cas", "manifest-kind", "did you mean \"Case\"?", 2},
      {"apiVersion: muster/v1", "apiVersion: muster/v2", "manifest-api-version", "", 1},
      {"kind: Case\n", "", "manifest-no-kind", "apiVersion: muster/v1", 1},
      {"default: true", "default: yes", "manifest-type", "", 4},
      {"smoke: {batch", "smoke: {bach", "manifest-unknown-key", "did you mean \"batch\"?", 14},
      {"smoke: {batch", "smoke: {name: x, batch", "manifest-unknown-key", "", 14},
  };
  for (const Refused& refused : cases) {
    SCOPED_TRACE(refused.to);
    const auto resolved = settle(edited(refused.from, refused.to));
    ASSERT_FALSE(resolved.ok());
    const Finding& finding = resolved.findings()[0];
    EXPECT_EQ(finding.rule, refused.rule) << to_string(finding);
    EXPECT_NE(finding.hint.find(refused.hint), std::string::npos) << to_string(finding);
    EXPECT_EQ(finding.where.line, refused.line);
    EXPECT_EQ(finding.where.file, "case.yaml");
  }
}

TEST(Resolve, OptionsAreChecked) {
  const auto unknown = settle(kManifest, "", {{"batch.stepps", "3"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.findings()[0].where.file, "--set batch.stepps");
  EXPECT_EQ(unknown.findings()[0].hint, "did you mean \"steps\"?");
  EXPECT_FALSE(settle(kManifest, "", {{"batch.steps", "many"}}).ok());
  EXPECT_FALSE(settle(kManifest, "", {{"name", "other"}}).ok());
  EXPECT_FALSE(settle(kManifest, "", {{"profiles.smoke", "{}"}}).ok());
  EXPECT_FALSE(settle(kManifest, "", {{"batch", "3"}}).ok());
  EXPECT_FALSE(settle(kManifest, "", {{"", "3"}}).ok());
  EXPECT_FALSE(settle(kManifest, "", {{"case", "null"}}).ok());
}

// A band is measured on one training; another length or another model would fail it for no reason.
TEST(Resolve, ABandDoesNotHoldForAnotherTraining) {
  const std::string text =
      edited("loss: {trend: down}", "loss: {trend: down}, eval_loss: {min: 1, max: 9}");
  EXPECT_EQ(good(settle(text)).values.expect.eval_loss_max, 9);
  EXPECT_EQ(good(settle(text, "smoke")).values.expect.eval_loss_max, 9);
  EXPECT_EQ(good(settle(text, "", {{"checkpoint.keep", "1"}})).values.expect.eval_loss_max, 9);
  const ResolvedCase changed = good(settle(text, "", {{"batch.steps", "20"}}));
  EXPECT_EQ(changed.values.expect.eval_loss_max, std::nullopt);
  EXPECT_EQ(changed.values.expect.loss_trend, "down");
  EXPECT_EQ(changed.origins.count("expect.eval_loss.max"), 0u);
  ASSERT_EQ(changed.warnings.size(), 1u);
  EXPECT_EQ(changed.warnings[0].rule, "case-band");
  EXPECT_EQ(changed.warnings[0].where.file, "--set batch.steps");
  const ResolvedCase given =
      good(settle(text, "", {{"batch.steps", "20"}, {"expect.eval_loss.max", "8"}}));
  EXPECT_EQ(given.values.expect.eval_loss_max, 8);
  EXPECT_TRUE(given.warnings.empty());
}

TEST(Resolve, UnknownProfileNamesTheNearest) {
  const auto resolved = settle(kManifest, "smok");
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.findings()[0].rule, "case-profile");
  EXPECT_EQ(resolved.findings()[0].hint, "did you mean \"smoke\"?");
}

}  // namespace
}  // namespace muster::catalog
