// Every key of a case's schema does something on a native case, or is refused with a reason, or is
// stated to be of no use to that target. A key that is read by nobody fails here.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"
#include "catalog/case_schema.h"
#include "key_samples.h"
#include "launch/plan.h"
#include "testing.h"
#include "workload_case.h"

namespace muster::launch {
namespace {

using catalog::Override;
using keys_test::keys;
using keys_test::sample;
using workload_test::known;

Result<catalog::ResolvedCase> tiny(const std::vector<Override>& overrides) {
  static const auto kManifest = [] {
    const auto file =
        muster::testing::source_dir() / "test_cases/training/native/llama/tiny/case.yaml";
    const auto text = real_file_system().read(file);
    if (!text) throw std::runtime_error(to_string(text.findings().front()));
    return parse_yaml(*text, file.string());
  }();
  auto value =
      catalog::resolve(*kManifest, "training/native/llama/tiny", "smoke", overrides, known());
  if (value) value->file = "case.yaml";
  return value;
}

Place place() {
  return {"RUN",     "/p/.muster/runs/RUN", "/p",
          "/p/here", "/opt/muster-train",   "/p/.muster/cache/data/kjv.txt"};
}

/// What a key may make another: files, command, secrets, limits, and what the verdict asks.
std::string effect(const catalog::ResolvedCase& resolved, const Job& job, Target target) {
  const auto rendered = render(job, target, {2, true, true});
  if (!rendered) return "refused: " + to_string(rendered.findings().front());
  std::string text = fmt::format("{}", fmt::join(rendered->command, " "));
  for (const RenderedFile& file : rendered->files) text += file.path + "\n" + file.content;
  text += fmt::format("{}", fmt::join(job.secrets, " "));
  const runs::Expectations e = expectations(resolved.values);
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{} ", *value) : std::string("- ");
  };
  text += fmt::format("{} {} {} {} {} ", e.world, e.steps.value_or(0), e.loss_fell,
                      e.checkpoint_reloads, e.transport);
  text += number(e.eval_loss_min) + number(e.eval_loss_max) + number(e.mfu_min) +
          number(e.tokens_per_second_min);
  text +=
      fmt::format("{} {} {}", e.straggler_ratio, e.straggler_mads, resolved.values.expect.timeout);
  return text;
}

/// What has to be set beside a key for it to mean something.
const std::map<std::string, std::vector<Override>> kBeside = {
    {"batch.global", {{"batch.global", "32"}}},
    {"batch.grad_accum", {{"batch.grad_accum", "4"}}},
    {"case.model", {{"case.model", "small"}}},
    {"data.path", {{"data.name", "null"}}},
    {"data.tokenizer", {{"data.tokenizer", "bpe:1000"}}},
    {"env.profile",
     {{"topology.accelerator", "gpu"},
      {"topology.instance_type", "g5.8xlarge"},
      {"topology.accelerators_per_node", "1"},
      {"env.profile", "efa"}}},
    {"expect.loss.trend", {{"expect.loss", "null"}}},
    {"expect.eval_loss.min", {{"expect.eval_loss.min", "1.5"}}},
    {"expect.eval_loss.max", {{"expect.eval_loss.max", "9.5"}}},
    {"expect.straggler.ratio", {{"expect.straggler.ratio", "3.5"}}},
    {"optimizer.min_lr", {{"optimizer.min_lr", "0.0001"}}},
    {"parallelism.dp", {{"parallelism.dp", "1"}}},
    {"parallelism.shard_size", {{"parallelism.shard", "hybrid"}, {"parallelism.shard_size", "2"}}},
    {"rendezvous.start_timeout", {{"topology.nodes", "2"}, {"rendezvous.start_timeout", "77s"}}},
    {"resources.cpu", {{"resources.cpu", "8"}}},
    {"targets.local.oversubscribe",
     {{"targets.local.oversubscribe", "false"}, {"resources.threads", "2"}}},
};

class Keys : public ::testing::TestWithParam<Target> {};

TEST_P(Keys, HaveAnEffectOrARefusalOrAStatedReason) {
  const Target target = GetParam();
  const auto base = tiny({});
  ASSERT_TRUE(base.ok());
  for (const auto& [key, schema] : keys()) {
    std::vector<Override> overrides;
    const auto beside = kBeside.find(key);
    if (beside == kBeside.end() || key == "data.path") {
      const Node* now = node_at(base->manifest, key);
      overrides.emplace_back(key,
                             sample(schema, now != nullptr && now->is_scalar() ? now->text() : ""));
    }
    if (beside != kBeside.end())
      overrides.insert(overrides.end(), beside->second.begin(), beside->second.end());
    const auto stated = [&, key = key](bool refused) {
      for (const UnusedKey& unused : unused_keys(target)) {
        if (unused.refused == refused && (key == unused.key || key.starts_with(unused.key + ".")))
          return !unused.reason.empty();
      }
      return false;
    };
    const auto resolved = tiny(overrides);
    const auto refused = [&, key = key](const Finding& finding) {
      EXPECT_FALSE(finding.message.empty() || finding.where.file.empty()) << key;
      // A value that the schema itself refuses is a mistake of this test.
      for (const char* rule : {"case-type", "case-form", "case-choice", "case-range",
                               "case-unknown-key", "case-missing-key", "yaml-syntax"})
        EXPECT_NE(finding.rule, rule) << key << ": " << to_string(finding);
    };
    if (!resolved) {
      refused(resolved.findings().front());
      continue;
    }
    const auto job = plan_job(*resolved, place(), target, {2, true, true}, known());
    if (!job) {
      refused(job.findings().front());
      continue;
    }
    std::erase_if(overrides, [&, key = key](const Override& set) {
      return set.first == key || key.starts_with(set.first + ".");
    });
    const auto without = tiny(overrides);
    std::string before = "refused";
    if (without) {
      const auto other = plan_job(*without, place(), target, {2, true, true}, known());
      if (other) before = effect(*without, *other, target);
    }
    EXPECT_FALSE(stated(true)) << key << " is not refused";
    const bool changed = effect(*resolved, *job, target) != before;
    EXPECT_NE(changed, stated(false))
        << key
        << (changed ? " has an effect, but is listed as unused"
                    : " has no effect, is not refused and not listed as unused");
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Keys, ::testing::Values(Target::kLocal, Target::kSlurm),
                         [](const auto& target) { return std::string(to_string(target.param)); });

TEST(UnusedKeys, AreKeysOfTheSchema) {
  for (const Target target : {Target::kLocal, Target::kSlurm}) {
    for (const UnusedKey& unused : unused_keys(target))
      EXPECT_NE(catalog::case_schema().at(unused.key), nullptr) << unused.key;
  }
}

TEST(UnusedKeys, WrittenAsTheyWouldBeAnywayTheyAreNotRefused) {
  const auto resolved = tiny({{"checkpoint.format", "native"}, {"topology.min_nodes", "1"}});
  ASSERT_TRUE(resolved.ok());
  EXPECT_TRUE(plan_job(*resolved, place(), Target::kLocal, {2, true, true}, known()).ok());
}

}  // namespace
}  // namespace muster::launch
