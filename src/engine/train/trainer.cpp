#include "engine/train/trainer.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/verdict.h"
#include "engine/train/agreement.h"
#include "engine/train/batches.h"
#include "engine/train/evaluation.h"
#include "engine/train/export_model.h"
#include "engine/train/process_info.h"
#include "engine/train/resume.h"

namespace muster::train {

using nlohmann::json;

Trainer::Trainer(Settings settings, std::shared_ptr<comm::Communicator> comm,
                 runs::EventWriter& events, std::shared_ptr<StepTrace> trace)
    : settings_(std::move(settings)),
      comm_(std::move(comm)),
      events_(events),
      trace_(std::move(trace)),
      faults_(settings_.faults, comm_->rank()),
      device_(settings_.device == "cuda"
                  ? torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(local_rank()))
                  : torch::Device(torch::kCPU)) {
  if (settings_.global_batch == 0) settings_.global_batch = settings_.micro_batch * comm_->size();
  schedule_ = {settings_.lr, settings_.min_lr, settings_.warmup, settings_.steps};
}

Trainer::~Trainer() = default;

int Trainer::run() {
  if (const int code = set_up(); code != 0) {
    record_end("error");
    return code;
  }
  int code = train();
  if (code == 0) code = finish();
  record_trace();
  record_end(code == 0 ? "complete" : (code == kExitInterrupted ? "interrupted" : "error"));
  if (code != 0 || !events_lost_) return code;
  return kExitCannotWrite;
}

int Trainer::train() {
  if (trace_) trace_->align(*comm_);
  while (step_ < settings_.steps) {
    if (const int code = train_step(step_ + 1); code != 0) return code;
    if (const int code = after_step(step_); code != 0) return code;
  }
  return 0;
}

int Trainer::train_step(std::int64_t step) {
  if (trace_) trace_->begin_step(step);
  const int code = make_step(step);
  if (trace_) trace_->end_step();
  return code;
}

int Trainer::make_step(std::int64_t step) {
  const auto start = std::chrono::steady_clock::now();
  comm_->take_wait_seconds();
  {
    const TracePhase phase(trace_.get(), "begin");
    faults_.strike(step, Place::kForward);
  }
  const std::int64_t accumulation = sampler_->accumulation();
  double loss = 0;
  Findings unread;
  for (std::int64_t micro = 0; micro < accumulation; ++micro) {
    std::optional<TracePhase> phase(std::in_place, trace_.get(), "forward");
    auto batch =
        read_batch(corpus_->train, settings_.seq_len, sampler_->windows(step - 1, micro), device_);
    if (!batch) {
      // The others wait for this rank in collectives: it goes on with nothing, and says so in the
      // exchange below.
      unread = batch.findings();
      const torch::Tensor zeros = torch::zeros({settings_.micro_batch, settings_.seq_len},
                                               torch::TensorOptions(torch::kInt64).device(device_));
      batch = Batch{zeros, zeros};
    }
    sharded_->begin_micro_batch(micro + 1 == accumulation);
    torch::Tensor part =
        llama_->loss(batch->ids, batch->targets, *sharded_) / static_cast<double>(accumulation);
    if (faults_.spoils_loss(step)) part = part * std::numeric_limits<double>::quiet_NaN();
    phase.emplace(trace_.get(), "backward");
    part.backward();
    loss += part.item<double>();
  }
  double norm = 0;
  {
    const TracePhase phase(trace_.get(), "reduce gradients");
    faults_.strike(step, Place::kBackward);
    sharded_->finish_backward();
    norm = sharded_->clip_gradients(0);  // measured; the optimizer scales on its way
  }

  const Told told = tell_each_other(loss, !unread.empty());
  loss = told.loss;
  if (told.events_lost) {
    return settle_alike({error_at({settings_.metrics.string()}, kWriteRule,
                                  "an event could not be written to the record of the run")},
                        "io");
  }
  if (told.unread) return settle(unread, "data");
  if (!std::isfinite(loss) || !std::isfinite(norm)) {
    const std::string message =
        fmt::format("step {}: the {} is not finite; the parameters are those of step {}", step,
                    std::isfinite(loss) ? "gradient's norm" : "loss", step - 1);
    events_.write({{"event", "error"},
                   {"kind", "nonfinite"},
                   {"message", message},
                   {"operation", "step"},
                   {"step", step}});
    say("error: " + message);
    return kExitFailed;
  }
  const double rate = schedule_.at(step);
  const double scale = settings_.clip > 0 && norm > settings_.clip ? settings_.clip / norm : 1.0;
  {
    const TracePhase phase(trace_.get(), "update");
    adamw_->step(sharded_->shards(), rate, scale);
    sharded_->parameters_changed(true);
    step_ = step;
    faults_.strike(step, Place::kUpdate);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  record_step(step, seconds, loss, rate, norm);
  return told.all_written ? finish_save() : 0;
}

Trainer::Told Trainer::tell_each_other(double loss, bool unread) {
  const TracePhase phase(trace_.get(), "exchange");
  const bool written = checkpointer_ && checkpointer_->pending() && checkpointer_->written();
  const torch::Tensor sums =
      sum(*comm_, torch::tensor({loss, stop_asked() ? 1.0 : 0.0, written ? 1.0 : 0.0,
                                 events_lost_ ? 1.0 : 0.0, unread ? 1.0 : 0.0},
                                torch::kFloat64));
  const auto of = [&](int what) { return sums[what].item<double>(); };
  stop_ = of(1) > 0;
  return {of(0) / comm_->size(), of(2) == comm_->size(), of(3) > 0, of(4) > 0};
}

int Trainer::after_step(std::int64_t step) {
  const bool last = step == settings_.steps;
  if (settings_.eval_batches > 0 && !stop_ &&
      (last || (settings_.eval_every > 0 && step % settings_.eval_every == 0))) {
    if (const int code = evaluate_now(step); code != 0) return code;
  }
  const std::int64_t every = settings_.checkpoint_every;
  if (checkpointer_ && (last || stop_ || (every > 0 && step % every == 0))) {
    if (const int code = save(step); code != 0) return code;
  }
  if (!stop_ || last) return 0;
  if (checkpointer_) {
    if (const int code = finish_save(); code != 0) return code;
  }
  say(checkpointer_ ? fmt::format("asked to stop: the state of step {} is saved", step)
                    : fmt::format("asked to stop after step {}", step));
  return kExitInterrupted;
}

int Trainer::evaluate_now(std::int64_t step) {
  if (evaluated_step_ == step) return 0;
  auto evaluation = evaluate(*comm_, *llama_, *sharded_, corpus_->validation,
                             {settings_.seq_len, settings_.micro_batch,
                              settings_.eval_batches * settings_.global_batch, device_});
  if (const int code = settle(evaluation.findings(), "data"); code != 0) return code;
  evaluated_step_ = step;
  if (evaluation->tokens == 0) {
    say("the validation text is too short for one sequence: no evaluation");
    return 0;
  }
  if (comm_->rank() == 0)
    events_.write({{"event", "eval"},
                   {"step", step},
                   {"loss", evaluation->loss},
                   {"tokens", evaluation->tokens}});
  say(fmt::format("step {}: evaluation loss {:.4f} over {} tokens", step, evaluation->loss,
                  evaluation->tokens));
  return 0;
}

int Trainer::save(std::int64_t step) {
  if (saved_step_ == step) return 0;
  if (const int code = finish_save(); code != 0) return code;
  if (saved_step_ == step) return 0;  // it was under way
  const auto started = checkpointer_->start(step, sharded_->parameter_hash());
  const int code = settle(started.findings(), "io");
  if (code != 0) say_what_is_left();
  return code;
}

int Trainer::finish_save() {
  if (!checkpointer_->pending()) return 0;
  auto saved = checkpointer_->finish();
  if (const int code = settle(saved.findings(), "io"); code != 0) {
    say_what_is_left();
    return code;
  }
  saved_step_ = saved->step;
  if (comm_->rank() == 0) {
    events_.write({{"event", "checkpoint"},
                   {"step", saved->step},
                   {"path", saved->path},
                   {"hash", saved->hash},
                   {"bytes", saved->bytes},
                   {"seconds", saved->seconds}});
  }
  return 0;
}

void Trainer::say_what_is_left() const {
  if (comm_->rank() != 0) return;
  for (const std::int64_t step : checkpointer_->store().steps()) {
    auto previous = Checkpoint::open(checkpointer_->store().path(step));
    if (previous && previous->verify()) {
      return say(fmt::format("the previous checkpoint is intact: {}", previous->path().string()));
    }
  }
  say("there is no earlier checkpoint to go on from");
}

int Trainer::finish() {
  if (!checkpointer_) return 0;
  if (const int code = save(step_); code != 0) return code;
  if (const int code = finish_save(); code != 0) return code;
  if (settings_.verify_checkpoint) {
    if (const int code = verify_last_checkpoint(); code != 0) return code;
  }
  return export_last_checkpoint();
}

int Trainer::verify_last_checkpoint() {
  const std::string path = checkpointer_->store().path(saved_step_).string();
  auto chosen = choose_checkpoint(*comm_, checkpointer_->store(), path);
  if (const int code = settle(chosen.findings(), "io"); code != 0) return code;
  // Nothing of what is in memory may answer for what is on disk.
  for (parallel::Shard& shard : sharded_->shards()) shard.parameters.zero_();
  const auto loaded = checkpointer_->load(*chosen->checkpoint);
  if (const int code = settle(loaded.findings(), "io"); code != 0) return code;
  sharded_->parameters_changed();
  const std::string hash = sharded_->parameter_hash();
  const std::string& saved_hash = chosen->checkpoint->manifest().parameter_hash;
  if (comm_->rank() == 0)
    events_.write({{"event", "reload"},
                   {"step", saved_step_},
                   {"path", path},
                   {"hash", hash},
                   {"saved_hash", saved_hash}});
  if (hash == saved_hash) return 0;
  return settle_alike(
      {error_at({path}, "checkpoint-damaged",
                fmt::format("read back, its parameters have hash {} where {} was saved", hash,
                            saved_hash))},
      "io");
}

int Trainer::export_last_checkpoint() {
  Result<void> exported;
  const std::filesystem::path folder = settings_.out / "model";
  work_together(*comm_, [&] {
    if (comm_->rank() != 0) return;
    auto checkpoint = Checkpoint::open(checkpointer_->store().path(saved_step_));
    exported = checkpoint ? export_model(*checkpoint, corpus_->tokenizer, folder)
                          : Result<void>(checkpoint.error());
  });
  if (const int code = settle(exported.findings(), "io"); code != 0) return code;
  say(fmt::format("model: {}", folder.string()));
  return 0;
}

}  // namespace muster::train
