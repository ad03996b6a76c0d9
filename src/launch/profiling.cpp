#include "launch/profiling.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/key_use.h"
#include "launch/process_wrapper.h"
#include "launch/shell.h"
#include "runs/profile.h"

namespace muster::launch {
namespace {

/// "0,8" or "0-3". Nothing: it is no list.
std::optional<std::set<int>> ranks_listed(const std::string& text) {
  constexpr std::size_t kMost = 4096;
  std::set<int> ranks;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int first = 0, last = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc() || first < 0) return std::nullopt;
    last = first;
    if (read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      if (read.ec != std::errc() || last < first) return std::nullopt;
    }
    if (static_cast<std::size_t>(last - first) + ranks.size() >= kMost) return std::nullopt;
    for (int rank = first; rank <= last; ++rank) ranks.insert(rank);
    if (read.ptr == end) return ranks;
    if (*read.ptr != ',') return std::nullopt;
    at = read.ptr + 1;
  }
}

bool is_step_range(const std::string& text) {
  long first = 0, last = 0;
  const char* end = text.data() + text.size();
  const auto head = std::from_chars(text.data(), end, first);
  if (head.ec != std::errc() || head.ptr == end || *head.ptr != ':') return false;
  const auto tail = std::from_chars(head.ptr + 1, end, last);
  return tail.ec == std::errc() && tail.ptr == end && first >= 1 && last >= first;
}

/// Which ranks go on without nsys.
std::string filter_of(const std::string& ranks) {
  if (ranks == "all") return {};
  if (ranks == "first-per-node") return "[ \"$local\" = 0 ] || exec \"$@\" \"${last[@]}\"\n";
  const auto listed = ranks_listed(ranks).value_or(std::set<int>{});
  return fmt::format("case ' {} ' in *\" $rank \"*) ;; *) exec \"$@\" \"${{last[@]}}\" ;; esac\n",
                     fmt::join(listed, " "));
}

/// The plugin for EFA's counters, in the spelling of the nsys that is there.
std::string efa_choice(const facts::Nsight& known) {
  std::string text =
      "if [ \"$local\" = 0 ]; then\n"
      "  version=$(\"$nsys\" --version 2>/dev/null | grep -oE '[0-9]{4}\\.[0-9]+' | head -n 1)\n"
      "  older() { [ \"$(printf '%s\\n' \"$1\" \"$version\" | sort -V | head -n 1)\" != \"$1\" ]; "
      "}\n";
  std::string last;
  for (const facts::EfaPlugin& row : known.efa) {
    text += fmt::format("  {} ! older {}; then efa=({})\n", last.empty() ? "if" : "elif",
                        shell_quote(row.since), shell_quote("--enable=" + row.plugin));
    last = row.plugin;
  }
  return text + "  fi\nfi\n";
}

constexpr const char* kRun = R"sh(state=$(mktemp -d) || exit 73
inner='state=$1; shift
(echo "$BASHPID" >"$state/new"; mv "$state/new" "$state/pid"; exec "$@")
code=$?
echo "$code" >"$state/part" && mv "$state/part" "$state/code"
exit "$code"'
(trap - TERM INT; exec "$nsys" "${options[@]}" "${efa[@]}" bash -c "$inner" muster-program "$state" "$@" "${last[@]}") &
child=$! stopped=
# To the program itself: not every nsys hands signals on.
forward() { stopped=1; kill -s "$1" "$(cat "$state/pid" 2>/dev/null || echo "$child")" 2>/dev/null; }
for signal in TERM INT USR1 USR2; do trap "forward $signal" "$signal"; done
ended=0
wait "$child" || ended=$?
while kill -0 "$child" 2>/dev/null; do ended=0; wait "$child" || ended=$?; done
# The capture may be over, and nsys gone, before the program has begun or long before it ends.
for _ in 1 2 3 4 5; do
  if [ "$ended" != 0 ] || [ -e "$state/pid" ]; then break; fi
  sleep 1
done
running() { [ ! -e "$state/code" ] && [ -e "$state/pid" ] && kill -0 "$(cat "$state/pid")" 2>/dev/null; }
while running; do sleep 1; done
for _ in 1 2 3 4 5; do
  if [ -e "$state/code" ] || [ ! -e "$state/pid" ]; then break; fi
  sleep 1
done
if [ -e "$state/code" ]; then
  code=$(cat "$state/code")
  if [ "$ended" != 0 ] && [ "$ended" != "$code" ]; then
    echo "muster: nsys ended with $ended on rank $rank, the program with $code" >&2
  fi
else
  code=$ended
  if [ "$code" = 0 ]; then code=1; fi
  echo "muster: nsys ended with $ended on rank $rank before the program did" >&2
fi
rm -rf "$state"
report=$out/$name.nsys-rep
if [ ! -e "$report" ]; then
  echo "muster: rank $rank left no report: nothing was captured" >&2
elif [ -z "$stopped" ]; then
  if timeout 300 "$nsys" stats "${statistics[@]}" --format csv --force-export=true "$report" >"$out/$name.part"; then
    mv "$out/$name.part" "$out/$name.stats.csv"
  else
    echo "muster: nsys stats could not read the report of rank $rank" >&2
    rm -f "$out/$name.part"
  fi
fi
exit "$code"
)sh";

}  // namespace

Result<Profiling::Tool> parse_profiling_tool(const std::string& name) {
  if (name.empty()) return Profiling::Tool::kNone;
  if (name == "nsys") return Profiling::Tool::kNsys;
  if (name == "native") return Profiling::Tool::kNative;
  return failure("profile-with", fmt::format("\"{}\" is no profiler that is known", name),
                 "nsys, or native for muster-train's own traces");
}

Findings check_profiling(const Profiling& asked, const catalog::ResolvedCase& resolved,
                         Target target) {
  Findings findings;
  const auto wrong = [&](const char* rule, std::string message, std::string hint) {
    findings.push_back(
        error_at(position_of(resolved, "launcher"), rule, std::move(message), std::move(hint)));
  };
  if (asked.tool == Profiling::Tool::kNone) return findings;
  const std::string& launcher = resolved.values.launcher;
  const bool native = launcher == "native";
  if (!asked.steps.empty() && !is_step_range(asked.steps))
    wrong("profile-steps", fmt::format("\"{}\" is no range of steps", asked.steps),
          "FIRST:LAST, counted from 1, e.g. 70:75");
  if (asked.tool == Profiling::Tool::kNative) {
    if (!native)
      wrong("profile-with", fmt::format("a case of {} has no traces of muster-train", launcher),
            "--profile-with nsys");
    return findings;
  }
  if (asked.ranks != "all" && asked.ranks != "first-per-node") {
    const auto listed = ranks_listed(asked.ranks);
    if (!listed) {
      wrong("profile-ranks", fmt::format("\"{}\" names no ranks", asked.ranks),
            "all, first-per-node, or a list: 0,8 or 0-3");
    } else if (*listed->rbegin() >= resolved.values.topology.world()) {
      wrong("profile-ranks",
            fmt::format("there is no rank {}: the case has {}", *listed->rbegin(),
                        resolved.values.topology.world()),
            "ranks count from 0");
    }
  }
  if (asked.efa != "auto" && asked.efa != "on" && asked.efa != "off")
    wrong("profile-efa", fmt::format("\"{}\" is neither auto, on nor off", asked.efa), "auto");
  if (asked.nsys.find('/') != std::string::npos && !asked.nsys.starts_with("/"))
    wrong("profile-nsys", fmt::format("{} is another place in every directory", asked.nsys),
          "the absolute path of nsys on the nodes");
  for (const std::string& option : asked.options) {
    const std::string name = option.substr(0, option.find('='));
    if (!option.starts_with("-"))
      wrong("profile-option", fmt::format("\"{}\" is no option of nsys profile", option),
            "--NAME=VALUE, e.g. --pytorch=autograd-nvtx");
    if (name == "--output" || name == "-o" || name == "--kill" || name == "--wait")
      wrong("profile-option",
            fmt::format("{} would undo how a run keeps its program and its reports", name),
            "leave it out");
  }
  if (launcher == "ray-job" || launcher == "server")
    wrong("profile-launcher",
          fmt::format("{} starts the processes itself: nsys would see none of them",
                      launcher == "server" ? "a server" : "Ray"),
          "the tool's own profiling");
  if (native && !asked.steps.empty())
    wrong("profile-steps", "muster-train does not call cudaProfilerStart at a step",
          "--profile-delay and --profile-duration, or --profile-with native");
  if (!asked.steps.empty() && asked.delay)
    wrong("profile-steps", "a range of steps begins at a step, not after a time",
          "leave --profile-delay out");
  const bool own_files = target != Target::kLocal && target != Target::kSlurm;
  if (own_files && resolved.values.storage.mounts.empty())
    wrong("profile-folder", "its reports would be gone with the container",
          "storage.mounts, a file system that outlives it");
  if (target == Target::kBatch && !nsys_folder(asked).empty())
    wrong("profile-nsys", "a job of Batch sees nothing of its host", "an image that has nsys");
  return findings;
}

std::string nsys_folder(const Profiling& asked) {
  if (asked.tool != Profiling::Tool::kNsys || !asked.nsys.starts_with("/")) return {};
  // bin/nsys and target-linux-x64/nsys both need what lies beside their folder.
  return std::filesystem::path(asked.nsys).parent_path().parent_path().string();
}

std::vector<Word> nsys_words(const Profiling& asked, const facts::Nsight& known,
                             const std::string& folder, const std::string& job_name, bool efa) {
  std::string text =
      "# One process under nsys, when its rank is profiled. It ends with the program's own code.\n";
  text += process_identity();
  text += filter_of(asked.ranks);
  text += "host=$(uname -n) out=" + folder + "\n";
  text += "nsys=" + shell_quote(asked.nsys) + "\n";
  text +=
      "if ! command -v \"$nsys\" >/dev/null; then\n"
      "  echo \"muster: rank $rank can't be profiled: there is no $nsys on $host\" >&2\n"
      "  exit 127\n"
      "fi\n"
      "mkdir -p \"$out\" || exit 73\n"
      "{ read -r _; read -r _ _ _ free _; } < <(df -Pk \"$out\")\n";
  text += fmt::format(
      "if [ \"${{free:-0}}\" -lt {0} ]; then\n"
      "  echo \"muster: rank $rank is not profiled: $out has ${{free:-0}} KiB free, not {0}\" >&2\n"
      "  exec \"$@\" \"${{last[@]}}\"\n"
      "fi\n",
      asked.least_free / 1024);
  text += fmt::format(
      "job=${{SLURM_JOB_ID:-${{AWS_BATCH_JOB_ID:-${{MUSTER_RUN_ID:-{}}}}}}}\n"
      "node=${{SLURM_NODEID:-${{GROUP_RANK:-${{MUSTER_NODE:-0}}}}}}\n"
      "name=report_${{job}}_node_${{node}}_rank_${{rank}}_on_${{host%%.*}}\n"
      "restart=$((${{TORCHELASTIC_RESTART_COUNT:-0}} + ${{SLURM_RESTART_COUNT:-0}}))\n"
      "if [ \"$restart\" != 0 ]; then name+=_restart_$restart; fi\n"
      "name=${{name//[^A-Za-z0-9._-]/-}} # nsys reads % in it\n",
      job_name);
  const int duration = asked.duration.value_or(known.duration);
  text += fmt::format(
      "options=(profile --sample=none --trace={} --duration={} --kill=none --stop-on-exit=true\n"
      "  --force-overwrite=true",
      shell_quote(asked.trace.empty() ? fmt::format("{}", fmt::join(known.trace, ","))
                                      : asked.trace),
      duration);
  if (asked.steps.empty()) {
    text += fmt::format(" --delay={}", asked.delay.value_or(known.delay));
  } else {
    text += " --capture-range=cudaProfilerApi --capture-range-end=stop";
  }
  for (const std::string& option : asked.options) text += " " + shell_quote(option);
  text += " --output=\"$out/$name\")\n";
  if (!asked.steps.empty()) {
    const auto colon = asked.steps.find(':');
    text += fmt::format("export MUSTER_PROFILE_FIRST_STEP={} MUSTER_PROFILE_LAST_STEP={}\n",
                        asked.steps.substr(0, colon), asked.steps.substr(colon + 1));
  }
  text +=
      fmt::format("statistics=(--report {})\nefa=()\n", fmt::join(known.statistics, " --report "));
  if (efa) text += efa_choice(known);
  text += kRun;
  return {{"bash", false}, {"-c", false}, {std::move(text), false}, {"muster-nsys", false}};
}

std::vector<Word> profiler_of(const Profiling& asked, const facts::Nsight& known,
                              const Workload& workload) {
  if (asked.tool != Profiling::Tool::kNsys) return {};
  const bool efa = asked.efa == "on" || (asked.efa == "auto" && workload.resources.efa > 0);
  return nsys_words(asked, known, fmt::format("\"${{MUSTER_RUN_DIR:?}}/{}\"", runs::kProfileFolder),
                    workload.object_name, efa);
}

}  // namespace muster::launch
