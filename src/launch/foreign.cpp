#include "launch/foreign.h"

#include <algorithm>

#include <fmt/format.h>

#include "launch/key_use.h"
#include "launch/render_workload.h"
#include "launch/shell.h"
#include "runs/log_reader.h"

namespace muster::launch {
namespace {

using catalog::ResolvedCase;

/// Whether the program is told of a value: what its command does not name says nothing of the run.
/// (That a value is written down is no sign: the manifest of a run holds the defaults as well.)
bool is_told(const ResolvedCase& resolved, const std::string& key) {
  const auto& keys = resolved.referenced;
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// The option with which a launcher starts a program that is no Python script; empty: it takes any
/// program as it is.
std::string any_program_option(const std::string& launcher) {
  if (launcher == "composer") return "--command_mode";
  if (launcher == "mpirun" || launcher == "jax") return {};
  return "--no_python";
}

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
}

}  // namespace

bool is_foreign(const ResolvedCase& resolved) {
  return resolved.values.launcher != "native";
}

Result<void> wrap_processes(Workload& workload, const ResolvedCase& resolved,
                            const std::string& wrapper) {
  const std::string& launcher = resolved.values.launcher;
  const catalog::Entrypoint& entry = resolved.values.entrypoint;
  std::vector<Word>& words = workload.command;
  const std::size_t tail = entry.args.size() + 1;  // the entry point with its arguments
  if (is_one_of(launcher, {"ray-job", "server"}) || words.size() < tail) {
    return Failure(error_at(position_of(resolved, "launcher"), "run-launcher",
                            fmt::format("muster run does not follow what {} starts", launcher),
                            "muster render case prints its files, to submit them by hand"));
  }
  const std::string option = workload.per_process ? std::string() : any_program_option(launcher);
  std::size_t at = words.size() - tail;
  std::vector<Word> put;
  const std::string before = at > 0 ? words[at - 1].text : std::string();
  if (option.empty()) {
    // The command is the program itself: python3 [-m] ENTRY, bash ENTRY, or ENTRY.
    if (is_one_of(before, {"-m"})) --at;
    if (at > 0 && is_one_of(words[at - 1].text, {"python3", "bash"})) --at;
    put = {{wrapper, false}};
  } else if (before == option) {
    put = {{wrapper, false}};
  } else if (is_one_of(before, {"--module", "--module_mode"})) {
    words[at - 1].text = option;
    put = {{wrapper, false}, {"python3", false}, {"-m", false}};
  } else {
    put = {{option, false}, {wrapper, false}, {"python3", false}};
  }
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), put.begin(), put.end());
  return {};
}

RenderedFile process_script(const std::filesystem::path& run_directory) {
  std::string text =
      "#!/bin/bash\n"
      "# One process of the run: its own log, and a line before and one after the program's own.\n"
      "rank=${RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}}}\n"
      "world=${WORLD_SIZE:-${OMPI_COMM_WORLD_SIZE:-${SLURM_NTASKS:-1}}}\n"
      "local=${LOCAL_RANK:-${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-0}}}\n"
      "# deepspeed puts an argument of the program before the program that it starts.\n"
      "last=()\n"
      "case ${1-} in --local_rank=*) last=(\"$1\"); shift ;; esac\n";
  text += "exec >>" + shell_quote((run_directory / "logs").string()) + "/\"rank-$rank.log\" 2>&1\n";
  text += fmt::format(
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
  text += "exit \"$code\"\n";
  return {"rendered/process.sh", std::move(text), true};
}

Rendered render_foreign_local(const Workload& workload, const ForeignPlace& place,
                              const Machine& machine) {
  const int world = workload.nodes * workload.processes;
  RenderedFile script{"rendered/job.sh", {}, true};
  std::string& text = script.content;
  text = fmt::format(
      "#!/bin/bash\n"
      "# {}, run {}: {} {} on this machine.\n"
      "set -eu\n"
      "cd {}\n",
      workload.case_name, place.run_id, world, world == 1 ? "process" : "processes",
      shell_quote(place.project.string()));
  text += exports({{"MUSTER_RUN_ID", place.run_id},
                   {"MUSTER_RUN_DIR", place.run_directory.string()},
                   {"PYTHONUNBUFFERED", "1"},
                   {"OMP_NUM_THREADS", std::to_string(std::max(1, machine.cores / world))}});
  if (workload.resources.accelerator == "cpu") {
    // Gloo looks for an interface by the host's name, which not every machine can resolve.
    text += exports({{"GLOO_SOCKET_IFNAME", "lo"}});
  }
  if (!place.venv.empty()) {
    text += exports({{"VIRTUAL_ENV", place.venv.string()}});
    text += "export PATH=\"$VIRTUAL_ENV/bin:$PATH\"\n";
  }
  for (const std::string& name : workload.unset) text += "unset " + name + "\n";
  for (const auto& [name, value] : workload.environment)
    text += "export " + name + "=" + shell_text(manifest_word(value)) + "\n";
  if (!workload.workdir.empty()) text += "cd " + shell_text(manifest_word(workload.workdir)) + "\n";
  // Who this is, for `muster cancel`: the process group and when it started.
  text += "read -r -a stat </proc/$$/stat\n";
  text += "echo \"$$ ${stat[21]}\" >" +
          shell_quote((place.run_directory / "logs/job.pid").string()) + "\n";
  const std::string command = shell_lines(workload.command);
  if (workload.nodes == 1) {
    text += "export MUSTER_NODE=0\nexec " + command + "\n";
  } else {
    text += fmt::format(
        "# As on {0} nodes: the launcher once for each. When one ends with an error, all end.\n"
        "for ((node = 0; node < {0}; node++)); do\n"
        "  MUSTER_NODE=$node {1} &\n"
        "done\n"
        "for ((node = 0; node < {0}; node++)); do\n"
        "  wait -n || {{ code=$?; kill $(jobs -p) 2>/dev/null; wait; exit $code; }}\n"
        "done\n",
        workload.nodes, command);
  }
  Rendered rendered;
  rendered.command = {"bash", (place.run_directory / script.path).string()};
  if (!workload.command.empty() && !workload.command.front().shell)
    rendered.programs = {workload.command.front().text};
  rendered.files = {std::move(script), process_script(place.run_directory)};
  return rendered;
}

Result<Rendered> render_foreign_slurm(const Workload& workload, const ResolvedCase& resolved,
                                      const ForeignPlace& place) {
  Workload mine = workload;
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(mine.environment, [&](const auto& variable) { return variable.first == name; });
    mine.environment.emplace_back(name, value);
  };
  set("PYTHONUNBUFFERED", "1");
  const auto& slurm = resolved.values.targets.slurm;
  const bool contained = slurm && !slurm->container.empty();  // an image has a Python of its own
  if (!place.venv.empty() && !contained) {
    set("VIRTUAL_ENV", place.venv.string());
    set("PATH", (place.venv / "bin").string() + ":${PATH}");
  }
  auto rendered = render_workload(mine, resolved, Target::kSlurm);
  if (!rendered) return rendered;
  std::string batch;
  for (RenderedFile& file : rendered->files) {
    file.path = "rendered/" + file.path.substr(file.path.rfind('/') + 1);
    if (batch.empty() && file.path.ends_with(".sbatch")) batch = file.path;
  }
  const std::string logs = slurm_pattern((place.run_directory / "logs").string());
  // What a run decides goes before what stands in the file.
  rendered->command = {"sbatch",
                       "--parsable",
                       "--comment=" + place.run_id,
                       "--chdir=" + place.project.string(),
                       "--open-mode=append",
                       "--output=" + logs + "/launcher.out",
                       "--error=" + logs + "/launcher.err",
                       (place.run_directory / batch).string()};
  rendered->programs = {"sbatch", "squeue", "scancel"};
  rendered->files.push_back(process_script(place.run_directory));
  return rendered;
}

runs::Expectations foreign_expectations(const ResolvedCase& resolved) {
  const catalog::Case& values = resolved.values;
  runs::Expectations expected;
  expected.from_log = true;
  expected.world = values.topology.world();
  if (is_told(resolved, "batch.steps")) expected.steps = values.batch.steps;
  expected.parameters_agree = false;
  expected.loss_fell = values.expect.loss_trend == "down";
  expected.eval_loss_min = values.expect.eval_loss_min;
  expected.eval_loss_max = values.expect.eval_loss_max;
  expected.checkpoint_reloads = is_told(resolved, "checkpoint.verify") && values.checkpoint.verify;
  if (values.transport != "auto" && expected.world > 1) expected.transport = values.transport;
  expected.mfu_min = values.expect.min_mfu;
  expected.tokens_per_second_min = values.expect.min_tokens_per_second;
  expected.stragglers = values.expect.straggler_ratio || values.expect.straggler_mads;
  if (values.expect.straggler_ratio) expected.straggler_ratio = *values.expect.straggler_ratio;
  if (values.expect.straggler_mads) expected.straggler_mads = *values.expect.straggler_mads;
  return expected;
}

}  // namespace muster::launch
