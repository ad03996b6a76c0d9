// A training run, on one rank of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/comm/communicator.h"
#include "engine/model/llama.h"
#include "engine/parallel/sharded.h"
#include "engine/train/adamw.h"
#include "engine/train/checkpointer.h"
#include "engine/train/run_setup.h"
#include "engine/train/sampler.h"
#include "engine/train/schedule.h"
#include "engine/train/step_trace.h"
#include "runs/events.h"

namespace muster::train {

/// Runs the settings to their end. All ranks call it alike; what goes wrong on one ends all with
/// the same exit code: 2 input, 3 training failed, 75 output, 130 asked to stop. A collective that
/// fails throws (comm::Timeout, comm::Error).
class Trainer {
 public:
  /// `trace`: null when none is asked for; the communicator's observer.
  Trainer(Settings settings, std::shared_ptr<comm::Communicator> comm, runs::EventWriter& events,
          std::shared_ptr<StepTrace> trace = nullptr);
  ~Trainer();

  /// The exit code, after the `end` event.
  int run();

 private:
  // Each step of the way: 0, or the exit code that all ranks agreed on.
  int set_up();
  int open_output();
  int load_data();
  int resume();
  int measure_peak();
  int train();
  int train_step(std::int64_t step);
  int make_step(std::int64_t step);
  int after_step(std::int64_t step);
  int evaluate_now(std::int64_t step);
  int save(std::int64_t step);
  int finish_save();
  void say_what_is_left() const;  // after a checkpoint that could not be written
  int finish();
  int verify_last_checkpoint();
  int export_last_checkpoint();

  // What the ranks tell each other after a step's backward pass, in one exchange.
  struct Told {
    double loss = 0;           // mean of all ranks
    bool all_written = false;  // every rank has written its part of the pending checkpoint
    bool events_lost = false;  // some rank could not write its record
    bool unread = false;       // some rank could not read its tokens
  };
  Told tell_each_other(double loss, bool unread);

  void build_model();
  void record_start();
  void record_step(std::int64_t step, double seconds, double loss, double rate, double norm);
  void record_end(const std::string& reason);
  void record_trace();

  // Makes one rank's errors everybody's: reports them, and returns the worst exit code of all
  // ranks.
  int settle(const Findings& mine, const char* kind);
  // The same for errors that every rank has found alike: rank 0 reports them.
  int settle_alike(const Findings& findings, const char* kind);
  void report(const Findings& findings, const char* kind);
  void say(const std::string& text) const;  // rank 0, standard error

  Settings settings_;
  std::shared_ptr<comm::Communicator> comm_;
  runs::EventWriter& events_;
  std::shared_ptr<StepTrace> trace_;
  Faults faults_;
  torch::Device device_;
  Schedule schedule_;
  model::LlamaConfig config_;
  std::filesystem::path initial_weights_;
  std::optional<DirectoryLock> lock_;
  std::optional<Corpus> corpus_;
  std::optional<Sampler> sampler_;
  std::shared_ptr<model::Llama> llama_;
  std::unique_ptr<parallel::Sharded> sharded_;
  std::unique_ptr<Adamw> adamw_;
  std::unique_ptr<Checkpointer> checkpointer_;

  std::int64_t step_ = 0;         // steps made
  std::int64_t saved_step_ = -1;  // of the newest checkpoint
  std::int64_t evaluated_step_ = -1;
  bool stop_ = false;         // some rank was asked to stop
  bool events_lost_ = false;  // an event could not be written
  double peak_ = 0;           // FLOP/s, 0 when not measured
  double peak_seconds_ = 0;   // that measuring it took
  double first_step_at_ = 0;  // seconds since the process's start
  double last_said_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace muster::train
