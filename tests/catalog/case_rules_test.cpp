#include "catalog/case_rules.h"

#include <gtest/gtest.h>

#include "catalog/manifest.h"
#include "findings_text.h"
#include "fixture.h"

namespace muster::catalog {
namespace {

struct Broken {
  const char* rule;
  std::vector<Override> options;
};

// Each rule once, on a case that breaks only it.
TEST(CaseRules, EachRuleFindsItsMistake) {
  const Override foreign_launcher{"launcher", "torchrun"};
  const Override foreign{"case", "{framework: pytorch, library: fsdp, model: other}"};
  const std::vector<Override> eight = {
      foreign_launcher,
      foreign,
      {"topology", "{nodes: 1, accelerators_per_node: 8, accelerator: gpu}"}};
  const auto on_eight = [&](std::vector<Override> more) {
    std::vector<Override> options = eight;
    options.insert(options.end(), more.begin(), more.end());
    return options;
  };
  const std::vector<Broken> all = {
      {"case-world", {{"parallelism.dp", "3"}}},
      {"case-world", on_eight({{"parallelism.tp", "3"}})},
      {"case-batch", {{"batch.global", "9"}}},
      {"case-batch", {{"batch.global", "16"}, {"batch.grad_accum", "3"}}},
      {"case-experts", on_eight({{"parallelism.ep", "3"}})},
      {"case-heads", on_eight({{"case.model", "smollm2-135m"}, {"parallelism.tp", "2"}})},
      {"case-heads",
       {foreign_launcher,
        foreign,
        {"topology", "{nodes: 1, accelerators_per_node: 6, accelerator: gpu}"},
        {"case.model", "llama3.2-3b"},
        {"parallelism.tp", "6"}}},
      {"case-layers", on_eight({{"case.model", "smollm2-135m"}, {"parallelism.pp", "4"}})},
      {"case-sequence", on_eight({{"parallelism.cp", "8"}, {"batch.seq_len", "1000"}})},
      {"case-sequence", {{"batch.seq_len", "4096"}}},
      {"case-rendezvous", {{"rendezvous.elastic", "true"}, {"rendezvous.node_rank", "0"}}},
      {"case-nodes", {{"topology.min_nodes", "2"}}},
      {"case-instance", {{"topology.instance_type", "p5.48xlarg"}}},
      {"case-instance", on_eight({{"topology.instance_type", "p5.4xlarge"}})},
      {"case-instance", on_eight({{"topology.instance_type", "trn1.32xlarge"}})},
      {"case-shard", {{"parallelism.shard_size", "2"}}},
      {"case-shard", {{"parallelism.shard", "hybrid"}}},
      {"case-shard", on_eight({{"parallelism.shard", "hybrid"}, {"parallelism.shard_size", "3"}})},
      {"case-data", {{"data.path", "text.txt"}}},
      {"case-data", {{"data.name", "null"}}},
      {"case-data", {{"data.name", "kjw"}}},
      {"case-data", {{"data.tokenizer", "bpe:12"}}},
      {"case-data", {{"data.tokenizer", "null"}}},
      {"case-optimizer", {{"optimizer.min_lr", "1"}}},
      {"case-checkpoint", {{"topology.nodes", "2"}, {"checkpoint.dir", "/scratch/ckpt"}}},
      {"case-secret", {{"env.set", "{HF_TOKEN: letmein}"}}},
      {"case-latest", {{"image.base", "nvidia/cuda:latest"}}},
      {"case-latest", {{"image.base", "nvidia/cuda"}}},
      {"case-latest", {{"image.pins", "{torch: main}"}}},
      {"case-pin", {{"image.pins", "{efa: 1.46.0}"}}},
      {"case-pin", {{"image.pins", "{nccl: 2.9.8}"}}},
      {"case-band", {{"expect.eval_loss", "{min: 4, max: 3}"}}},
      {"case-native", {{"parallelism.tp", "2"}}},
      {"case-native", {{"transport", "single"}}},
      {"case-native", {{"case.model", "tinny"}}},
      {"case-native", {foreign_launcher}},
      {"case-native", {{"topology.accelerator", "neuron"}}},
  };
  for (const Broken& broken : all) {
    std::string what = broken.rule;
    for (const auto& [key, value] : broken.options) what += " " + key + "=" + value;
    SCOPED_TRACE(what);
    const auto resolved = settle(kManifest, "", broken.options);
    ASSERT_FALSE(resolved.ok());
    EXPECT_EQ(resolved.findings().size(), 1u);
    EXPECT_EQ(resolved.findings()[0].rule, broken.rule) << to_string(resolved.findings()[0]);
    EXPECT_FALSE(resolved.findings()[0].where.file.empty());
  }
}

TEST(CaseRules, WhatIsRightPasses) {
  const std::vector<std::vector<Override>> fine = {
      {{"batch.global", "24"}},
      {{"parallelism.dp", "2"}},
      {{"topology.nodes", "2"},
       {"checkpoint.dir", "/fsx/ckpt"},
       {"storage.mounts", "[{name: fsx, claim: fsx-claim, path: /fsx}]"}},
      {{"env.set", "{HF_TOKEN: \"${HF_TOKEN}\", TOKENIZERS_PARALLELISM: \"false\"}"}},
      {{"image.pins", "{efa: 1.48.0, nccl: 2.30.4, cuda: 13.0.2}"}},
      {{"image.base", "registry.example/nccl-tests:cuda13.0.2"}},
      {{"case.model", "./models/mine"}},
      {{"case.model", "llama3.1-8b"},
       {"parallelism.shard", "hybrid"},
       {"parallelism.shard_size", "2"}},
  };
  for (const auto& options : fine) {
    const std::string what = options[0].first + "=" + options[0].second;
    EXPECT_EQ(testing::text_of_findings(settle(kManifest, "", options).findings()), "") << what;
    // The rules have seen it: one more mistake is all they find.
    auto wrong = options;
    wrong.emplace_back("optimizer.min_lr", "1");
    const auto found = settle(kManifest, "", wrong);
    ASSERT_EQ(found.findings().size(), 1u) << what << "\n"
                                           << testing::text_of_findings(found.findings());
    EXPECT_EQ(found.findings()[0].rule, "case-optimizer") << what;
  }
}

TEST(CaseRules, NameMustBeTheFolder) {
  const auto resolved =
      resolve(parsed(kManifest), "training/native/llama/other", "", {}, known_facts());
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.findings()[0].rule, "case-name");
  EXPECT_EQ(resolved.findings()[0].where.line, 3);
  EXPECT_EQ(resolved.findings()[0].hint, "name: training/native/llama/other");
}

// What a name can't be, whatever the folder.
TEST(CaseRules, NamesAreWordsThatTheTargetsTake) {
  const auto refused = [](const std::string& name, const std::string& object) {
    std::vector<Override> options;
    if (!object.empty()) options.emplace_back("targets", "{kubernetes: {object: " + object + "}}");
    const std::string text = edited("name: training/native/llama/tiny", "name: \"" + name + "\"");
    const auto resolved = resolve(parsed(text), "", "", options, known_facts());
    std::string all;
    for (const Finding& finding : resolved.findings()) all += to_string(finding) + "\n";
    return resolved ? std::string("accepted") : all;
  };
  for (const char* name : {"training//x", "training/a b", "/training/x", "training/x/", "a/../x"})
    EXPECT_NE(refused(name, "").find("not a path of plain words"), std::string::npos) << name;
  const std::string longest = "training/" + std::string(61, 'a') + "/x";
  EXPECT_EQ(refused(longest, "PyTorchJob"), "accepted");
  EXPECT_NE(refused(longest + "y", "PyTorchJob").find("64 characters, Kubernetes takes 63"),
            std::string::npos);
  EXPECT_EQ(refused(longest + "y", ""), "accepted");
  EXPECT_EQ(refused("training/qwen/qwen3.6", "PyTorchJob"), "accepted");
  EXPECT_NE(refused("training/qwen/qwen3.6", "DynamoGraphDeployment").find("has a dot"),
            std::string::npos);
}

TEST(CaseRules, APinThatIsNoVersionIsAWarning) {
  const auto resolved = settle(kManifest, "", {{"image.pins", "{efa: one}"}});
  ASSERT_TRUE(resolved.ok()) << to_string(resolved.findings()[0]);
  ASSERT_EQ(resolved->warnings.size(), 1u);
  EXPECT_EQ(resolved->warnings[0].rule, "case-pin");
}

TEST(CaseRules, ProfilesAreCheckedToo) {
  const std::string text = edited("smoke: {batch: {steps: 20}}", "smoke: {batch: {global: 9}}");
  const Findings findings =
      check_manifest(parsed(text), "training/native/llama/tiny", known_facts());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "case-batch");
  EXPECT_NE(findings[0].message.find("(profile smoke)"), std::string::npos);
}

TEST(CaseRules, LongWarmUpIsAWarning) {
  const auto resolved = settle(kManifest, "", {{"batch.steps", "5"}});
  ASSERT_TRUE(resolved.ok());
  ASSERT_EQ(resolved->warnings.size(), 1u);
  EXPECT_EQ(resolved->warnings[0].rule, "case-optimizer");
}

TEST(CaseRules, SecretIsNeverRepeatedInTheMessage) {
  const auto resolved = settle(kManifest, "", {{"env.set", "{HF_TOKEN: letmein}"}});
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(to_string(resolved.findings()[0]).find("letmein"), std::string::npos);
}

}  // namespace
}  // namespace muster::catalog
