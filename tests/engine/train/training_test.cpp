// Whole runs of the program: what it trains, writes and says.
#include <cmath>

#include "engine/train/jobs.h"

namespace muster::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Training = TrainingTest;

// One process needs neither MPI nor a rendezvous: it must run where there is no launcher at all.
TEST_F(Training, OneProcessAloneTrainsEvaluatesSavesAndExports) {
  const auto result =
      train(1, "out",
            {"--steps", "40", "--checkpoint-every", "20", "--eval-batches", "4", "--eval-every",
             "20", "--warmup", "5", "--verify-checkpoint", "--measure-peak"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto all = events("out");
  EXPECT_EQ(all.front().at("event"), "start");
  EXPECT_EQ(all.front().at("transport"), "single");
  EXPECT_EQ(all.front().at("world"), 1);
  EXPECT_EQ(all.back().at("event"), "end");
  EXPECT_EQ(all.back().at("reason"), "complete");
  EXPECT_GT(all.back().at("peak_memory"), 10'000'000);
  EXPECT_GT(all.back().at("start_to_first_step_seconds"), 0.0);
  std::vector<json> steps;
  std::vector<json> evaluations;
  for (const auto& event : all) {
    if (event.at("event") == "step") steps.push_back(event);
    if (event.at("event") == "eval") evaluations.push_back(event);
  }
  ASSERT_EQ(steps.size(), 40U);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].at("step"), i + 1);
    EXPECT_EQ(steps[i].at("tokens"), 128);
    EXPECT_GT(steps[i].at("tokens_per_second"), 0.0);
    EXPECT_GT(steps[i].at("mfu"), 0.0);
  }
  const auto loss = [&](std::size_t i) { return steps[i].at("loss").get<double>(); };
  EXPECT_NEAR(loss(0), std::log(320.0), 0.3);  // untrained: as good as guessing
  EXPECT_LT(loss(39), 0.7 * loss(0));
  ASSERT_EQ(evaluations.size(), 2U);
  EXPECT_LT(evaluations[1].at("loss"), evaluations[0].at("loss"));
  const json reload = last("out", "reload");
  EXPECT_EQ(reload.at("hash"), reload.at("saved_hash"));
  EXPECT_EQ(reload.at("hash"), all.back().at("parameter_hash"));

  // What was exported is what was trained: a second program gives the text a loss like that of the
  // training.
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
    EXPECT_TRUE(fs::exists(path("out/model") / name)) << name;
  spill(path("sample"), lesson().substr(0, 400));
  const auto score = run(1, {"score", path("out/model"), "--text", path("sample"), "-o", "json"});
  ASSERT_EQ(score.exit_code, 0) << score.err;
  const double scored = json::parse(score.out).at("sequences").at(0).at("mean_cross_entropy");
  EXPECT_NEAR(scored, loss(39), 0.6);
}

// Nothing is saved on the way, but what is to be read back at the end must be there.
TEST_F(Training, ACheckpointThatIsVerifiedIsWrittenAtTheEnd) {
  ASSERT_EQ(
      train(1, "out", {"--steps", "3", "--checkpoint-every", "0", "--verify-checkpoint"}).exit_code,
      0);
  EXPECT_EQ(last("out", "checkpoint").at("step"), 3);
  const json reload = last("out", "reload");
  EXPECT_EQ(reload.at("hash"), reload.at("saved_hash"));
}

TEST_F(Training, AnyNumberOfRanksAndStrategyFollowsTheSameCurve) {
  ASSERT_EQ(train(1, "one", {"--checkpoint-every", "0"}).exit_code, 0);
  struct Form {
    int ranks;
    std::vector<std::string> options;
  };
  const std::vector<Form> forms = {
      {2, {"--strategy", "full_shard"}},
      {2, {"--strategy", "ddp"}},
      {2, {"--strategy", "shard_grad_op", "--activation-checkpointing"}},
      {4, {"--strategy", "hybrid", "--shard-size", "2"}}};
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const std::string out = "out" + std::to_string(i);
    auto options = forms[i].options;
    options.insert(options.end(), {"--checkpoint-every", "0"});
    const auto result = train(forms[i].ranks, out, options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto alone = events("one");
    for (int rank = 0; rank < forms[i].ranks; ++rank) {
      const auto together = events(out, rank);
      EXPECT_EQ(together.front().at("world"), forms[i].ranks);
      std::size_t compared = 0;
      for (const auto& event : together) {
        if (event.at("event") != "step") continue;
        for (const auto& other : alone) {
          if (other.at("event") == "step" && other.at("step") == event.at("step")) {
            EXPECT_NEAR(event.at("loss").get<double>(), other.at("loss").get<double>(), 2e-4)
                << forms[i].options[1];
            ++compared;
          }
        }
      }
      EXPECT_EQ(compared, 6U);
      EXPECT_EQ(last(out, "end", rank).at("parameter_hash"),
                last(out, "end", 0).at("parameter_hash"));
    }
  }
}

// As torchrun and the Kubernetes operators start processes.
TEST_F(Training, ProcessesThatFindEachOtherByEnvironmentTrainAlike) {
  ASSERT_EQ(train(2, "mpi").exit_code, 0);
  const auto result = run(2, arguments("gloo"), /*by_environment=*/true);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(last("gloo", "start").at("transport"), "gloo");
  EXPECT_EQ(outcome("gloo"), outcome("mpi"));  // sums are made in rank order whoever carries them
  EXPECT_EQ(outcome("gloo", 1), outcome("gloo", 0));
}

TEST_F(Training, ARunRepeatedGivesTheSameBits) {
  for (const std::string out : {"a", "b"})
    ASSERT_EQ(train(2, out, {"--precision", "bf16"}).exit_code, 0);
  EXPECT_EQ(outcome("a"), outcome("b"));
  EXPECT_EQ(slurp(checkpoint("a", 6) / "shard-00001-of-00002.safetensors"),
            slurp(checkpoint("b", 6) / "shard-00001-of-00002.safetensors"));
}

// A checkpoint does not depend on how many wrote it.
TEST_F(Training, SavedAtTwoRanksItLoadsAtOneFourAndEight) {
  ASSERT_EQ(train(2, "out", {"--steps", "4", "--micro-batch", "1"}).exit_code, 0);
  const json saved = last("out", "end").at("parameter_hash");
  const std::vector<std::pair<int, std::string>> forms = {
      {1, "full_shard"}, {4, "ddp"}, {8, "full_shard"}};
  for (const auto& [ranks, strategy] : forms) {
    const std::string out = "at" + std::to_string(ranks);
    const auto result = train(ranks, out,
                              {"--steps", "4", "--micro-batch", "1", "--checkpoint-every", "0",
                               "--strategy", strategy, "--resume", checkpoint("out", 4)});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(last(out, "end", rank).at("parameter_hash"), saved);
  }
  // And it is written the same again, whoever writes it: the next step's state at one rank, read at
  // two.
  ASSERT_EQ(
      train(1, "one", {"--steps", "5", "--micro-batch", "1", "--resume", checkpoint("out", 4)})
          .exit_code,
      0);
  ASSERT_EQ(
      train(2, "two", {"--steps", "5", "--micro-batch", "1", "--resume", checkpoint("one", 5)})
          .exit_code,
      0);
  EXPECT_EQ(last("two", "end").at("parameter_hash"), last("one", "end").at("parameter_hash"));
}

TEST_F(Training, KeepsAsManyCheckpointsAsAsked) {
  ASSERT_EQ(train(1, "out", {"--steps", "9", "--keep", "2"}).exit_code, 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path("out/checkpoints")))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-00000008", "step-00000009"}));
}

TEST_F(Training, StartsFromTheWeightsOfAFolder) {
  ASSERT_EQ(train(1, "first", {"--steps", "30", "--checkpoint-every", "30"}).exit_code, 0);
  ASSERT_EQ(train(1, "second",
                  {"--model", path("first/model"), "--tokenizer",
                   path("first/model/tokenizer.json"), "--steps", "1", "--checkpoint-every", "0"})
                .exit_code,
            0);
  EXPECT_LT(last("second", "step").at("loss").get<double>(), 0.8 * std::log(320.0));
}

}  // namespace
}  // namespace muster::train
