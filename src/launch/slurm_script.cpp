#include "launch/slurm_script.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/schema.h"
#include "launch/key_use.h"
#include "launch/shell.h"
#include "launch/variables.h"

namespace muster::launch {
namespace {

using catalog::ResolvedCase;

constexpr const char* kMadeBy =
    "# Rendered from case.yaml by `muster render --all`: change that, not this.\n";

/// What one batch script asks for and runs.
struct SlurmJobFile {
  std::string path, job_name, title;
  int nodes = 1, tasks_per_node = 1;
  int accelerators = 0;
  std::optional<double> cpu;           ///< cores of a node
  std::optional<std::int64_t> memory;  ///< bytes of a node
  double timeout = 3600;
  std::string time;  ///< as sbatch takes it; empty: the timeout
  std::string image;
  int array = 1;
  std::string node_script;  ///< of bash; runs on every node, or for every task
  bool is_step = false;
};

/// Text of a heredoc whose end is no line of it.
std::string heredoc_end(const std::string& text) {
  std::string end = "NODE";
  while (("\n" + text).find("\n" + end + "\n") != std::string::npos) end += '_';
  return end;
}

class SlurmScript {
 public:
  SlurmScript(const Workload& workload, const ResolvedCase& resolved)
      : workload_(workload),
        resolved_(resolved),
        values_(resolved.values),
        slurm_(resolved.values.targets.slurm.value_or(catalog::SlurmTarget{})) {}

  Result<Rendered> render() {
    check();
    if (has_errors(findings_)) return Failure(std::move(findings_));
    const std::string stem = "slurm/" + file_stem_of(workload_.case_name);
    Rendered rendered;
    std::vector<std::string> before, after;
    int number = 0;
    std::vector<RenderedFile> steps;
    for (const catalog::Step& step : values_.steps) {
      const std::string path = fmt::format("{}-{}-{}.sbatch", stem, ++number, step.name);
      steps.push_back(script(step_file(step, path)));
      (step.after ? after : before).push_back(path);
    }
    rendered.files.push_back(script(main_file(stem + ".sbatch")));
    for (RenderedFile& step : steps) rendered.files.push_back(std::move(step));
    rendered.programs = {"sbatch", "squeue", "scancel"};
    if (values_.steps.empty()) {
      rendered.command = {"sbatch", "--parsable", stem + ".sbatch"};
      return rendered;
    }
    before.push_back(stem + ".sbatch");
    before.insert(before.end(), after.begin(), after.end());
    rendered.files.push_back(submit_script(stem + "-submit.sh", before));
    rendered.command = {"bash", stem + "-submit.sh"};
    return rendered;
  }

 private:
  bool in_container() const { return !slurm_.container.empty(); }

  void check() {
    const auto wrong = [&](const std::string& key, std::string message, std::string hint) {
      findings_.push_back(error_at(position_of(resolved_, key), "launch-value", std::move(message),
                                   std::move(hint)));
    };
    for (const auto& [key, value] :
         {std::pair{"partition", slurm_.partition}, std::pair{"account", slurm_.account},
          std::pair{"time", slurm_.time}, std::pair{"mpi", slurm_.mpi}}) {
      if (value.find_first_of(" \t\n\"'") != std::string::npos) {
        wrong(std::string("targets.slurm.") + key,
              fmt::format("targets.slurm.{} has a blank or a quote", key),
              fmt::format("one word, as sbatch --{}= takes it", key));
      }
    }
    for (const std::string& option : slurm_.options) {
      if (option.find('\n') != std::string::npos || !option.starts_with("-"))
        wrong("targets.slurm.options", "\"" + option + "\" is no option of sbatch",
              "as written after #SBATCH, e.g. --constraint=gpu");
    }
    for (const std::string& mount : slurm_.mounts) {
      const auto colon = mount.find(':');
      if (colon == 0 || colon == std::string::npos || colon + 1 == mount.size() ||
          mount.find(',') != std::string::npos)
        wrong("targets.slurm.mounts", "\"" + mount + "\" does not say what is mounted where",
              "host:container");
    }
    if (in_container() && !slurm_.venv.empty())
      wrong("targets.slurm.venv", "a container has its own Python",
            "leave targets.slurm.venv out, or container: none");
    if (!in_container() && !slurm_.mounts.empty())
      wrong("targets.slurm.mounts", "there is no container to mount anything in",
            "container: pyxis, or leave targets.slurm.mounts out");
  }

  SlurmJobFile main_file(const std::string& path) const {
    SlurmJobFile file;
    file.path = path;
    file.job_name = slurm_job_name(workload_.object_name);
    file.nodes = workload_.nodes;
    file.tasks_per_node = workload_.per_process ? workload_.processes : 1;
    file.accelerators = workload_.resources.accelerators;
    file.cpu = values_.resources.cpu;
    if (!values_.resources.memory.empty()) file.memory = workload_.resources.memory;
    file.timeout = workload_.timeout;
    file.time = slurm_.time;
    file.image = workload_.image;
    file.title = fmt::format("{}: {} node{} of {} process{}", workload_.case_name, workload_.nodes,
                             workload_.nodes == 1 ? "" : "s", workload_.processes,
                             workload_.processes == 1 ? "" : "es");
    std::string& text = file.node_script;
    text = "set -euo pipefail\n";
    if (workload_.per_process) {
      text +=
          "export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID\n"
          "export JAX_COORDINATOR_ADDRESS=$MASTER_ADDR:$MASTER_PORT "
          "JAX_NUM_PROCESSES=$SLURM_NTASKS JAX_PROCESS_ID=$SLURM_PROCID\n"
          "[ \"$SLURM_LOCALID\" != 0 ] || ";
    }
    text += fmt::format(
        "echo \"{}$SLURM_NODEID of $SLURM_JOB_NUM_NODES started, {} processes, on $(uname -n)\"\n",
        kNodeStarted, workload_.processes);
    text += place();
    text += "exec " + shell_lines(workload_.command) + "\n";
    return file;
  }

  SlurmJobFile step_file(const catalog::Step& step, const std::string& path) const {
    SlurmJobFile file;
    file.path = path;
    file.is_step = true;
    file.job_name = slurm_job_name(workload_.object_name + "-" + step.name);
    file.accelerators = step.accelerators;
    file.cpu = step.cpu;
    if (const auto bytes = parse_size(step.memory)) file.memory = std::llround(*bytes);
    file.timeout = step.timeout;
    file.image = step.image.empty() ? workload_.image : step.image;
    file.array = step.array;
    file.title = fmt::format("{}, {} its own job: {}", workload_.case_name,
                             step.after ? "after" : "before", step.name);
    file.node_script = "set -euo pipefail\n";
    if (step.array > 1) {
      file.node_script +=
          fmt::format("export MUSTER_TASK=$SLURM_ARRAY_TASK_ID MUSTER_TASKS={}\n", step.array);
    } else {
      file.node_script += "export MUSTER_TASK=0 MUSTER_TASKS=1\n";
    }
    file.node_script += place() + "exec " + shell_lines(step_words(step)) + "\n";
    return file;
  }

  /// Where a node's command starts, and with which Python.
  std::string place() const {
    std::string text;
    if (!slurm_.venv.empty())
      text += "source " + shell_text(manifest_word(slurm_.venv + "/bin/activate")) + "\n";
    // pyxis has an option for it.
    if (!workload_.workdir.empty() && slurm_.container != "pyxis")
      text += "cd " + shell_text(manifest_word(workload_.workdir)) + "\n";
    return text;
  }

  RenderedFile script(const SlurmJobFile& file) const {
    std::string text = "#!/bin/bash\n";
    text += kMadeBy;
    text += "# " + file.title + ".\n";
    text += directives(file);
    text += "set -euo pipefail\n\n";
    text += surroundings(file);
    if (file.nodes > 1)
      text += slurm_answers(workload_.start_timeout, workload_.nodes - workload_.min_nodes);
    text += container(file);
    if (workload_.resilience.auto_resume && !file.is_step) {
      text +=
          "\n# Only HyperPod's srun knows how to replace a node.\n"
          "resume=()\n"
          "if [ -d /opt/sagemaker_cluster ]; then resume=(--auto-resume=1); fi\n";
    }
    const std::string end = heredoc_end(file.node_script);
    text += fmt::format("\n# What every {} runs.\nnode=$(\n  cat <<'{}'\n{}{}\n)\n",
                        workload_.per_process && !file.is_step ? "task" : "node", end,
                        file.node_script, end);
    text += start(file);
    return {file.path, std::move(text), false};
  }

  std::string directives(const SlurmJobFile& file) const {
    std::string text;
    const auto directive = [&](const std::string& option, const std::string& value) {
      if (!value.empty()) text += "#SBATCH --" + option + "=" + value + "\n";
    };
    directive("job-name", file.job_name);
    directive("comment", workload_.run_id);
    directive("partition", slurm_.partition);
    directive("account", slurm_.account);
    directive("time", file.time.empty() ? slurm_time(file.timeout) : file.time);
    directive("nodes", std::to_string(file.nodes));
    directive("ntasks-per-node", std::to_string(file.tasks_per_node));
    if (file.cpu)
      directive("cpus-per-task",
                std::to_string(
                    std::max(1, static_cast<int>(std::floor(*file.cpu / file.tasks_per_node)))));
    if (file.memory) {
      constexpr double kMebibyte = 1024.0 * 1024.0;
      directive("mem",
                fmt::format("{:.0f}M", std::ceil(static_cast<double>(*file.memory) / kMebibyte)));
    }
    if (file.accelerators > 0) {
      if (workload_.resources.accelerator == "neuron") {
        directive("gres", fmt::format("neuron:{}", file.accelerators));
      } else {
        directive("gpus-per-node", std::to_string(file.accelerators));
      }
      if (!file.is_step) text += "#SBATCH --exclusive\n";
    }
    if (file.array > 1) directive("array", fmt::format("0-{}", file.array - 1));
    text += workload_.resilience.auto_resume && !file.is_step ? "#SBATCH --requeue\n"
                                                              : "#SBATCH --no-requeue\n";
    // Beside the place of submission, which is there for sure.
    directive("output", file.array > 1 ? "%x_%A_%a.out" : "%x_%j.out");
    directive("export", fmt::format("{}", fmt::join(handed_on(file), ",")));
    for (const std::string& option : slurm_.options) text += "#SBATCH " + option + "\n";
    return text;
  }

  /// Variables that come from whoever submits, by name.
  std::set<std::string> needed(const SlurmJobFile& file) const {
    std::set<std::string> names;
    for (const SecretVariable& secret : workload_.secrets) names.insert(secret.env);
    if (in_container()) {
      for (const std::string& name : variables_of(file.image)) names.insert(name);
    }
    return names;
  }

  std::vector<std::string> handed_on(const SlurmJobFile& file) const {
    std::vector<std::string> names = {"PATH", "HOME", "USER", "LANG"};
    for (const std::string& name : needed(file)) names.push_back(name);
    if (in_container()) names.emplace_back("MUSTER_IMAGE");
    return names;
  }

  std::string surroundings(const SlurmJobFile& file) const {
    std::string text;
    std::set<std::string> names = needed(file);
    // MUSTER_IMAGE may stand in for the image's own variables.
    if (in_container()) {
      for (const std::string& name : variables_of(file.image)) names.erase(name);
    }
    for (const std::string& name : names)
      text += fmt::format(": \"${{{}:?is needed by this case: export it}}\"\n", name);
    for (const std::string& name : workload_.unset) text += "unset " + name + "\n";
    for (const auto& [name, value] : workload_.environment)
      text += "export " + name + "=" + shell_text(manifest_word(value)) + "\n";
    if (workload_.run_directory.shell)
      text += "export MUSTER_RUN_DIR=" + shell_text(workload_.run_directory) + "\n";
    text += "mkdir -p \"$MUSTER_RUN_DIR\"\n";
    if (!file.is_step) {
      text += "\n# The first node is the one where the others meet.\n" + slurm_hosts();
      text +=
          fmt::format("export MASTER_ADDR=${{hosts[0]}} MASTER_PORT={}\n", values_.rendezvous.port);
      if (values_.launcher == "mpirun") text += "export MUSTER_HOSTS=\"${hosts[*]}\"\n";
    }
    return text;
  }

  std::vector<std::string> mounts() const {
    std::vector<std::string> all = slurm_.mounts;
    for (const catalog::Mount& mount : workload_.mounts) {
      const bool taken = std::any_of(all.begin(), all.end(), [&](const std::string& known) {
        return known.ends_with(":" + mount.path);
      });
      if (!taken) all.push_back(mount.path + ":" + mount.path);
    }
    if (!workload_.scratch.empty()) all.push_back(workload_.scratch + ":" + workload_.scratch);
    if (!workload_.node_folder.empty())
      all.push_back(workload_.node_folder + ":" + workload_.node_folder + ":ro");
    const bool shared = std::any_of(all.begin(), all.end(), [&](const std::string& mount) {
      const std::string inside = mount.substr(mount.find(':') + 1);
      return !workload_.run_directory.shell &&
             workload_.run_directory.text.starts_with(inside + "/");
    });
    if (!shared) all.emplace_back("${MUSTER_RUN_DIR}:${MUSTER_RUN_DIR}");
    return all;
  }

  std::string container(const SlurmJobFile& file) const {
    if (!in_container()) return {};
    std::string text = "\n# The image; MUSTER_IMAGE names another one, such as a squashed file.\n";
    const std::string own = slurm_.container == "pyxis" ? pyxis_image(file.image) : file.image;
    const Word image = manifest_word(own);
    text += "image=${MUSTER_IMAGE:-}\n";
    text += "if [ -z \"$image\" ]; then\n";
    for (const std::string& name : variables_of(own))
      text += fmt::format("  : \"${{{}:?is part of the name of the image: export it}}\"\n", name);
    text += "  image=" + shell_text(image) + "\n";
    // A registry that is filled in ends where its first slash is.
    if (slurm_.container == "pyxis" && own.starts_with("${") && own.find('#') == std::string::npos)
      text += "  case $image in /*) ;; */*) image=${image/\\//#} ;; esac\n";
    text += "fi\n";
    if (slurm_.container == "enroot") {
      text += "container=(enroot start --rw";
      for (const std::string& mount : mounts())
        text += " --mount " + shell_text(manifest_word(mount));
      std::vector<std::string> names = {"MASTER_ADDR", "MASTER_PORT", "MUSTER_RUN_DIR"};
      if (file.is_step) names = {"MUSTER_RUN_DIR"};
      for (const auto& variable : workload_.environment) names.push_back(variable.first);
      for (const SecretVariable& secret : workload_.secrets) names.push_back(secret.env);
      std::sort(names.begin(), names.end());
      names.erase(std::unique(names.begin(), names.end()), names.end());
      for (const std::string& name : names) text += " --env " + name;
      text += " \"$image\")\n";
      return text;
    }
    std::string list;
    for (const std::string& mount : mounts()) list += (list.empty() ? "" : ",") + mount;
    text += "container=(\n  --container-image=\"$image\"\n";
    text += "  --container-mounts=" + shell_text(manifest_word(list)) + "\n";
    if (!workload_.workdir.empty())
      text += "  --container-workdir=" + shell_text(manifest_word(workload_.workdir)) + "\n";
    text += "  --no-container-mount-home\n)\n";
    return text;
  }

  std::string start(const SlurmJobFile& file) const {
    // Said again, since srun does not take it over from sbatch from Slurm 22.05 on.
    std::string text = "exec srun --label --export=ALL --kill-on-bad-exit=1 \\\n";
    text += fmt::format("  --cpus-per-task=$((SLURM_CPUS_ON_NODE / {}))", file.tasks_per_node);
    const bool mpi = values_.launcher == "mpirun" ||
                     is_asked(resolved_, "targets.slurm.mpi", "targets.slurm.mpi");
    if (mpi && !file.is_step) text += " --mpi=" + slurm_.mpi;
    if (workload_.resilience.auto_resume && !file.is_step) text += " \"${resume[@]}\"";
    if (slurm_.container == "pyxis") text += " \"${container[@]}\"";
    text += " \\\n  ";
    if (slurm_.container == "enroot") text += "\"${container[@]}\" ";
    return text + "bash -c \"$node\"\n";
  }

  static RenderedFile submit_script(const std::string& path,
                                    const std::vector<std::string>& scripts) {
    std::string text = "#!/bin/bash\n";
    text += kMadeBy;
    text +=
        "# Submits the case's jobs, each to start when the one before it has succeeded; prints "
        "their numbers.\n"
        "set -euo pipefail\n"
        "here=$(cd \"${BASH_SOURCE[0]%/*}\" && pwd)\n";
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      const std::string name = scripts[i].substr(scripts[i].rfind('/') + 1);
      text += "job=$(sbatch --parsable ";
      if (i > 0) text += "--dependency=\"afterok:${job%%;*}\" --kill-on-invalid-dep=yes ";
      text += "\"$here\"/" + shell_quote(name) + ")\n";
      text += "echo \"$job\"\n";
    }
    return {path, std::move(text), true};
  }

  const Workload& workload_;
  const ResolvedCase& resolved_;
  const catalog::Case& values_;
  const catalog::SlurmTarget slurm_;
  Findings findings_;
};

}  // namespace

std::string pyxis_image(const std::string& uri) {
  const auto slash = uri.find('/');
  if (slash == std::string::npos || slash == 0) return uri;
  const std::string first = uri.substr(0, slash);
  const bool registry = first.find_first_of(".:") != std::string::npos || first == "localhost";
  // What a variable stands for is known on the cluster only.
  if (!registry || first.find("${") != std::string::npos) return uri;
  return first + "#" + uri.substr(slash + 1);
}

std::string slurm_hosts() {
  return "mapfile -t hosts < <(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n";
}

std::string slurm_answers(double start_timeout, int spare) {
  return fmt::format(
      "\n# Every node answers within {0} s, or the job ends.\n"
      "answers=$(timeout -k 10 {0} srun --ntasks=\"$SLURM_JOB_NUM_NODES\" --ntasks-per-node=1 "
      "--mpi=none \\\n"
      "  --export=ALL bash -c 'echo \"$SLURMD_NODENAME\"') || true\n"
      "missing=()\n"
      "for host in \"${{hosts[@]}}\"; do\n"
      "  [[ $'\\n'$answers$'\\n' == *$'\\n'\"$host\"$'\\n'* ]] || missing+=(\"$host\")\n"
      "done\n"
      "if ((${{#missing[@]}} > {1})); then\n"
      "  echo \"muster: within {0} s these nodes did not come: ${{missing[*]}}\" >&2\n"
      "  exit 124\n"
      "fi\n",
      static_cast<long>(std::ceil(start_timeout)), spare);
}

std::string slurm_time(double seconds) {
  const auto total = static_cast<long long>(std::ceil(seconds));
  return fmt::format("{:02}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

Result<Rendered> render_slurm_workload(const Workload& workload, const ResolvedCase& resolved) {
  return SlurmScript(workload, resolved).render();
}

}  // namespace muster::launch
