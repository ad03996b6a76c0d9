// The directives of a batch script: form, options, values, log files.
#include <algorithm>

#include <fmt/format.h>

#include "base/document.h"
#include "base/text.h"
#include "lint/sbatch_rules.h"

namespace muster::lint {
namespace {

namespace fs = std::filesystem;

class Directives {
 public:
  explicit Directives(const SbatchSubject& subject) : subject_(subject) {}

  Findings check() {
    check_form();
    if (!subject_.known.slurm.known()) {
      findings_.push_back(warning_at(subject_.place(0), "sbatch-unchecked",
                                     "options and Slurm's variables are not checked: there is no "
                                     "facts/slurm-options.yaml"));
    }
    for (const SbatchOption& option : subject_.script.options) check_option(option);
    for (const char* stream : {"output", "error"}) {
      if (const SbatchOption* option = subject_.script.find(stream)) check_log(*option);
    }
    return std::move(findings_);
  }

 private:
  void wrong(std::size_t at, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(subject_.place(at), rule, std::move(message), std::move(hint)));
  }

  void check_form() {
    const SbatchScript& script = subject_.script;
    if (!script.has_interpreter) {
      wrong(0, "sbatch-interpreter", "sbatch refuses a script that does not start with #!",
            "#!/bin/bash");
    }
    if (const auto at = subject_.source.text.find("\r\n"); at != std::string::npos) {
      wrong(at, "sbatch-interpreter", "sbatch refuses a script with DOS line ends",
            "save it with line feeds only");
    }
    for (const std::size_t at : script.late) {
      wrong(at, "sbatch-directive-late",
            fmt::format("Slurm does not read this directive: the script's first command is on line "
                        "{}",
                        subject_.place(script.first_command).line),
            "move it above the first command");
    }
    for (const std::size_t at : script.misspelt) {
      wrong(at, "sbatch-directive-form", "this looks like a directive, but Slurm does not read it",
            "#SBATCH at the start of the line, in capitals; ## switches a directive off");
    }
  }

  void check_option(const SbatchOption& option) {
    if (!option.is_known) {
      if (subject_.known.slurm.known()) unknown(option);
    } else if (option.wants_value) {
      wrong(option.at, "sbatch-option-value", fmt::format("{} needs a value", option.written));
    } else if (option.refuses_value) {
      wrong(option.at, "sbatch-option-value", fmt::format("{} takes no value", option.written));
    }
    const bool pins = option.name == "account" || option.name == "nodelist" ||
                      option.name == "reservation" || option.name == "exclude" ||
                      option.name == "partition" || option.name == "mail-user" ||
                      option.name == "qos";
    if (pins && option.has_value) {
      Finding finding =
          warning_at(subject_.place(option.at), "sbatch-pin",
                     fmt::format("{} {} is of one cluster", option.written, option.value),
                     "leave it to the submitter: sbatch --" + option.name + "=…");
      if (subject_.in_catalog()) finding.severity = Severity::kError;
      findings_.push_back(std::move(finding));
    }
  }

  void unknown(const SbatchOption& option) {
    const facts::SlurmOptions& slurm = subject_.known.slurm;
    if (option.written.rfind('-', 0) != 0) {
      wrong(
          option.at, "sbatch-option",
          fmt::format("\"{}\" is no option: Slurm takes it for the script's name", option.written));
      return;
    }
    std::string hint;
    if (facts::find_option(slurm.hyperpod, option.name)) {
      hint = "an option of srun on HyperPod, not of sbatch";
    } else if (facts::find_option(slurm.srun, option.name)) {
      hint = "an option of srun, not of sbatch";
    } else {
      std::vector<std::string> names;
      for (const facts::SlurmOption& known : slurm.sbatch) names.push_back("--" + known.name);
      if (const auto meant = did_you_mean("--" + option.name, names))
        hint = fmt::format("did you mean {}?", *meant);
    }
    wrong(option.at, "sbatch-option", fmt::format("sbatch has no option {}", option.written),
          std::move(hint));
  }

  // Slurm opens the log before it runs the script, and drops all output when it can't.
  void check_log(const SbatchOption& option) {
    const fs::path folder = fs::path(option.value).parent_path();
    if (folder.empty() || folder == "." || folder == "/tmp" || folder == "/dev") return;
    const FileSystem* files = subject_.source.files;
    const bool patterned = folder.string().find('%') != std::string::npos;
    const fs::path beside =
        folder.is_absolute() ? folder : subject_.source.path.parent_path() / folder;
    if (files && !patterned && files->exists(beside)) return;
    wrong(option.at, "sbatch-log-directory",
          fmt::format("nothing creates {}/ before Slurm opens the log there: the output would be "
                      "dropped silently",
                      folder.string()),
          makes(folder.string())
              ? "the script's own mkdir comes too late; write beside the job, e.g. "
                "--output=%x_%j.out"
              : "write beside the job, e.g. --output=%x_%j.out");
  }

  bool makes(const std::string& folder) const {
    const auto& commands = subject_.script.shell.commands;
    return std::any_of(commands.begin(), commands.end(), [&](const ShellCommand& command) {
      return !command.words.empty() && command.words[0].text == "mkdir" &&
             std::any_of(command.words.begin(), command.words.end(),
                         [&](const ShellWord& word) { return word.text == folder; });
    });
  }

  const SbatchSubject& subject_;
  Findings findings_;
};

// A whole number, or nothing: "4", not "2-4" or "$N".
std::optional<std::int64_t> number(const SbatchOption* option) {
  if (!option) return std::nullopt;
  return Node::scalar(option->value, false, {}).as_int();
}

// "gpu:8", "gpu:h100:8,shard:2" -> 8.
std::optional<std::int64_t> gpus_of(const SbatchOption* option) {
  if (!option) return std::nullopt;
  std::string text = option->value.substr(0, option->value.find(','));
  if (option->name == "gres" && text.rfind("gpu", 0) != 0) return std::nullopt;
  const auto colon = text.rfind(':');
  if (colon != std::string::npos) text.erase(0, colon + 1);
  return Node::scalar(text, false, {}).as_int();
}

class Numbers {
 public:
  explicit Numbers(const SbatchSubject& subject) : subject_(subject) {}

  Findings check() {
    check_tasks();
    check_gpus();
    check_launchers();
    return std::move(findings_);
  }

 private:
  const SbatchOption* option(const char* name) const { return subject_.script.find(name); }

  void wrong(std::size_t at, std::string message, std::string hint = {}) {
    findings_.push_back(
        error_at(subject_.place(at), "sbatch-tasks", std::move(message), std::move(hint)));
  }

  void check_tasks() {
    const auto nodes = number(option("nodes")), tasks = number(option("ntasks")),
               each = number(option("ntasks-per-node"));
    for (const char* name : {"nodes", "ntasks", "ntasks-per-node", "cpus-per-task"}) {
      if (const auto value = number(option(name)); value && *value < 1)
        wrong(option(name)->at, fmt::format("--{} is {}", name, *value), "at least 1");
    }
    if (nodes && tasks && *tasks < *nodes) {
      wrong(option("ntasks")->at,
            fmt::format("{} tasks on {} nodes: {} nodes would have none", *tasks, *nodes,
                        *nodes - *tasks),
            fmt::format("--ntasks={} or more", *nodes));
    } else if (nodes && tasks && each && *tasks != *nodes * *each) {
      wrong(option("ntasks")->at,
            fmt::format("--ntasks is {}, but {} nodes of {} tasks make {}", *tasks, *nodes, *each,
                        *nodes * *each),
            "leave --ntasks out");
    }
  }

  void check_gpus() {
    const SbatchOption* of_node = option("gpus-per-node");
    const SbatchOption* of_task = option("gpus-per-task");
    const SbatchOption* gres = option("gres");
    const auto a_node = gpus_of(of_node), generic = gpus_of(gres), a_task = gpus_of(of_task);
    if (a_node && generic && *a_node != *generic) {
      wrong(
          gres->at,
          fmt::format("--gres asks for {} GPUs a node, --gpus-per-node for {}", *generic, *a_node),
          "one of the two");
    }
    const auto node = a_node ? a_node : generic;
    const auto each = number(option("ntasks-per-node"));
    if (node && a_task && each && *a_task * *each > *node) {
      wrong(of_task->at, fmt::format("{} tasks of {} GPUs are more than the {} of a node", *each,
                                     *a_task, *node));
    }
    if (of_task && !option("ntasks") && !each && !option("gpus") && !option("ntasks-per-gpu")) {
      wrong(of_task->at, "--gpus-per-task needs --ntasks or --gpus: Slurm refuses it alone",
            "--ntasks-per-node, or --gpus-per-node instead");
    }
  }

  // torchrun and its kin start a node's processes themselves.
  void check_launchers() {
    const auto nodes = number(option("nodes")), each = number(option("ntasks-per-node"));
    for (const ShellCommand& command : subject_.script.shell.commands) {
      for (std::size_t i = 0; i < command.words.size(); ++i) {
        const std::string program = fs::path(command.words[i].text).filename().string();
        if (program != "torchrun" && program != "torch.distributed.run") continue;
        const bool own_tasks = std::any_of(
            command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(i),
            [](const ShellWord& word) {
              return word.text.rfind("--ntasks", 0) == 0 || word.text.rfind("-n", 0) == 0;
            });
        if (each && *each > 1 && !own_tasks) {
          wrong(command.words[i].at,
                fmt::format("torchrun starts a node's processes itself, but would run {} times a "
                            "node",
                            *each),
                "--ntasks-per-node=1");
        }
        check_nnodes(command, i, nodes);
      }
    }
  }

  void check_nnodes(const ShellCommand& command, std::size_t from,
                    const std::optional<std::int64_t>& nodes) {
    for (std::size_t i = from + 1; i < command.words.size(); ++i) {
      const ShellWord& word = command.words[i];
      if (word.text.rfind("--nnodes=", 0) != 0) continue;
      const auto asked = Node::scalar(word.text.substr(9), false, {}).as_int();
      if (nodes && asked && *asked != *nodes) {
        wrong(word.at, fmt::format("{} on a job of {} nodes", word.text, *nodes),
              "--nnodes=$SLURM_JOB_NUM_NODES");
      }
    }
  }

  const SbatchSubject& subject_;
  Findings findings_;
};

}  // namespace

Position SbatchSubject::place(std::size_t at) const {
  return position_at(source.text, at, source.path.string());
}

bool SbatchSubject::in_catalog() const {
  const auto relative = fs::absolute(source.path)
                            .lexically_normal()
                            .lexically_relative(fs::absolute(source.root).lexically_normal());
  return !relative.empty() &&
         (*relative.begin() == "test_cases" || *relative.begin() == "micro-benchmarks");
}

Findings check_directives(const SbatchSubject& subject) {
  return Directives(subject).check();
}

Findings check_numbers(const SbatchSubject& subject) {
  return Numbers(subject).check();
}

}  // namespace muster::lint
