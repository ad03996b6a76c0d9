// What a training run is asked to do: the options of `muster-train train`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace muster::train {

/// "3:12": the steps from the third to the twelfth.
struct StepRange {
  std::int64_t first = 1, last = 1;
};
Result<StepRange> parse_step_range(const std::string& text);

struct Settings {
  std::string model = "tiny";
  std::filesystem::path data;
  std::string tokenizer;  ///< empty: bpe:N with N the model's vocabulary, at most 8192
  std::filesystem::path out;
  std::filesystem::path metrics;  ///< empty: no events are written

  std::int64_t steps = 100;
  std::int64_t seq_len = 256;
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 0;  ///< 0: micro-batch x ranks

  std::string precision = "fp32";
  std::string strategy = "full_shard";
  int shard_size = 0;
  bool activation_checkpointing = false;

  double lr = 3e-4;
  double min_lr = 3e-5;
  std::int64_t warmup = 0;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double clip = 1.0;
  std::uint64_t seed = 1;

  std::int64_t eval_every = 0;        ///< 0: at the end only
  std::int64_t eval_batches = 0;      ///< global batches of validation text; 0: no evaluation
  std::int64_t checkpoint_every = 0;  ///< 0: only one at the end, when it is verified
  int keep = 2;
  std::string resume = "auto";
  bool verify_checkpoint = false;

  double comm_timeout = 600;  ///< seconds
  int threads = 0;            ///< 0: the machine's processors shared by its ranks
  bool deterministic = true;
  std::string transport = "auto";
  std::string device = "cpu";
  bool measure_peak = false;

  std::filesystem::path trace;       ///< empty: none is written
  std::string trace_steps = "2:11";  ///< the first step also warms up

  std::vector<std::string> faults;
};

/// Adds the options to a command. They write into `settings`, which must outlive the command.
void add_options(CLI::App& command, Settings& settings);

/// What is wrong with the settings alone, whatever the model, the data and the ranks.
Findings check(const Settings& settings);

/// What is wrong with the batch sizes for this many ranks.
Findings check_batches(const Settings& settings, int world);

}  // namespace muster::train
