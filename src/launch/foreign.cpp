#include "launch/foreign.h"

#include <algorithm>

#include <fmt/format.h>

#include "launch/batch.h"
#include "launch/kubernetes.h"
#include "launch/process_wrapper.h"
#include "launch/render_workload.h"
#include "launch/shell.h"

namespace muster::launch {
namespace {

using catalog::ResolvedCase;

/// Whether the program is told of a value: what its command does not name says nothing of the run.
/// (That a value is written down is no sign: the manifest of a run holds the defaults as well.)
bool is_told(const ResolvedCase& resolved, const std::string& key) {
  const auto& keys = resolved.referenced;
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void add_profiler(const ForeignPlace& place, Workload& workload) {
  workload.wrapper.insert(workload.wrapper.end(), place.profiler.begin(), place.profiler.end());
}

}  // namespace

bool is_foreign(const ResolvedCase& resolved) {
  return resolved.values.launcher != "native";
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
        "pids=()\n"
        "for ((node = 0; node < {0}; node++)); do\n"
        "  {{ export MUSTER_NODE=$node; exec {1}; }} &\n"
        "  pids+=($!)\n"
        "done\n"
        "{2}\n",
        workload.nodes, command, wait_for_all("node", std::to_string(workload.nodes)));
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

Result<Rendered> render_foreign(Workload workload, const ResolvedCase& resolved, Target target,
                                const ForeignPlace& place, const Machine& machine) {
  if (target == Target::kKubernetes || target == Target::kHyperpodEks)
    return render_foreign_kubernetes(std::move(workload), resolved, target, place);
  if (target == Target::kBatch) return render_foreign_batch(std::move(workload), resolved, place);
  // The processes share the run's directory.
  const std::string wrapper = (place.run_directory / "rendered/process.sh").string();
  workload.wrapper = {{wrapper, false}};
  add_profiler(place, workload);
  auto command = wrap_command(workload, resolved, workload.command, workload.wrapper);
  if (!command) return command.error();
  workload.command = std::move(*command);
  if (target == Target::kSlurm) return render_foreign_slurm(workload, resolved, place);
  return render_foreign_local(workload, place, machine);
}

Result<Rendered> render_foreign_kubernetes(Workload workload, const ResolvedCase& resolved,
                                           Target target, const ForeignPlace& place) {
  const std::string script = console_script(resolved);
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(workload.environment, [&](const auto& one) { return one.first == name; });
    workload.environment.emplace_back(name, value);
  };
  set("PYTHONUNBUFFERED", "1");
  const auto& values = resolved.values.targets;
  const auto& site = target == Target::kHyperpodEks ? *values.hyperpod_eks : *values.kubernetes;
  // Ray's operator puts what it submits through a shell that knows nothing of quotes.
  const bool by_operator = site.object.starts_with("Ray");
  workload.wrapper = console_wrapper(script, by_operator);
  add_profiler(place, workload);
  if (by_operator) {
    set("MUSTER_PROCESS", script);
  } else {
    auto command = wrap_command(workload, resolved, workload.command, workload.wrapper);
    if (!command) return command.error();
    workload.command = std::move(*command);
  }
  auto rendered = render_workload(workload, resolved, target);
  if (!rendered) return rendered;
  std::string& file = rendered->files.front().path;
  file = "rendered/" + file.substr(file.rfind('/') + 1);
  rendered->command = kubectl_words(site);
  rendered->command.insert(rendered->command.end(), {"create", "-f", file});
  return rendered;
}

Result<Rendered> render_foreign_batch(Workload workload, const ResolvedCase& resolved,
                                      const ForeignPlace& place) {
  std::erase_if(workload.environment,
                [](const auto& variable) { return variable.first == "PYTHONUNBUFFERED"; });
  workload.environment.emplace_back("PYTHONUNBUFFERED", "1");
  workload.wrapper = console_wrapper(console_script(resolved), false);
  add_profiler(place, workload);
  auto command = wrap_command(workload, resolved, workload.command, workload.wrapper);
  if (!command) return command.error();
  workload.command = std::move(*command);
  return render_batch_run(workload, resolved, place.job_queue);
}

runs::Expectations foreign_expectations(const ResolvedCase& resolved) {
  const catalog::Case& values = resolved.values;
  runs::Expectations expected;
  expected.from_log = true;
  expected.world = values.topology.world();
  if (values.launcher == "ray-job") {
    // The driver is the one process that leaves a log: Ray itself places the others.
    expected.world = 1;
    expected.driver_only = true;
  }
  if (values.identity.kind == "bench") {
    // What it measured is for the judge of benchmarks.
    expected.steps_told = expected.finite = false;
  }
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
