// What is known about one run: the row of the store, also kept as RUN/run.json so that the row can
// be remade.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/verdict.h"

#include <nlohmann/json_fwd.hpp>

namespace muster::runs {

enum class RunState {
  kSubmitted,  ///< made or queued, nothing has run yet
  kRunning,
  kPassed,       ///< judged: pass
  kFailed,       ///< judged: fail
  kUnknown,      ///< ended, could not be judged
  kCancelled,    ///< ended because somebody asked
  kInterrupted,  ///< ended by a signal to muster
  kTimedOut,     ///< ended at its own time limit
};

/// "submitted", "running", "passed", "failed", "unknown", "cancelled", "interrupted", "timed_out".
const char* to_string(RunState state);
std::optional<RunState> parse_run_state(std::string_view text);

/// True for every state but submitted and running.
bool is_final(RunState state);

/// The state that a verdict's outcome means.
RunState state_of(Outcome outcome);

/// How to find the job again. Zero and empty mean "not known".
struct LauncherIds {
  int pid = 0;   ///< of mpirun or the one process, on `host`
  int pgid = 0;  ///< its process group
  std::uint64_t start_ticks =
      0;  ///< its start (field 22 of /proc/PID/stat): tells a recycled pid apart
  std::string host;
  std::string slurm_job_id;
  std::string slurm_cluster;
  /// What another scheduler knows its job by, in that scheduler's own words: {"namespace": "ml"}.
  std::map<std::string, std::string> job;
};

/// The names of the job of a scheduler: `job`, or {"job": slurm_job_id}.
std::map<std::string, std::string> job_names(const LauncherIds& ids);

/// Ids of a process of this machine; fills in pgid, start_ticks and host.
LauncherIds ids_of_process(int pid);

/// True when that very process (same pid, same start) is alive on this machine.
bool process_alive(const LauncherIds& ids);

using TimePoint = std::chrono::system_clock::time_point;

struct RunRecord {
  std::string id;
  std::string case_name;            ///< as resolved, e.g. training/native/llama/tiny
  std::string target;               ///< local, slurm, …
  std::string profile;              ///< smoke, full, …; empty: none
  std::filesystem::path directory;  ///< absolute
  int nodes = 1;
  int world = 1;  ///< ranks asked for
  RunState state = RunState::kSubmitted;
  std::string
      note;  ///< one sentence on the state, e.g. "checkpoints could not be written: disk full"
  bool cancel_requested = false;
  LauncherIds launcher;
  std::vector<std::string> command;  ///< muster's own, redacted
  TimePoint created{};
  std::optional<TimePoint> started;
  std::optional<TimePoint> ended;
  std::optional<int> exit_code;    ///< of the launcher
  std::optional<Outcome> outcome;  ///< once judged
};

/// The record as RUN/run.json holds it; `schema_version` 1.
nlohmann::json to_json(const RunRecord& record);

/// Reads it back; errors are located in `file`.
Result<RunRecord> parse_run_record(const std::string& text, const std::string& file);

}  // namespace muster::runs
