#include "launch/process_wrapper.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "launch/key_use.h"
#include "launch/shell.h"
#include "runs/log_reader.h"

namespace muster::launch {
namespace {

using catalog::ResolvedCase;

constexpr std::string_view kRankBefore = "[muster rank ";
constexpr std::string_view kRankAfter = "] ";

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
}

/// The option with which a launcher starts a program that is no Python script; empty: it takes any
/// program as it is.
std::string any_program_option(const std::string& launcher) {
  if (launcher == "composer") return "--command_mode";
  if (is_one_of(launcher, {"mpirun", "jax", "ray-job"})) return {};
  return "--no_python";
}

// Both scripts begin and end alike; what is between says where the output goes.
constexpr const char* kWho =
    "rank=${RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}}}\n"
    "world=${WORLD_SIZE:-${OMPI_COMM_WORLD_SIZE:-${SLURM_NTASKS:-1}}}\n"
    "local=${LOCAL_RANK:-${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-0}}}\n"
    "# deepspeed puts an argument of the program before the program that it starts.\n"
    "last=()\n"
    "case ${1-} in --local_rank=*) last=(\"$1\"); shift ;; esac\n";

std::string run_it() {
  std::string text = fmt::format(
      "echo \"{}rank=$rank world=$world local_rank=$local host=$(uname -n) pid=$$ "
      "restart=${{TORCHELASTIC_RESTART_COUNT:-0}}\"\n",
      runs::ProcessLines::kStart);
  text +=
      "trap 'kill -TERM \"$child\" 2>/dev/null' TERM\n"
      "trap 'kill -INT \"$child\" 2>/dev/null' INT\n"
      "\"$@\" \"${last[@]}\" &\n"
      "child=$!\n"
      "wait \"$child\"\n"
      "code=$?\n"
      "# A signal ends the waiting, not the program.\n"
      "while kill -0 \"$child\" 2>/dev/null; do\n"
      "  wait \"$child\"\n"
      "  code=$?\n"
      "done\n";
  text += fmt::format("echo \"{}rank=$rank code=$code\"\n", runs::ProcessLines::kEnd);
  return text;
}

}  // namespace

Result<std::vector<Word>> wrap_command(const Workload& workload, const ResolvedCase& resolved,
                                       std::vector<Word> words, const std::vector<Word>& wrapper) {
  const std::string& launcher = resolved.values.launcher;
  const catalog::Entrypoint& entry = resolved.values.entrypoint;
  const std::size_t tail = entry.args.size() + 1;  // the entry point with its arguments
  if (launcher == "server" || words.size() < tail) {
    return Failure(error_at(position_of(resolved, "launcher"), "run-launcher",
                            fmt::format("muster run does not follow what {} starts", launcher),
                            "muster render case prints its files, to submit them by hand"));
  }
  const std::string option = workload.per_process ? std::string() : any_program_option(launcher);
  std::size_t at = words.size() - tail;
  std::vector<Word> put = wrapper;
  const std::string before = at > 0 ? words[at - 1].text : std::string();
  if (option.empty()) {
    // The command is the program itself: python3 [-m] ENTRY, bash ENTRY, or ENTRY.
    if (is_one_of(before, {"-m"})) --at;
    if (at > 0 && is_one_of(words[at - 1].text, {"python3", "bash"})) --at;
  } else if (is_one_of(before, {"--module", "--module_mode"})) {
    words[at - 1].text = option;
    put.insert(put.end(), {{"python3", false}, {"-m", false}});
  } else if (before != option) {
    put.insert(put.begin(), {option, false});
    put.push_back({"python3", false});
  }
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), put.begin(), put.end());
  return words;
}

std::string process_identity() {
  return kWho;
}

RenderedFile process_script(const std::filesystem::path& run_directory) {
  std::string text =
      "#!/bin/bash\n"
      "# One process of the run: its own log, and a line before and one after the program's own.\n";
  text += kWho;
  text += "exec >>" + shell_quote((run_directory / "logs").string()) + "/\"rank-$rank.log\" 2>&1\n";
  text += run_it();
  text += "exit \"$code\"\n";
  return {"rendered/process.sh", std::move(text), true};
}

std::string console_script(const ResolvedCase& resolved) {
  std::string text =
      "# One process of the run: its rank before each line, and a line before and one after its "
      "own.\n";
  text += kWho;
  // Composer keeps the output of all but the first process to itself.
  if (resolved.values.launcher == "composer")
    text += "if [ -w /proc/1/fd/1 ]; then exec 3>/proc/1/fd/1; else exec 3>&1; fi\n";
  else
    text += "exec 3>&1\n";
  text += fmt::format("exec > >(exec sed -u \"s/^/{}$rank{}/\" >&3) 2>&1 3>&-\n", "[muster rank ",
                      kRankAfter);
  text += "filter=$!\n";
  text += run_it();
  text +=
      "# What it left running may hold the output open.\n"
      "exec >&- 2>&-\n"
      "(exec 3>&-; sleep 10; kill \"$filter\") &\n"
      "limit=$!\n"
      "wait \"$filter\"\n"
      "kill \"$limit\"\n"
      "exit \"$code\"\n";
  return text;
}

std::vector<Word> console_wrapper(const std::string& script, bool by_variable) {
  if (!by_variable)
    return {{"bash", false}, {"-c", false}, {script, false}, {"muster-process", false}};
  return {{"python3", false},
          {"-c", false},
          {"import os, sys; os.execvp('bash', ['bash', '-c', os.environ['MUSTER_PROCESS'], "
           "'muster-process'] + sys.argv[1:])",
           false}};
}

std::optional<RankLine> rank_of_line(std::string_view line) {
  if (!line.starts_with(kRankBefore)) return std::nullopt;
  const char* begin = line.data() + kRankBefore.size();
  const char* end = line.data() + line.size();
  RankLine mine;
  const auto [after, error] = std::from_chars(begin, end, mine.rank);
  if (error != std::errc() || mine.rank < 0) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(after - line.data()));
  if (!line.starts_with(kRankAfter)) return std::nullopt;
  mine.text = line.substr(kRankAfter.size());
  return mine;
}

}  // namespace muster::launch
