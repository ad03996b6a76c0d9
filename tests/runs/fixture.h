// A run that passes muster, as data: tests spoil one thing and look at the verdict.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runs/events.h"
#include "runs/judge.h"

namespace muster::runs::testing {

using nlohmann::json;

struct RunShape {
  int world = 2;
  int steps = 40;
  std::string transport = "mpi";
};

/// Events of one rank: start, peak, data, steps 1…n with a falling loss and a fixed wobble, one
/// evaluation, a checkpoint that reloads, the end.
inline std::vector<json> good_events(const RunShape& shape, int rank) {
  const std::string hash = "5f1e0c9a7b3d2e4f5a6b7c8d9e0f1a2b";
  std::vector<json> events;
  events.push_back({{"event", "start"},
                    {"schema_version", 1},
                    {"rank", rank},
                    {"world", shape.world},
                    {"local_rank", rank},
                    {"host", "node-" + std::string(1, static_cast<char>('a' + rank % 26))},
                    {"pid", 1000 + rank},
                    {"transport", shape.transport},
                    {"device", "cpu"},
                    {"threads", 1},
                    {"precision", "bf16"},
                    {"strategy", "full_shard"},
                    {"parameters", 1000000},
                    {"tokens_per_step", 1024},
                    {"flops_per_token", 6.5e6},
                    {"versions",
                     {{"muster", "0.1.0"},
                      {"libtorch", "1.13.0"},
                      {"mpi", "Open MPI 4.1.4"},
                      {"compiler", "GCC 12.2"}}},
                    {"time", 1.0}});
  events.push_back({{"event", "peak"}, {"dtype", "bf16"}, {"flops_per_second", 4.0e11}});
  events.push_back({{"event", "data"},
                    {"tokens", 900000},
                    {"vocabulary", 512},
                    {"shards", 1},
                    {"tokenizer", "bpe:512"},
                    {"hash", "d"}});
  for (int step = 1; step <= shape.steps; ++step) {
    const double wobble = 0.05 * std::sin(step * 2.3);
    const double seconds = 0.5 + 0.01 * std::cos(step * 1.7 + rank);
    events.push_back({{"event", "step"},
                      {"step", step},
                      {"loss", 6.0 - 2.0 * step / shape.steps + wobble},
                      {"lr", 1e-3},
                      {"grad_norm", 1.0 + wobble},
                      {"tokens", 1024},
                      {"seconds", seconds},
                      {"wait_seconds", 0.05},
                      {"tokens_per_second", 1024 / seconds},
                      {"flops_per_second", 1.3e11},
                      {"mfu", 0.325},
                      {"time", 2.0 + step}});
  }
  events.push_back({{"event", "eval"}, {"step", shape.steps}, {"loss", 4.1}, {"tokens", 4096}});
  events.push_back({{"event", "checkpoint"},
                    {"step", shape.steps},
                    {"path", "out/checkpoints/x"},
                    {"hash", hash},
                    {"bytes", 12000000},
                    {"seconds", 0.2}});
  events.push_back({{"event", "reload"},
                    {"step", shape.steps},
                    {"path", "out/checkpoints/x"},
                    {"hash", hash},
                    {"saved_hash", hash}});
  events.push_back({{"event", "end"},
                    {"step", shape.steps},
                    {"reason", "complete"},
                    {"parameter_hash", hash},
                    {"peak_memory", 900000000},
                    {"seconds", 22.0},
                    {"start_to_first_step_seconds", 1.5}});
  return events;
}

inline std::vector<RankEvents> good_run(const RunShape& shape = {}) {
  std::vector<RankEvents> ranks;
  for (int rank = 0; rank < shape.world; ++rank) {
    ranks.push_back({rank, metrics_file("run", rank), good_events(shape, rank), {}});
  }
  return ranks;
}

/// As a file: numbered lines.
inline std::string as_text(const std::vector<json>& events) {
  std::string text;
  for (std::size_t i = 0; i < events.size(); ++i) {
    json event = events[i];
    event["seq"] = i;
    text += event.dump() + "\n";
  }
  return text;
}

inline RankEvents from_text(int rank, const std::string& text) {
  EventLines lines = read_event_lines(text, metrics_file("run", rank));
  return {rank, metrics_file("run", rank), std::move(lines.events), std::move(lines.findings)};
}

/// Everything asked.
inline Expectations ask_all(int world = 2, long long steps = 40) {
  Expectations asked;
  asked.world = world;
  asked.steps = steps;
  asked.eval_loss_max = 4.5;
  asked.eval_loss_min = 3.0;
  asked.checkpoint_reloads = true;
  asked.transport = "mpi";
  asked.tokens_per_second_min = 1000;
  asked.mfu_min = 0.1;
  return asked;
}

inline LauncherResult exited(int code = 0) {
  return {LauncherResult::End::kExited, code, ""};
}

inline const Check& check(const Verdict& verdict, const std::string& name) {
  for (const Check& one : verdict.checks()) {
    if (one.name == name) {
      return one;
    }
  }
  static const Check kNone{"(none)", Outcome::kUnknown, "the verdict has no such check"};
  return kNone;
}

/// The first event of a kind of a rank, to spoil.
inline json& event(RankEvents& rank, const std::string& kind, int nth = 0) {
  for (json& one : rank.events) {
    if (one["event"] == kind && nth-- == 0) {
      return one;
    }
  }
  throw std::out_of_range("no event " + kind);
}

}  // namespace muster::runs::testing
