// What a Trainer writes down and says.
#include <fmt/format.h>
#include <mpi.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/verdict.h"
#include "engine/train/agreement.h"
#include "engine/train/process_info.h"
#include "engine/train/trainer.h"

namespace muster::train {

using nlohmann::json;

namespace {

double wall_seconds() {
  return std::chrono::duration<double>(real_clock().now().time_since_epoch()).count();
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<std::size_t>(std::max(length, 0)));
  return version.substr(0, version.find_first_of(",\n"));
}

}  // namespace

void Trainer::record_start() {
  const comm::Member& me = comm_->members()[static_cast<std::size_t>(comm_->rank())];
  json versions = {
      {"muster", MUSTER_VERSION}, {"libtorch", TORCH_VERSION}, {"compiler", __VERSION__}};
  if (comm_->transport() == "mpi") versions["mpi"] = mpi_version();
  const bool written =
      events_.write({{"event", "start"},
                     {"schema_version", 1},
                     {"rank", comm_->rank()},
                     {"world", comm_->size()},
                     {"local_rank", local_rank()},
                     {"host", me.host},
                     {"pid", ::getpid()},
                     {"transport", comm_->transport()},
                     {"device", settings_.device},
                     {"threads", settings_.threads},
                     {"precision", settings_.precision},
                     {"strategy", settings_.strategy},
                     {"model", settings_.model},
                     {"parameters", config_.parameter_count()},
                     {"tokens_per_step", settings_.global_batch * settings_.seq_len},
                     {"flops_per_token", config_.flops_per_token(settings_.seq_len)},
                     {"versions", std::move(versions)},
                     {"time", wall_seconds()}});
  if (!written) events_lost_ = true;
}

void Trainer::record_step(std::int64_t step, double seconds, double loss, double rate,
                          double norm) {
  const double since_start = seconds_since_start();
  if (first_step_at_ == 0) first_step_at_ = since_start - peak_seconds_;
  const std::int64_t tokens = settings_.global_batch * settings_.seq_len;
  const double tokens_per_second = static_cast<double>(tokens) / seconds;
  const double flops =
      config_.flops_per_token(settings_.seq_len) * tokens_per_second / comm_->size();
  json event = {{"event", "step"},
                {"step", step},
                {"loss", loss},
                {"lr", rate},
                {"grad_norm", norm},
                {"tokens", tokens},
                {"seconds", seconds},
                {"wait_seconds", comm_->take_wait_seconds()},
                {"tokens_per_second", tokens_per_second},
                {"flops_per_second", flops},
                {"mfu", nullptr},
                {"time", wall_seconds()}};
  if (peak_ > 0) event["mfu"] = flops / peak_;
  if (!events_.write(std::move(event))) events_lost_ = true;
  if (step == 1 || step == settings_.steps || since_start - last_said_ >= 1.0) {
    say(fmt::format("step {}/{}: loss {:.4f}, lr {:.3g}, gradient {:.3g}, {:.0f} tokens/s", step,
                    settings_.steps, loss, rate, norm, tokens_per_second));
    last_said_ = since_start;
  }
}

void Trainer::record_end(const std::string& reason) {
  json event = {
      {"event", "end"},
      {"step", step_},
      {"reason", reason},
      {"parameter_hash", sharded_ ? json(sharded_->parameter_hash()) : json(nullptr)},
      {"peak_memory", peak_memory()},
      {"seconds", seconds_since_start()},
      {"start_to_first_step_seconds", first_step_at_ > 0 ? json(first_step_at_) : json(nullptr)}};
  if (!events_.write(std::move(event))) events_lost_ = true;
}

void Trainer::record_trace() {
  if (!trace_) return;
  trace_->finish();
  json event = {{"event", "trace"}, {"steps", trace_->steps_written()}};
  if (trace_->steps_written() > 0) event["file"] = trace_->file().filename().string();
  if (!trace_->problem().empty()) event["problem"] = trace_->problem();
  if (!events_.write(std::move(event))) events_lost_ = true;
  if (!trace_->problem().empty()) {
    std::fprintf(stderr, "warning: rank %d: no trace: %s\n", comm_->rank(),
                 trace_->problem().c_str());
  } else if (trace_->steps_written() == 0) {
    say(fmt::format("note: none of the steps {} was made: there is no trace",
                    settings_.trace_steps));
  }
}

void Trainer::report(const Findings& findings, const char* kind) {
  if (findings.empty()) return;
  std::string message = to_text(findings);
  events_.write({{"event", "error"}, {"kind", kind}, {"message", message}, {"operation", ""}});
  const comm::Member& me = comm_->members()[static_cast<std::size_t>(comm_->rank())];
  if (comm_->size() > 1) message += fmt::format(" (rank {} on {})", me.rank, me.host);
  std::fprintf(stderr, "%s\n", message.c_str());
}

int Trainer::settle(const Findings& mine, const char* kind) {
  report(mine, kind);
  return static_cast<int>(largest(*comm_, mine.empty() ? 0 : exit_code_for(mine)));
}

int Trainer::settle_alike(const Findings& findings, const char* kind) {
  if (comm_->rank() == 0) report(findings, kind);
  return static_cast<int>(largest(*comm_, findings.empty() ? 0 : exit_code_for(findings)));
}

void Trainer::say(const std::string& text) const {
  if (comm_->rank() == 0) std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace muster::train
