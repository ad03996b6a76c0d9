// Runs the built muster-train on a model so small that a run takes a second, and reads what it
// leaves.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/process.h"
#include "engine/train/temporary.h"
#include "runs/events.h"

namespace muster::train {

/// 60 kB of text in which there is something to learn.
inline std::string lesson() {
  std::string text;
  for (int i = 1; text.size() < 60'000; ++i) {
    text += "And in the " + std::to_string(i % 97) + "th year of the king, he counted " +
            std::to_string(i * 7 % 53) + " vessels of silver and " + std::to_string(i * 5 % 41) +
            " of gold, and set them before the house.\n";
  }
  return text;
}

/// A directory with a model of 40,000 parameters and a text, in which runs are made.
class TrainingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(path("model"));
    spill(path("model/config.json"),
          R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 320,
      "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
      "num_key_value_heads": 1, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
      "tie_word_embeddings": true, "hidden_act": "silu", "torch_dtype": "float32"})");
    spill(path("text"), lesson());
  }

  std::filesystem::path path(const std::string& name) const { return directory_.path() / name; }

  /// What every run here has; later options win.
  std::vector<std::string> arguments(const std::string& out,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"train",
                                    "--model",
                                    path("model"),
                                    "--data",
                                    path("text"),
                                    "--tokenizer",
                                    "bpe:320",
                                    "--out",
                                    path(out),
                                    "--metrics",
                                    path(out + ".run"),
                                    "--seq-len",
                                    "16",
                                    "--threads",
                                    "1",
                                    "--comm-timeout",
                                    "20",
                                    "--lr",
                                    "0.01"};
    const auto given = [&](const std::string& option) {
      return std::find(more.begin(), more.end(), option) != more.end();
    };
    for (const auto& [option, value] :
         std::vector<std::pair<std::string, std::string>>{{"--steps", "6"},
                                                          {"--micro-batch", "2"},
                                                          {"--global-batch", "8"},
                                                          {"--checkpoint-every", "2"}}) {
      if (!given(option)) all.insert(all.end(), {option, value});
    }
    for (std::size_t i = 0; i < more.size(); ++i) {
      // An option that is given again takes the place of the one above.
      const auto earlier = std::find(all.begin(), all.end(), more[i]);
      if (more[i].starts_with("--") && earlier != all.end() && i + 1 < more.size() &&
          !more[i + 1].starts_with("--")) {
        *(earlier + 1) = more[++i];
      } else {
        all.push_back(more[i]);
      }
    }
    return all;
  }

  /// Runs `ranks` processes under mpirun (or, without a launcher, by environment), or one alone.
  ProcessResult run(int ranks, const std::vector<std::string>& program_arguments,
                    bool by_environment = false) const {
    Command command;
    if (by_environment) {
      command.argv = {LAUNCH_RANKS, std::to_string(ranks)};
    } else if (ranks > 1) {
      command.argv = {"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                      "-np",    std::to_string(ranks)};
    }
    command.argv.push_back(std::string(MUSTER_BINARY_DIR) + "/bin/muster-train");
    command.argv.insert(command.argv.end(), program_arguments.begin(), program_arguments.end());
    command.env = {{"OMP_NUM_THREADS", "1"},
                   {"OMPI_MCA_mpi_yield_when_idle", "1"},
                   {"OMPI_MCA_btl", "self,vader"}};
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
      command.unset.emplace_back(name);
    command.time_limit = std::chrono::seconds(90);
    command.grace = std::chrono::milliseconds(500);
    auto result = real_process_runner().run(command);
    if (!result) throw std::runtime_error(to_string(result.findings().front()));
    return std::move(result).value();
  }

  ProcessResult train(int ranks, const std::string& out,
                      const std::vector<std::string>& more = {}) const {
    return run(ranks, arguments(out, more));
  }

  std::vector<nlohmann::json> events(const std::string& out, int rank = 0) const {
    const std::string file = runs::metrics_file(path(out + ".run").string(), rank);
    auto events = runs::parse_events(slurp(file), file);
    if (!events) throw std::runtime_error(to_string(events.findings().front()));
    return *events;
  }

  /// The last event of a kind, or null.
  nlohmann::json last(const std::string& out, const std::string& kind, int rank = 0) const {
    nlohmann::json found;
    for (const auto& event : events(out, rank)) {
      if (event.at("event") == kind) found = event;
    }
    return found;
  }

  /// What two runs that are the same to the last bit have in common: final loss and parameters.
  std::string outcome(const std::string& out, int rank = 0) const {
    const auto step = last(out, "step", rank);
    const auto end = last(out, "end", rank);
    if (step.is_null() || end.is_null()) return "no end";
    return nlohmann::json{step.at("step"), step.at("loss"), step.at("grad_norm"), end.at("reason"),
                          end.at("parameter_hash")}
        .dump();
  }

  std::filesystem::path checkpoint(const std::string& out, int step) const {
    return path(out) / "checkpoints" / ("step-0000000" + std::to_string(step));
  }

  TemporaryDirectory directory_;
};

}  // namespace muster::train
