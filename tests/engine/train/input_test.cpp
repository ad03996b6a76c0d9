// Input that is wrong or damaged: a located message and exit code 2, wherever the damage is.
#include "engine/train/checkpoint.h"
#include "engine/train/jobs.h"

namespace muster::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Input = TrainingTest;

TEST_F(Input, TextThatIsEmptyOrNotTextIsRefused) {
  for (const int ranks : {1, 2}) {
    spill(path("text"), "");
    auto result = train(ranks, "out");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find(path("text").string() + ": error: the text is empty"),
              std::string::npos)
        << result.err;
    spill(path("text"),
          lesson().substr(0, 1000) + std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16));
    result = train(ranks, "out");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find(path("text").string() + ":"), std::string::npos) << result.err;
    const json error = last("out", "error");
    EXPECT_EQ(error.at("kind"), "data");
  }
  spill(path("text"), "Too short.\n");
  const auto result = train(1, "out");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("too few"), std::string::npos) << result.err;
}

TEST_F(Input, OptionsThatDoNotFitAreExplained) {
  const auto error_of = [&](const std::vector<std::string>& options, int ranks = 1) {
    const auto result = train(ranks, "out", options);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_NE(error_of({"--precision", "fp8"}).find("fp32"), std::string::npos);
  EXPECT_NE(error_of({"--steps", "0"}).find("--steps"), std::string::npos);
  EXPECT_NE(error_of({"--model", "llama9"}).find("smollm2-135m"), std::string::npos);
  EXPECT_NE(error_of({"--tokenizer", "bpe:400"}).find("vocabulary of 400"), std::string::npos);
  EXPECT_NE(error_of({"--seq-len", "65"}).find("64 positions"), std::string::npos);
  EXPECT_NE(
      error_of({"--global-batch", "6", "--micro-batch", "2"}, 2).find("micro-batch 2 x 2 ranks"),
      std::string::npos);
  EXPECT_NE(error_of({"--data", path("nothing")}).find(path("nothing").string()),
            std::string::npos);
  EXPECT_NE(error_of({"--inject-fault", "burn:0:1"}).find("--inject-fault"), std::string::npos);
  EXPECT_NE(error_of({"--transport", "nccl"}).find("--device cuda"), std::string::npos);
  if (!fs::exists("/dev/nvidiactl")) {
    EXPECT_NE(error_of({"--device", "cuda"}).find("no CUDA device"), std::string::npos);
  }
}

TEST_F(Input, AnotherDataStateThanTheCheckpointsIsExplained) {
  ASSERT_EQ(train(2, "out", {"--steps", "2"}).exit_code, 0);
  auto result = train(2, "out", {"--global-batch", "16"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(
      result.err.find("global batch of 8 sequences (2 ranks of micro-batch 2), this run has 16"),
      std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("--global-batch 8"), std::string::npos) << result.err;
  EXPECT_EQ(train(1, "out", {"--seq-len", "8"}).exit_code, 2);
  EXPECT_EQ(train(1, "out", {"--seed", "7"}).exit_code, 2);
  // Three ranks can't make a global batch of eight.
  result = train(3, "out", {"--micro-batch", "1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("not a multiple of 3"), std::string::npos) << result.err;
  spill(path("text"), lesson() + "One more line.\n");
  result = train(1, "out");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("other training data"), std::string::npos) << result.err;
  EXPECT_EQ(train(1, "out", {"--resume", "never"}).exit_code, 2);
}

TEST_F(Input, ADamagedCheckpointIsPassedOverAloudOrRefused) {
  ASSERT_EQ(train(2, "out", {"--inject-fault", "term:0:4"}).exit_code, 130);
  ASSERT_EQ(train(2, "whole").exit_code, 0);
  const fs::path damaged = checkpoint("out", 4) / "shard-00001-of-00002.safetensors";
  {
    const FlippedBit damage(damaged, fs::file_size(damaged) / 2);
    const auto named = train(2, "other", {"--resume", checkpoint("out", 4)});
    EXPECT_EQ(named.exit_code, 2);
    EXPECT_NE(named.err.find(damaged.string()), std::string::npos) << named.err;
    EXPECT_NE(named.err.find("byte offset"), std::string::npos) << named.err;
    const auto resumed = train(2, "out");
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_NE(resumed.err.find("passed over: " + damaged.string()), std::string::npos)
        << resumed.err;
    EXPECT_EQ(last("out", "resume").at("step"), 2);
    EXPECT_EQ(outcome("out"), outcome("whole"));
  }
  // Of several damaged ones none is left: not begun anew behind the user's back.
  for (const auto& entry : fs::directory_iterator(path("out/checkpoints"))) {
    if (entry.is_directory()) spill(entry.path() / "manifest.json", "{}");
  }
  const auto refused = train(1, "out");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("none of the"), std::string::npos) << refused.err;
}

// Flips bits and cuts files that a run reads, at a sample of places. `harmless`: a change may also
// leave it readable.
class Damage : public TrainingTest {
 protected:
  void try_all(const fs::path& file, const std::vector<std::string>& options, bool harmless) {
    const auto size = static_cast<std::size_t>(fs::file_size(file));
    int refused = 0;
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{9}, std::size_t{20}, size / 3, size / 2, size - 2}) {
      for (const bool cut : {false, true}) {
        std::optional<FlippedBit> flip;
        std::optional<CutFile> shorter;
        cut ? void(shorter.emplace(file, at)) : void(flip.emplace(file, at, 6));
        fs::remove_all(path("out"));
        const auto result = train(1, "out", options);
        EXPECT_FALSE(result.timed_out);
        EXPECT_EQ(result.signal, 0) << file << (cut ? " cut at " : " flipped at ") << at;
        const bool allowed = harmless && !cut && (result.exit_code == 0 || result.exit_code == 3);
        if (allowed) continue;
        EXPECT_EQ(result.exit_code, 2)
            << file << (cut ? " cut at " : " flipped at ") << at << ": " << result.err;
        EXPECT_NE(result.err.find(file.filename().string()), std::string::npos) << result.err;
        ++refused;
      }
    }
    EXPECT_GE(refused, 6);
  }
};

TEST_F(Damage, OfATokenShardIsLocated) {
  ASSERT_EQ(train(1, "first", {"--steps", "1", "--checkpoint-every", "0"}).exit_code, 0);
  const fs::path prepared = fs::directory_iterator(path("first/data"))->path();
  // A small shard and many steps: every block is read.
  try_all(prepared / "train-00000.tokens",
          {"--data", prepared, "--steps", "2", "--checkpoint-every", "0"}, false);
}

TEST_F(Damage, OfATokenizerIsLocated) {
  ASSERT_EQ(train(1, "first", {"--steps", "1"}).exit_code, 0);
  try_all(path("first/model/tokenizer.json"),
          {"--tokenizer", path("first/model/tokenizer.json"), "--steps", "1", "--checkpoint-every",
           "0"},
          true);
}

TEST_F(Damage, OfTheWeightsToStartFromIsLocated) {
  ASSERT_EQ(train(1, "first", {"--steps", "1"}).exit_code, 0);
  try_all(path("first/model/model.safetensors"),
          {"--model", path("first/model"), "--steps", "1", "--checkpoint-every", "0"}, true);
}

}  // namespace
}  // namespace muster::train
