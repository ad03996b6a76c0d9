// How a Trainer comes to its first step.
#include <fmt/format.h>
#include <torch/torch.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/verdict.h"
#include "engine/model/weights.h"
#include "engine/train/agreement.h"
#include "engine/train/peak.h"
#include "engine/train/process_info.h"
#include "engine/train/resume.h"
#include "engine/train/trainer.h"

namespace muster::train {

namespace {

parallel::Strategy strategy_of(const std::string& name) {
  if (name == "ddp") return parallel::Strategy::kDdp;
  if (name == "shard_grad_op") return parallel::Strategy::kShardGradOp;
  if (name == "hybrid") return parallel::Strategy::kHybrid;
  return parallel::Strategy::kFullShard;
}

// The processors that this process may use, shared by the ranks of its node.
int threads_for(const comm::Communicator& comm) {
  const auto& members = comm.members();
  const std::string& host = members[static_cast<std::size_t>(comm.rank())].host;
  const auto here = std::count_if(members.begin(), members.end(),
                                  [&](const comm::Member& member) { return member.host == host; });
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) /
                         static_cast<int>(std::max<std::ptrdiff_t>(1, here)));
}

}  // namespace

int Trainer::set_up() {
  auto source = find_model(settings_.model);
  Findings findings = source.findings();
  for (const Findings& more : {check(settings_), check_batches(settings_, comm_->size())})
    findings.insert(findings.end(), more.begin(), more.end());
  if (const int code = settle_alike(findings, "config"); code != 0) return code;
  config_ = source->config;
  initial_weights_ = source->weights;
  if (settings_.threads == 0) settings_.threads = threads_for(*comm_);
  torch::set_num_threads(settings_.threads);
  if (settings_.deterministic)
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  record_start();
  if (const int code = open_output(); code != 0) return code;
  if (const int code = load_data(); code != 0) return code;
  build_model();
  if (const int code = resume(); code != 0) return code;
  return settings_.measure_peak ? measure_peak() : 0;
}

int Trainer::open_output() {
  Findings findings;
  if (comm_->rank() == 0) {
    // Two runs may not write into one directory.
    if (auto made = make_directory(settings_.out); !made) {
      findings = made.findings();
    } else if (auto lock = DirectoryLock::take(settings_.out); !lock) {
      findings = lock.findings();
    } else {
      lock_ = std::move(*lock);
    }
  }
  return settle(findings, "io");
}

int Trainer::load_data() {
  auto corpus = open_data(*comm_, settings_, config_);
  if (const int code = settle(corpus.findings(),
                              exit_code_for(corpus.findings()) == kExitCannotWrite ? "io" : "data");
      code != 0)
    return code;
  corpus_ = std::move(*corpus);
  if (const int code = settle(check_corpus(*corpus_, config_, settings_), "data"); code != 0)
    return code;
  sampler_.emplace(SamplerOptions{corpus_->train.windows(settings_.seq_len), settings_.seed,
                                  settings_.global_batch, settings_.micro_batch, comm_->size(),
                                  comm_->rank()});
  events_.write({{"event", "data"},
                 {"tokens", corpus_->train.tokens()},
                 {"vocabulary", corpus_->train.vocabulary()},
                 {"shards", corpus_->shards},
                 {"tokenizer", corpus_->tokenizer},
                 {"hash", corpus_->hash}});
  return 0;
}

void Trainer::build_model() {
  llama_ = std::make_shared<model::Llama>(
      config_, settings_.device == "cuda" ? model::reference_kernels() : model::fused_kernels());
  if (initial_weights_.empty()) model::initialise(*llama_, settings_.seed);
}

int Trainer::resume() {
  if (!initial_weights_.empty()) {
    auto loaded = model::load_weights(*llama_, initial_weights_);
    if (const int code = settle(loaded.findings(), "data"); code != 0) return code;
  }
  llama_->to(device_);
  parallel::Options options;
  options.strategy = strategy_of(settings_.strategy);
  options.shard_size = settings_.shard_size;
  options.compute_dtype = settings_.precision == "bf16" ? torch::kBFloat16 : torch::kFloat32;
  options.activation_checkpointing = settings_.activation_checkpointing;
  sharded_ = std::make_unique<parallel::Sharded>(comm_, options);
  for (const auto& unit : llama_->units()) sharded_->wrap(*unit.module, unit.name);
  sharded_->wrap(*llama_, "");
  adamw_ = std::make_unique<Adamw>(
      AdamwOptions{settings_.beta1, settings_.beta2, 1e-8, settings_.weight_decay});
  adamw_->prepare(sharded_->shards());

  TrainState state;
  for (const parallel::ParameterSlot& slot : sharded_->slots())
    state.places.push_back({slot.name, slot.shape, slot.shard, slot.unit_offset, slot.elements});
  for (std::size_t i = 0; i < sharded_->shards().size(); ++i) {
    state.owned.push_back(sharded_->owned_range(static_cast<int>(i)));
    state.shards.push_back({sharded_->shards()[i].parameters, adamw_->moments()[i].first,
                            adamw_->moments()[i].second});
  }
  Manifest base;
  base.model_config = model::write_config(config_);
  base.tokenizer = corpus_->tokenizer_hash;
  base.precision = settings_.precision;
  base.strategy = settings_.strategy;
  base.data = data_state(*corpus_, settings_, comm_->size());
  base.optimizer = optimizer_figures(settings_);
  const CheckpointStore store(settings_.out / "checkpoints");
  const DataState data_now = base.data;
  const OptimizerFigures optimizer_now = base.optimizer;
  checkpointer_ = std::make_unique<Checkpointer>(comm_, store, std::move(state), std::move(base),
                                                 settings_.keep, faults_);

  auto chosen = choose_checkpoint(*comm_, store, settings_.resume);
  if (const int code = settle(chosen.findings(), "data"); code != 0) return code;
  for (const Finding& skipped : chosen->skipped) {
    std::fprintf(stderr, "rank %d: passed over: %s\n", comm_->rank(), to_string(skipped).c_str());
  }
  if (chosen->checkpoint) {
    const Manifest& manifest = chosen->checkpoint->manifest();
    const std::string path = chosen->checkpoint->path().string();
    Findings findings = check_model(manifest, config_, path);
    for (const Finding& finding : check_data_state(manifest.data, data_now, path))
      findings.push_back(finding);
    if (const int code = settle_alike(findings, "config"); code != 0) return code;
    auto loaded = checkpointer_->load(*chosen->checkpoint);
    if (const int code = settle(loaded.findings(), "data"); code != 0) return code;
    sharded_->parameters_changed();
    adamw_->set_steps(manifest.step);
    const std::string hash = sharded_->parameter_hash();
    if (hash != manifest.parameter_hash) {
      return settle_alike(
          {error_at({path}, "checkpoint-damaged",
                    fmt::format("its parameters have hash {} where its manifest says {}", hash,
                                manifest.parameter_hash))},
          "data");
    }
    step_ = manifest.step;
    if (path == store.path(step_).string()) saved_step_ = step_;
    nlohmann::json skipped = nlohmann::json::array();
    for (const Finding& finding : chosen->skipped) skipped.push_back(to_string(finding));
    events_.write({{"event", "resume"},
                   {"step", step_},
                   {"path", path},
                   {"hash", hash},
                   {"skipped", skipped}});
    say(fmt::format("resumed at step {} from {}", step_, path));
    if (!(manifest.optimizer == optimizer_now))
      say("note: the optimizer's settings or the number of steps differ from the checkpoint's; the "
          "new ones hold");
  }
  if (settings_.checkpoint_every == 0 && !settings_.verify_checkpoint) checkpointer_.reset();
  return 0;
}

int Trainer::measure_peak() {
  const auto start = std::chrono::steady_clock::now();
  comm_->barrier()->wait();  // the ranks of a node share its clock and memory: all measure at once
  const bool half = settings_.precision == "bf16";
  const Peak peak =
      ::muster::train::measure_peak(half ? torch::kBFloat16 : torch::kFloat32, device_);
  peak_ = peak.flops_per_second;
  events_.write({{"event", "peak"},
                 {"dtype", half ? "bfloat16" : "float32"},
                 {"flops_per_second", peak.flops_per_second},
                 {"bytes_per_second", peak.bytes_per_second}});
  comm_->barrier()->wait();
  peak_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return 0;
}

}  // namespace muster::train
