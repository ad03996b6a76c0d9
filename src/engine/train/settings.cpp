#include "engine/train/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <set>

#include "engine/train/faults.h"

namespace muster::train {

namespace {

void add_model_options(CLI::App& command, Settings& settings) {
  command
      .add_option("--model", settings.model,
                  "Model: a name (tiny, small, smollm2-135m, llama3.2-1b, ...), or a folder with "
                  "config.json and maybe weights")
      ->capture_default_str();
  command
      .add_option("--data", settings.data, "A UTF-8 text, or a directory of texts or token shards")
      ->required();
  command.add_option(
      "--tokenizer", settings.tokenizer,
      "bpe:N trains a byte-level BPE of N ids on the text; else the path of a tokenizer.json");
  command
      .add_option("--out", settings.out,
                  "Directory for checkpoints, prepared data and the final model")
      ->required();
  command.add_option("--metrics", settings.metrics,
                     "Run directory: events go to its metrics/rank-NNNNN.jsonl");
}

void add_batch_options(CLI::App& command, Settings& settings) {
  command.add_option("--steps", settings.steps, "Optimizer steps of the whole run")
      ->capture_default_str();
  command.add_option("--seq-len", settings.seq_len, "Tokens of a sequence")->capture_default_str();
  command
      .add_option("--micro-batch", settings.micro_batch,
                  "Sequences of one forward pass on one rank")
      ->capture_default_str();
  command.add_option("--global-batch", settings.global_batch,
                     "Sequences of a step on all ranks, a multiple of micro-batch x ranks; "
                     "gradients are accumulated");
  command
      .add_option("--precision", settings.precision,
                  "Compute type: fp32 or bf16; parameters and optimizer stay fp32")
      ->capture_default_str();
  command.add_option("--strategy", settings.strategy, "ddp, full_shard, shard_grad_op or hybrid")
      ->capture_default_str();
  command.add_option("--shard-size", settings.shard_size, "Ranks of a shard group, for hybrid");
  command.add_flag("--activation-checkpointing", settings.activation_checkpointing,
                   "Compute activations a second time instead of keeping them");
}

void add_optimizer_options(CLI::App& command, Settings& settings) {
  command.add_option("--lr", settings.lr, "Learning rate after the warm-up")->capture_default_str();
  command.add_option("--min-lr", settings.min_lr, "Learning rate at the last step")
      ->capture_default_str();
  command.add_option("--warmup", settings.warmup, "Steps of linear warm-up")->capture_default_str();
  command.add_option("--weight-decay", settings.weight_decay, "AdamW's weight decay, on matrices")
      ->capture_default_str();
  command.add_option("--beta1", settings.beta1, "AdamW's first moment's decay")
      ->capture_default_str();
  command.add_option("--beta2", settings.beta2, "AdamW's second moment's decay")
      ->capture_default_str();
  command
      .add_option("--clip", settings.clip, "Largest global norm of the gradients; 0: no clipping")
      ->capture_default_str();
  command.add_option("--seed", settings.seed, "Seed of initial weights and data order")
      ->capture_default_str();
}

void add_run_options(CLI::App& command, Settings& settings) {
  command
      .add_option("--eval-every", settings.eval_every,
                  "Steps between evaluations; 0: at the end only")
      ->capture_default_str();
  command
      .add_option("--eval-batches", settings.eval_batches,
                  "Global batches of validation text in an evaluation; 0: none")
      ->capture_default_str();
  command
      .add_option("--checkpoint-every", settings.checkpoint_every,
                  "Steps between checkpoints, and one at the end; 0: none on the way, and one at "
                  "the end only with --verify-checkpoint")
      ->capture_default_str();
  command.add_option("--keep", settings.keep, "Checkpoints to keep")->capture_default_str();
  command
      .add_option(
          "--resume", settings.resume,
          "auto: from the newest whole checkpoint, if any; never; or a checkpoint's directory")
      ->capture_default_str();
  command.add_flag("--verify-checkpoint", settings.verify_checkpoint,
                   "Read the last checkpoint back and compare its hash");
  command.add_option("--comm-timeout", settings.comm_timeout, "Seconds that a collective may take")
      ->capture_default_str();
  command
      .add_option("--threads", settings.threads,
                  "Threads of a rank; 0: the processors shared by the ranks of the node")
      ->capture_default_str();
  command.add_flag("--deterministic,!--no-deterministic", settings.deterministic,
                   "Same input, same bits (the default)");
  command.add_option("--transport", settings.transport, "auto, mpi, gloo, nccl or single")
      ->capture_default_str();
  command.add_option("--device", settings.device, "cpu or cuda")->capture_default_str();
  command.add_flag("--measure-peak", settings.measure_peak,
                   "Measure the node's matrix-product peak first, for MFU");
  command.add_option("--trace", settings.trace,
                     "Directory: each rank writes what it did when to rank-NNNNN.trace.json, in "
                     "Chrome's trace event format");
  command.add_option("--trace-steps", settings.trace_steps, "Steps that are traced: FIRST:LAST")
      ->capture_default_str();
  command.add_option("--inject-fault", settings.faults, kFaultHelp);
}

}  // namespace

void add_options(CLI::App& command, Settings& settings) {
  add_model_options(command, settings);
  add_batch_options(command, settings);
  add_optimizer_options(command, settings);
  add_run_options(command, settings);
}

Result<StepRange> parse_step_range(const std::string& text) {
  StepRange range;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == ':') {
    const auto last = std::from_chars(first.ptr + 1, end, range.last);
    if (last.ec == std::errc() && last.ptr == end && range.first >= 1 && range.last >= range.first)
      return range;
  }
  return failure("option", fmt::format("--trace-steps: \"{}\" is no range of steps", text),
                 "FIRST:LAST, counted from 1, e.g. 2:11");
}

Findings check(const Settings& settings) {
  Findings findings;
  const auto wrong = [&](const char* option, const std::string& message,
                         const std::string& hint = {}) {
    findings.push_back(error_at({}, "option", fmt::format("{}: {}", option, message), hint));
  };
  const auto at_least = [&](const char* option, auto value, decltype(value) least) {
    if (!(value >= least))
      wrong(option, fmt::format("{} is too small", value), fmt::format("at least {}", least));
  };
  const auto one_of = [&](const char* option, const std::string& value,
                          const std::set<std::string>& known) {
    if (!known.contains(value))
      wrong(option, fmt::format("\"{}\" is not known", value),
            fmt::format("one of {}", fmt::join(known, ", ")));
  };
  at_least("--steps", settings.steps, 1);
  at_least("--seq-len", settings.seq_len, 1);
  at_least("--micro-batch", settings.micro_batch, 1);
  at_least("--global-batch", settings.global_batch, 0);
  at_least("--warmup", settings.warmup, 0);
  at_least("--eval-every", settings.eval_every, 0);
  at_least("--eval-batches", settings.eval_batches, 0);
  at_least("--checkpoint-every", settings.checkpoint_every, 0);
  at_least("--keep", settings.keep, 1);
  at_least("--threads", settings.threads, 0);
  at_least("--shard-size", settings.shard_size, 0);
  at_least("--lr", settings.lr, 0.0);
  at_least("--min-lr", settings.min_lr, 0.0);
  at_least("--weight-decay", settings.weight_decay, 0.0);
  at_least("--comm-timeout", settings.comm_timeout, 0.001);
  if (settings.warmup >= settings.steps && settings.warmup > 0)
    wrong("--warmup",
          fmt::format("{} steps leave none of {} after it", settings.warmup, settings.steps));
  if (!(settings.beta1 >= 0 && settings.beta1 < 1))
    wrong("--beta1", fmt::format("{} is not in [0, 1)", settings.beta1));
  if (!(settings.beta2 >= 0 && settings.beta2 < 1))
    wrong("--beta2", fmt::format("{} is not in [0, 1)", settings.beta2));
  one_of("--precision", settings.precision, {"fp32", "bf16"});
  one_of("--strategy", settings.strategy, {"ddp", "full_shard", "shard_grad_op", "hybrid"});
  one_of("--transport", settings.transport, {"auto", "mpi", "gloo", "nccl", "single"});
  one_of("--device", settings.device, {"cpu", "cuda"});
  if (settings.strategy == "hybrid" && settings.shard_size < 1)
    wrong("--shard-size", "hybrid needs it",
          "the number of ranks that share one copy of the parameters");
  if (auto range = parse_step_range(settings.trace_steps); !range)
    findings.insert(findings.end(), range.findings().begin(), range.findings().end());
  for (const std::string& fault : settings.faults) {
    if (auto parsed = parse_fault(fault); !parsed)
      findings.insert(findings.end(), parsed.findings().begin(), parsed.findings().end());
  }
  return findings;
}

Findings check_batches(const Settings& settings, int world) {
  Findings findings;
  const std::int64_t pass = settings.micro_batch * world;
  if (settings.global_batch % pass != 0) {
    findings.push_back(error_at(
        {}, "option",
        fmt::format("--global-batch {} is not a multiple of {} (micro-batch {} x {} ranks)",
                    settings.global_batch, pass, settings.micro_batch, world),
        fmt::format("{} or {}", std::max<std::int64_t>(1, settings.global_batch / pass) * pass,
                    (settings.global_batch / pass + 1) * pass)));
  }
  if (settings.strategy == "hybrid" &&
      (settings.shard_size > world || world % settings.shard_size != 0)) {
    findings.push_back(error_at(
        {}, "option",
        fmt::format("--shard-size {} does not divide {} ranks", settings.shard_size, world)));
  }
  return findings;
}

}  // namespace muster::train
