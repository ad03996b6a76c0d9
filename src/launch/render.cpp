#include "launch/render.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "launch/shell.h"
#include "launch/slurm_script.h"

namespace muster::launch {
namespace {

/// Variables that every rank gets, before the job's own (which therefore win).
Assignments rank_environment(const Job& job, const Machine& machine, Target target) {
  const std::string threads = std::to_string(job.threads);
  Assignments variables = {
      {"MUSTER_RUN_ID", job.run_id},
      {"OMP_NUM_THREADS", threads},
      {"OPENBLAS_NUM_THREADS", threads},
      {"MKL_NUM_THREADS", threads},
  };
  if (job.world() == 1) return variables;
  // Shared memory within a node, TCP between nodes: what works without a fabric. A case that has
  // one says so in env.set, which comes later.
  variables.emplace_back("OMPI_MCA_pml", "ob1");
  if (target == Target::kSlurm) {
    variables.emplace_back("OMPI_MCA_btl", "self,vader,tcp");
    return variables;
  }
  variables.emplace_back("OMPI_MCA_btl", "self,vader");
  // One machine: start the ranks from mpirun itself, also inside an allocation and where there is
  // no ssh.
  variables.emplace_back("OMPI_MCA_plm", "isolated");
  variables.emplace_back("OMPI_MCA_ras", "^slurm");
  if (!machine.cross_memory) {
    variables.emplace_back("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  }
  if (job.world() * job.threads >= machine.cores) {
    variables.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
  }
  return variables;
}

/// rendered/rank.sh: one rank with its environment and a log of its own. The same for every target.
RenderedFile rank_script(const Job& job, const Machine& machine, Target target) {
  std::string text =
      "#!/bin/bash\n"
      "# One rank of the run: its environment, its own log, then the program.\n"
      "set -eu\n";
  for (const std::string& name : job.unset) text += "unset " + name + "\n";
  text += exports(rank_environment(job, machine, target));
  text += exports(job.environment);
  for (const auto& [name, variable] : job.references)
    text += fmt::format("export {}=\"${{{}-}}\"\n", name, variable);
  text += "rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}}\n";
  text +=
      "exec >>" + shell_quote((job.run_directory / "logs").string()) + "/\"rank-$rank.log\" 2>&1\n";
  std::vector<std::string> words = job.profiler;
  words.insert(words.end(), job.program.begin(), job.program.end());
  text += "exec " + command_lines(words) + "\n";
  return {"rendered/rank.sh", std::move(text), true};
}

std::string absolute(const Job& job, const RenderedFile& file) {
  return (job.run_directory / file.path).string();
}

Rendered render_local(const Job& job, const Machine& machine) {
  Rendered rendered;
  RenderedFile rank = rank_script(job, machine, Target::kLocal);
  std::vector<std::string> start;
  if (job.world() > 1) {
    const std::string world = std::to_string(job.world());
    start = {"mpirun"};
    if (machine.root) start.emplace_back("--allow-run-as-root");
    // Slots by name, so that more ranks than cores need no --oversubscribe (which would also change
    // how MPI waits).
    start.insert(start.end(), {"--host", "localhost:" + world, "-np", world});
    // A run that fills the machine is pinned; any other is left to the kernel, since two pinned
    // runs would share cores.
    if (job.world() * job.threads == machine.cores && job.threads == 1) {
      start.insert(start.end(), {"--bind-to", "core"});
    } else {
      start.insert(start.end(), {"--bind-to", "none"});
    }
    // When one rank has ended with an error, the others have twice this to end: one that finishes
    // its checkpoint must not be cut, and a failure must not be told late.
    start.insert(start.end(), {"--mca", "odls_base_sigkill_timeout", "3"});
    rendered.programs = {"mpirun"};
  }
  start.push_back(absolute(job, rank));

  RenderedFile script{"rendered/job.sh", {}, true};
  script.content =
      "#!/bin/bash\n"
      "# " +
      job.case_name + ", run " + job.run_id + ": " + std::to_string(job.world()) +
      (job.world() == 1 ? " process" : " processes") +
      " on this machine.\n"
      "set -eu\n";
  script.content += "cd " + shell_quote(job.project.string()) + "\n";
  script.content += "export MUSTER_RUN_ID=" + shell_quote(job.run_id) + "\n";
  if (job.world() > 1) {
    // mpirun reads its own settings before any rank starts.
    Assignments settings = rank_environment(job, machine, Target::kLocal);
    std::erase_if(settings,
                  [](const auto& setting) { return !setting.first.starts_with("OMPI_MCA_"); });
    for (const auto& [name, value] : job.environment) {
      if (name.starts_with("OMPI_MCA_")) settings.emplace_back(name, value);
    }
    script.content += exports(settings);
  }
  // Who this is, for `muster cancel`: the process group and when it started.
  script.content += "read -r -a stat </proc/$$/stat\n";
  script.content += "echo \"$$ ${stat[21]}\" >" +
                    shell_quote((job.run_directory / "logs/job.pid").string()) + "\n";
  script.content += "exec " + command_lines(start) + "\n";

  rendered.command = {"bash", absolute(job, script)};
  rendered.files = {std::move(script), std::move(rank)};
  return rendered;
}

void directive(std::string& text, const std::string& option, const std::string& value) {
  if (!value.empty()) text += "#SBATCH --" + option + "=" + value + "\n";
}

Rendered render_slurm(const Job& job, const Machine& machine) {
  const SlurmOptions& slurm = job.slurm;
  RenderedFile rank = rank_script(job, machine, Target::kSlurm);
  RenderedFile script{"rendered/job.sbatch", "#!/bin/bash\n", false};
  std::string& text = script.content;
  const std::string logs = (job.run_directory / "logs").string();

  directive(text, "job-name", slurm_job_name(job.case_name));
  directive(text, "comment", job.run_id);
  directive(text, "partition", slurm.partition);
  directive(text, "account", slurm.account);
  directive(text, "time", slurm.time);
  directive(text, "nodes", std::to_string(job.nodes));
  directive(text, "ntasks-per-node", std::to_string(job.ranks_per_node));
  directive(text, "cpus-per-task", std::to_string(job.threads));
  if (job.gpus_per_node > 0) directive(text, "gpus-per-node", std::to_string(job.gpus_per_node));
  if (job.memory) {
    constexpr double kMebibyte = 1024.0 * 1024.0;
    directive(text, "mem", fmt::format("{:.0f}M", std::ceil(*job.memory / kMebibyte)));
  }
  text += slurm.requeue ? "#SBATCH --requeue\n" : "#SBATCH --no-requeue\n";
  directive(text, "open-mode", "append");
  directive(text, "output", slurm_pattern(logs) + "/launcher.out");
  directive(text, "error", slurm_pattern(logs) + "/launcher.err");
  directive(text, "chdir", job.project.string());
  // Nothing of the submitter's environment but these; a secret travels by name and is never written
  // down.
  std::string exported = "PATH,HOME,USER,LANG";
  for (const std::string& name : job.secrets) exported += "," + name;
  directive(text, "export", exported);
  for (const std::string& option : slurm.options) text += "#SBATCH " + option + "\n";

  text += "# " + job.case_name + ", run " + job.run_id + ": " + std::to_string(job.world()) +
          " ranks on " + std::to_string(job.nodes) + (job.nodes == 1 ? " node.\n" : " nodes.\n");
  text += "set -eu\n";
  text +=
      "echo \"muster: job $SLURM_JOB_ID, start ${SLURM_RESTART_COUNT:-0}, on "
      "$SLURM_JOB_NODELIST\"\n";
  if (job.nodes > 1) text += slurm_hosts() + slurm_answers(job.start_timeout, 0) + "\n";
  if (slurm.auto_resume) {
    text += "resume=()\nif [ -d /opt/sagemaker_cluster ]; then resume=(--auto-resume=1); fi\n";
  }
  std::vector<std::string> start = {"srun"};
  // One rank alone needs no MPI, whatever the site's default is.
  start.push_back("--mpi=" + (job.world() > 1 ? slurm.mpi : "none"));
  // Said again, since srun does not take it over from sbatch any more (from 22.05 on).
  start.push_back("--cpus-per-task=" + std::to_string(job.threads));
  start.insert(start.end(), {"--export=ALL", "--kill-on-bad-exit=1"});
  text += "exec " + command_lines(start) + (slurm.auto_resume ? " \"${resume[@]}\"" : "") +
          " \\\n  " + shell_quote(absolute(job, rank)) + "\n";

  Rendered rendered;
  rendered.command = {"sbatch", "--parsable", absolute(job, script)};
  rendered.programs = {"sbatch", "squeue", "scancel"};
  rendered.files = {std::move(script), std::move(rank)};
  return rendered;
}

std::optional<Finding> unusable(const std::string& what, const std::string& value) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) < 0x20) {
      return error_at({}, "launch-value", what + " has a control character",
                      "remove it from the manifest");
    }
  }
  return std::nullopt;
}

Findings check(const Job& job, Target target) {
  Findings findings;
  const auto look = [&](const std::string& what, const std::string& value) {
    if (auto finding = unusable(what, value)) findings.push_back(*finding);
  };
  if (job.nodes < 1 || job.ranks_per_node < 1 || job.threads < 1) {
    findings.push_back(
        error_at({}, "launch-world", "a run needs at least one node, one rank and one thread",
                 "see topology.nodes, topology.accelerators_per_node and resources.threads"));
  }
  const auto named = [&](const std::string& name) {
    const bool valid = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                       std::all_of(name.begin(), name.end(),
                                   [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!valid) {
      findings.push_back(error_at({}, "launch-variable",
                                  "'" + name + "' can't name an environment variable",
                                  "letters, digits and _, not starting with a digit"));
    }
  };
  for (const auto& variable : job.environment) named(variable.first);
  for (const std::string& name : job.unset) named(name);
  for (const std::string& name : job.secrets) named(name);
  for (const auto& reference : job.references) named(reference.first);
  look("the run directory's path", job.run_directory.string());
  look("the project's path", job.project.string());
  for (const std::string& word : job.program) look("an argument of the program", word);
  for (const auto& [name, value] : job.environment) look("the variable " + name, value);
  if (target != Target::kSlurm) return findings;
  for (const auto& [option, value] :
       {std::pair{"partition", job.slurm.partition}, std::pair{"account", job.slurm.account},
        std::pair{"time", job.slurm.time}, std::pair{"mpi", job.slurm.mpi}}) {
    look(std::string("targets.slurm.") + option, value);
    if (value.find_first_of(" \t\"'") != std::string::npos) {
      findings.push_back(error_at(
          {}, "launch-value", std::string("targets.slurm.") + option + " has a blank or a quote",
          "one word, as sbatch --" + std::string(option) + "= takes it"));
    }
  }
  for (const std::string& option : job.slurm.options) look("targets.slurm.options", option);
  // sbatch splits a directive's line at blanks and has no way to quote a path in it on every
  // version.
  for (const auto& path : {job.run_directory, job.project}) {
    if (path.string().find_first_of(" \t\"'") != std::string::npos) {
      findings.push_back(error_at({}, "launch-path", "sbatch can't take the path " + path.string(),
                                  "use a folder without blanks and quotes in its path"));
    }
  }
  return findings;
}

}  // namespace

Result<Rendered> render(const Job& job, Target target, const Machine& machine) {
  if (target != Target::kLocal && target != Target::kSlurm) {
    return failure("launch-target",
                   std::string("a native case can't be started on ") + to_string(target),
                   "native cases run on local and slurm");
  }
  Findings findings = check(job, target);
  if (has_errors(findings)) return Failure(std::move(findings));
  return target == Target::kLocal ? render_local(job, machine) : render_slurm(job, machine);
}

std::string slurm_job_name(const std::string& case_name) {
  std::string name = "muster-";
  for (const char c : case_name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    name += plain ? c : '-';
  }
  constexpr std::size_t kLongest = 64;
  if (name.size() > kLongest) name.resize(kLongest);
  return name;
}

}  // namespace muster::launch
