#include "runs/run_record.h"

#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "runs/machine.h"

namespace muster::runs {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<RunState, const char*>, 8> kStates{
    {{RunState::kSubmitted, "submitted"},
     {RunState::kRunning, "running"},
     {RunState::kPassed, "passed"},
     {RunState::kFailed, "failed"},
     {RunState::kUnknown, "unknown"},
     {RunState::kCancelled, "cancelled"},
     {RunState::kInterrupted, "interrupted"},
     {RunState::kTimedOut, "timed out"}}};

double to_seconds(TimePoint when) {
  return std::chrono::duration<double>(when.time_since_epoch()).count();
}

/// RFC 3339 for people, seconds since the epoch for programs.
void put_time(json& into, const std::string& name, const std::optional<TimePoint>& when) {
  if (when) {
    into[name] = to_rfc3339(*when);
    into[name + "_seconds"] = std::round(to_seconds(*when) * 1000.0) / 1000.0;
  }
}

std::optional<TimePoint> get_time(const json& from, const std::string& name) {
  const auto found = from.find(name + "_seconds");
  if (found == from.end() || !found->is_number()) {
    return std::nullopt;
  }
  return TimePoint(std::chrono::milliseconds(std::llround(found->get<double>() * 1000.0)));
}

template <typename T>
void get_to(const json& from, const char* name, T& into) {
  if (const auto found = from.find(name); found != from.end()) {
    found->get_to(into);
  }
}

std::optional<Outcome> parse_outcome(std::string_view text) {
  for (const Outcome outcome : {Outcome::kPass, Outcome::kUnknown, Outcome::kFail}) {
    if (text == to_string(outcome)) {
      return outcome;
    }
  }
  return std::nullopt;
}

/// Field 22 of /proc/PID/stat, counted after the parenthesised name, which may hold anything. 0: no
/// such process, or one that has ended and only waits to be reaped.
std::uint64_t start_ticks_of(int pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return 0;
  }
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") {
    return 0;
  }
  std::string skipped;
  for (int field = 4; field < 22; ++field) {
    fields >> skipped;
  }
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

}  // namespace

const char* to_string(RunState state) {
  for (const auto& [value, name] : kStates) {
    if (value == state) {
      return name;
    }
  }
  return "unknown";
}

std::optional<RunState> parse_run_state(std::string_view text) {
  for (const auto& [value, name] : kStates) {
    if (text == name) {
      return value;
    }
  }
  return std::nullopt;
}

bool is_final(RunState state) {
  return state != RunState::kSubmitted && state != RunState::kRunning;
}

RunState state_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return RunState::kPassed;
    case Outcome::kFail:
      return RunState::kFailed;
    case Outcome::kUnknown:
      break;
  }
  return RunState::kUnknown;
}

LauncherIds ids_of_process(int pid) {
  LauncherIds ids;
  ids.pid = pid;
  ids.pgid = ::getpgid(pid);
  ids.start_ticks = start_ticks_of(pid);
  ids.host = host_name();
  return ids;
}

bool process_alive(const LauncherIds& ids) {
  return ids.pid > 0 && ids.start_ticks != 0 && ids.host == host_name() &&
         start_ticks_of(ids.pid) == ids.start_ticks;
}

std::map<std::string, std::string> job_names(const LauncherIds& ids) {
  if (ids.slurm_job_id.empty()) return ids.job;
  return {{"job", ids.slurm_job_id}};
}

json to_json(const RunRecord& record) {
  json out{{"schema_version", 1},
           {"id", record.id},
           {"case", record.case_name},
           {"target", record.target},
           {"profile", record.profile},
           {"directory", record.directory.string()},
           {"nodes", record.nodes},
           {"world", record.world},
           {"state", to_string(record.state)},
           {"note", record.note},
           {"command", record.command}};
  put_time(out, "created", record.created);
  put_time(out, "started", record.started);
  put_time(out, "ended", record.ended);
  if (record.exit_code) {
    out["exit_code"] = *record.exit_code;
  }
  if (record.outcome) {
    out["outcome"] = to_string(*record.outcome);
  }
  json launcher = json::object();
  const LauncherIds& ids = record.launcher;
  if (ids.pid > 0) {
    launcher["pid"] = ids.pid;
    launcher["pgid"] = ids.pgid;
    launcher["start_ticks"] = ids.start_ticks;
  }
  for (const auto& [name, value] : {std::pair{"host", &ids.host},
                                    {"slurm_job_id", &ids.slurm_job_id},
                                    {"slurm_cluster", &ids.slurm_cluster}}) {
    if (!value->empty()) {
      launcher[name] = *value;
    }
  }
  if (!ids.job.empty()) launcher["job"] = ids.job;
  out["launcher"] = std::move(launcher);
  return out;
}

Result<RunRecord> parse_run_record(const std::string& text, const std::string& file) {
  const Position where{file, 1, 1};
  const json in = json::parse(text, nullptr, false);
  if (!in.is_object()) {
    return Failure(error_at(where, "run-record", "this is not the record of a run",
                            "a JSON object, as muster writes it"));
  }
  if (const auto version = in.find("schema_version"); version == in.end() || *version != 1) {
    return Failure(error_at(where, "run-record-version",
                            "this record has another schema_version than 1",
                            "a record written by this version of muster"));
  }
  RunRecord record;
  try {
    in.at("id").get_to(record.id);
    in.at("case").get_to(record.case_name);
    get_to(in, "target", record.target);
    get_to(in, "profile", record.profile);
    std::string directory;
    get_to(in, "directory", directory);
    record.directory = directory;
    get_to(in, "nodes", record.nodes);
    get_to(in, "world", record.world);
    get_to(in, "note", record.note);
    get_to(in, "command", record.command);
    const auto state = parse_run_state(in.at("state").get<std::string>());
    if (!state) {
      return Failure(error_at(where, "run-record",
                              fmt::format("unknown state \"{}\"", in["state"].get<std::string>())));
    }
    record.state = *state;
    record.created = get_time(in, "created").value_or(TimePoint{});
    record.started = get_time(in, "started");
    record.ended = get_time(in, "ended");
    if (const auto code = in.find("exit_code"); code != in.end()) {
      record.exit_code = code->get<int>();
    }
    if (const auto outcome = in.find("outcome"); outcome != in.end()) {
      record.outcome = parse_outcome(outcome->get<std::string>());
    }
    const json launcher = in.value("launcher", json::object());
    get_to(launcher, "pid", record.launcher.pid);
    get_to(launcher, "pgid", record.launcher.pgid);
    get_to(launcher, "start_ticks", record.launcher.start_ticks);
    get_to(launcher, "host", record.launcher.host);
    get_to(launcher, "slurm_job_id", record.launcher.slurm_job_id);
    get_to(launcher, "slurm_cluster", record.launcher.slurm_cluster);
    get_to(launcher, "job", record.launcher.job);
  } catch (const json::exception& error) {
    return Failure(
        error_at(where, "run-record",
                 fmt::format("a field is missing or of another type: {}", error.what())));
  }
  return record;
}

}  // namespace muster::runs
