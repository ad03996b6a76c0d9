#include "launch/slurm_parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace muster::launch {
namespace {

struct State {
  std::string_view name;
  std::string_view brief;
  SlurmPhase phase;
};

// squeue(1), JOB STATE CODES, of Slurm 17.11 to 25.11.
constexpr std::array<State, 26> kStates = {{
    {"PENDING", "PD", SlurmPhase::kQueued},       {"CONFIGURING", "CF", SlurmPhase::kQueued},
    {"REQUEUED", "RQ", SlurmPhase::kQueued},      {"REQUEUE_HOLD", "RH", SlurmPhase::kQueued},
    {"REQUEUE_FED", "RF", SlurmPhase::kQueued},   {"SPECIAL_EXIT", "SE", SlurmPhase::kQueued},
    {"RESV_DEL_HOLD", "RD", SlurmPhase::kQueued}, {"POWER_UP_NODE", "PO", SlurmPhase::kQueued},
    {"RUNNING", "R", SlurmPhase::kRunning},       {"COMPLETING", "CG", SlurmPhase::kRunning},
    {"RESIZING", "RS", SlurmPhase::kRunning},     {"SIGNALING", "SI", SlurmPhase::kRunning},
    {"STAGE_OUT", "SO", SlurmPhase::kRunning},    {"STOPPED", "ST", SlurmPhase::kRunning},
    {"SUSPENDED", "S", SlurmPhase::kRunning},     {"COMPLETED", "CD", SlurmPhase::kEnded},
    {"FAILED", "F", SlurmPhase::kEnded},          {"CANCELLED", "CA", SlurmPhase::kEnded},
    {"TIMEOUT", "TO", SlurmPhase::kEnded},        {"DEADLINE", "DL", SlurmPhase::kEnded},
    {"OUT_OF_MEMORY", "OOM", SlurmPhase::kEnded}, {"REVOKED", "RV", SlurmPhase::kEnded},
    {"LAUNCH_FAILED", "LF", SlurmPhase::kLost},   {"BOOT_FAIL", "BF", SlurmPhase::kLost},
    {"NODE_FAIL", "NF", SlurmPhase::kLost},       {"PREEMPTED", "PR", SlurmPhase::kLost},
}};

const State* find_state(std::string_view state) {
  const std::string_view word = state.substr(0, state.find_first_of(" +"));
  const auto* found = std::find_if(kStates.begin(), kStates.end(), [&](const State& known) {
    return word == known.name || word == known.brief;
  });
  return found == kStates.end() ? nullptr : found;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != at) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return parts;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).empty()) lines.push_back(trim(line));
  }
  return lines;
}

std::optional<int> to_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Slurm writes "nothing" in several ways.
std::string present(std::string_view text) {
  text = trim(text);
  for (const std::string_view none : {"None", "(null)", "N/A", "None assigned", "n/a"}) {
    if (text == none) return {};
  }
  return std::string(text);
}

/// What Slurm puts in the place of a signal when the memory ran out; the state says so in words.
constexpr int kOutOfMemoryMark = 125;

/// "3:0" is exit code 3; "0:9" is signal 9.
bool read_exit(std::string_view text, SlurmStatus& status) {
  const auto parts = split(trim(text), ':');
  if (parts.size() != 2) return false;
  status.exit_code = to_int(parts[0]);
  status.signal = to_int(parts[1]);
  if (status.signal == kOutOfMemoryMark) status.signal = 0;
  return status.exit_code && status.signal;
}

/// Another job of the queue, whatever its line looks like: "12", "12_3", "12_[0-7%2]", "12+0".
bool is_of_another_job(std::string_view first, const std::string& id) {
  first = trim(first);
  return !first.empty() && first[0] >= '0' && first[0] <= '9' && first != id &&
         first.find_first_not_of("0123456789_+[]-,%.") == std::string_view::npos;
}

Failure not_understood(const std::string& program, std::string_view line) {
  return failure("slurm-output",
                 fmt::format("{} printed something that is not understood: {}", program, line),
                 "report it with the output of " + program + " --version");
}

}  // namespace

Result<SlurmJob> parse_sbatch(std::string_view text) {
  for (std::string_view line : lines_of(text)) {
    constexpr std::string_view kWords = "Submitted batch job ";
    if (line.starts_with(kWords))
      line = line.substr(kWords.size(), line.find(' ', kWords.size()) - kWords.size());
    const auto parts = split(line, ';');
    if (parts.size() <= 2 && all_digits(parts[0])) {
      return SlurmJob{std::string(parts[0]),
                      parts.size() == 2 ? std::string(parts[1]) : std::string()};
    }
  }
  return not_understood("sbatch", trim(text).empty() ? "nothing" : trim(text));
}

SlurmPhase phase_of(std::string_view state) {
  const State* known = find_state(trim(state));
  return known ? known->phase : SlurmPhase::kUnknown;
}

Result<std::optional<SlurmStatus>> parse_squeue(std::string_view text, const std::string& id) {
  std::optional<SlurmStatus> status;
  for (const std::string_view line : lines_of(text)) {
    const auto parts = split(line, '|');
    if (parts.size() != 4) {
      // A federation prints a heading for each cluster.
      if (line.starts_with("CLUSTER:") || is_of_another_job(parts[0], id)) continue;
      return not_understood("squeue", line);
    }
    if (trim(parts[0]) != id) continue;
    status =
        SlurmStatus{std::string(trim(parts[1])), present(parts[2]), present(parts[3]), {}, {}, 0};
  }
  return status;
}

bool says_unknown_job(std::string_view standard_error) {
  return standard_error.find("Invalid job id specified") != std::string_view::npos;
}

Result<std::optional<SlurmStatus>> parse_sacct(std::string_view text, const std::string& id) {
  std::optional<SlurmStatus> status;
  int starts = 0;
  for (const std::string_view line : lines_of(text)) {
    const auto parts = split(line, '|');
    if (is_of_another_job(parts[0], id)) continue;
    if (parts.size() != 4) return not_understood("sacct", line);
    if (trim(parts[0]) != id) continue;
    status = SlurmStatus{std::string(trim(parts[1])), {}, present(parts[3]), {}, {}, starts++};
    if (!read_exit(parts[2], *status)) return not_understood("sacct", line);
  }
  return status;
}

Result<SlurmStatus> parse_scontrol(std::string_view text) {
  SlurmStatus status;
  for (const std::string_view word : split(trim(text), ' ')) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    // What the user wrote (Comment=, Command=) comes behind and may look like anything.
    if (key == "JobState" && status.state.empty()) status.state = value;
    if (key == "Reason") status.reason = present(value);
    if (key == "NodeList") status.nodes = present(value);
    if (key == "Restarts") status.restarts = to_int(value).value_or(0);
    if (key == "ExitCode" && !read_exit(value, status)) return not_understood("scontrol", word);
  }
  if (status.state.empty()) return not_understood("scontrol", trim(text).substr(0, 200));
  return status;
}

runs::LauncherResult conclude(const SlurmStatus& status) {
  using End = runs::LauncherResult::End;
  runs::LauncherResult result;
  result.exit_code = status.exit_code;
  if (status.signal.value_or(0) != 0) result.exit_code = 128 + *status.signal;
  result.detail = "Slurm: " + describe(status);
  const State* known = find_state(status.state);
  if (!known || (known->phase != SlurmPhase::kEnded && known->phase != SlurmPhase::kLost)) {
    result.end = End::kUnknown;
  } else if (known->name == "CANCELLED") {
    result.end = End::kCancelled;
  } else if (known->name == "TIMEOUT" || known->name == "DEADLINE") {
    result.end = End::kTimedOut;
  } else {
    result.end = End::kExited;
    // Only COMPLETED is success: a node failure may leave an exit code of 0 behind.
    if (known->name != "COMPLETED" && result.exit_code.value_or(0) == 0) result.exit_code = 1;
  }
  return result;
}

std::string describe(const SlurmStatus& status) {
  std::string text = status.state;
  if (!status.nodes.empty()) text += " on " + status.nodes;
  if (!status.reason.empty()) text += " (" + status.reason + ")";
  if (status.signal.value_or(0) != 0) {
    text += fmt::format(", signal {}", *status.signal);
  } else if (status.exit_code.value_or(0) != 0) {
    text += fmt::format(", exit code {}", *status.exit_code);
  }
  if (status.restarts == 1) text += ", restarted once";
  if (status.restarts > 1) text += fmt::format(", restarted {} times", status.restarts);
  if (status.phase() == SlurmPhase::kUnknown) text += ", a state that is not known here";
  return text;
}

}  // namespace muster::launch
