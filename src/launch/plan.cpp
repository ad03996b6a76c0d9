#include "launch/plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/schema.h"
#include "launch/shell.h"
#include "launch/workload.h"

namespace muster::launch {
namespace {

using catalog::Case;
using catalog::ResolvedCase;

std::string duration(double seconds) {
  const auto total = static_cast<long long>(std::ceil(seconds));
  return fmt::format("{:02}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

int threads_of(const Case& values, Target target, const Machine& machine) {
  const int ranks = std::max(1, values.topology.accelerators_per_node);
  if (values.resources.threads) return *values.resources.threads;
  if (values.resources.cpu) return std::max(1, static_cast<int>(*values.resources.cpu) / ranks);
  return target == Target::kLocal
             ? std::max(1, machine.cores / std::max(1, values.topology.world()))
             : 1;
}

/// What the rules of facts/environment.yaml say for this case and target; and, on CPUs, what shows
/// how MPI finds its ways.
Assignments environment_of(const Case& values, Target target, const facts::Facts& known) {
  Assignments variables =
      facts::needed_environment(known.environment, circumstances_of(values, target, known));
  if (values.env.debug && values.topology.device() != "cuda") {
    variables.emplace_back("OMPI_MCA_pml_base_verbose", "10");
    variables.emplace_back("OMPI_MCA_btl_base_verbose", "10");
  }
  return variables;
}

class Arguments {
 public:
  explicit Arguments(std::vector<std::string> start) : words_(std::move(start)) {}
  void add(const std::string& option, const std::string& value) {
    words_.push_back(option);
    words_.push_back(value);
  }
  void add(const std::string& option, const char* value) { add(option, std::string(value)); }
  void add(const std::string& option, double value) { add(option, fmt::format("{}", value)); }
  void add(const std::string& option, int value) { add(option, std::to_string(value)); }
  void add(const std::string& option, std::int64_t value) { add(option, std::to_string(value)); }
  void flag(const std::string& option) { words_.push_back(option); }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

std::vector<std::string> trainer_arguments(const ResolvedCase& resolved, const Place& place,
                                           int threads) {
  const Case& values = resolved.values;
  const auto settle = [&](const char* key, const std::string& value) {
    return settle_path(resolved, key, value, place.project, place.caller).string();
  };
  Arguments arguments({place.trainer, "train"});
  const std::string& model = values.identity.model;
  arguments.add("--model",
                model.find('/') == std::string::npos ? model : settle("case.model", model));
  arguments.add("--data", values.data.path.empty() ? place.data.string()
                                                   : settle("data.path", values.data.path));
  const std::string& tokenizer = values.data.tokenizer;
  if (!tokenizer.empty()) {
    arguments.add("--tokenizer",
                  tokenizer.starts_with("bpe:") ? tokenizer : settle("data.tokenizer", tokenizer));
  }
  arguments.add("--out", values.checkpoint.dir.empty()
                             ? (place.run_directory / "out").string()
                             : settle("checkpoint.dir", values.checkpoint.dir));
  arguments.add("--metrics", place.run_directory.string());

  arguments.add("--steps", values.batch.steps);
  arguments.add("--seq-len", values.batch.seq_len);
  arguments.add("--micro-batch", values.batch.micro);
  arguments.add("--global-batch", values.global_batch());
  arguments.add("--precision", values.precision);
  arguments.add("--strategy", values.parallelism.strategy());
  if (values.parallelism.shard_size) arguments.add("--shard-size", *values.parallelism.shard_size);
  if (values.parallelism.activation_checkpointing) arguments.flag("--activation-checkpointing");

  arguments.add("--lr", values.optimizer.lr);
  arguments.add("--min-lr", values.optimizer.min_lr);
  arguments.add("--warmup", values.optimizer.warmup);
  arguments.add("--weight-decay", values.optimizer.weight_decay);
  arguments.add("--beta1", values.optimizer.beta1);
  arguments.add("--beta2", values.optimizer.beta2);
  arguments.add("--clip", values.optimizer.clip);
  arguments.add("--seed", std::int64_t{values.seed});

  arguments.add("--eval-every", values.eval.every);
  arguments.add("--eval-batches", values.eval.batches);
  arguments.add("--checkpoint-every", values.checkpoint.every);
  arguments.add("--keep", values.checkpoint.keep);
  const std::string& resume = values.checkpoint.resume;
  arguments.add("--resume", resume == "auto" || resume == "never"
                                ? resume
                                : settle("checkpoint.resume", resume));
  if (values.checkpoint.verify) arguments.flag("--verify-checkpoint");

  arguments.add("--comm-timeout", values.comm_timeout);
  arguments.add("--threads", threads);
  arguments.flag(values.deterministic ? "--deterministic" : "--no-deterministic");
  arguments.add("--transport", values.topology.world() == 1 ? "single" : values.transport.c_str());
  arguments.add("--device", values.topology.device());
  arguments.flag("--measure-peak");
  return arguments.take();
}

Findings without_effect(const ResolvedCase& resolved, Target target) {
  Findings findings;
  for (const UnusedKey& unused : unused_keys(target)) {
    if (!unused.refused) continue;
    for (const auto& [leaf, origin] : resolved.origins) {
      if (!is_asked(resolved, unused.key, leaf)) continue;
      findings.push_back(error_at(position_of(resolved, leaf), "launch-no-effect",
                                  fmt::format("{} has no effect on a native case on {}: {}", leaf,
                                              to_string(target), unused.reason),
                                  fmt::format("leave {} out", leaf)));
    }
  }
  return findings;
}

Findings unsupported(const ResolvedCase& resolved, Target target, const Machine& machine) {
  const Case& values = resolved.values;
  Findings findings;
  if (values.launcher != "native") {
    findings.push_back(error_at(position_of(resolved, "launcher"), "launch-launcher",
                                "the launcher '" + values.launcher + "' can't be started here",
                                "only native cases are run by this version"));
  }
  if (values.identity.kind != "train") {
    findings.push_back(
        error_at(position_of(resolved, "case.kind"), "launch-kind",
                 "a native case of kind " + values.identity.kind + " can't be run by this version",
                 "kind: train"));
  }
  const std::int64_t threads =
      std::int64_t{values.topology.world()} * threads_of(values, target, machine);
  if (target == Target::kLocal && values.targets.local && !values.targets.local->oversubscribe &&
      threads > machine.cores) {
    findings.push_back(error_at(
        position_of(resolved, "targets.local.oversubscribe"), "launch-cores",
        fmt::format("the run has {} threads, this machine {} cores", threads, machine.cores),
        "fewer processes or threads, or targets.local.oversubscribe: true"));
  }
  if (target == Target::kSlurm && values.targets.slurm &&
      !values.targets.slurm->container.empty()) {
    findings.push_back(
        error_at(position_of(resolved, "targets.slurm.container"), "launch-container",
                 "a native case does not run in a container",
                 "leave targets.slurm.container out; muster-train must be on the nodes"));
  }
  for (Finding& finding : without_effect(resolved, target)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace

const std::vector<UnusedKey>& unused_keys(Target target) {
  static const auto kNoRendezvous = "its processes find each other through what starts them";
  static const std::vector<UnusedKey> kEverywhere = {
      {"rendezvous.backend", kNoRendezvous, true},
      {"rendezvous.port", kNoRendezvous, true},
      {"rendezvous.id", kNoRendezvous, true},
      {"rendezvous.elastic", kNoRendezvous, true},
      {"rendezvous.node_rank", kNoRendezvous, true},
      {"rendezvous.max_restarts", "mpirun and srun start no process again", true},
      {"entrypoint", "the program is muster-train", true},
      {"topology.min_nodes", "its world is fixed", true},
      {"data.config", "it reads texts and token shards, not a hub's data sets", true},
      {"data.mode", "it reads texts and token shards, not a hub's data sets", true},
      {"checkpoint.format", "it writes its own layout, and safetensors beside the last", true},
      {"expect.pattern", "its verdict comes from its events, not from its log", true},
      {"resilience.max_retries", "retries are not counted; `muster run --resume RUN` goes on",
       true},
      {"resilience.hang", "a stall is seen in its events, not in its log", true},
      {"env.forks", "the trainer forks nothing", true},
      {"steps", "its run is one job", true},
      {"services", "muster-train does not serve", true},
      {"description", "for people", false},
      {"topology.instance_type", "what the case is made for; checked against the facts", false},
      {"image", "for targets that run containers", false},
      {"storage", "for targets that run containers; checkpoint.dir is checked against it", false},
      {"scheduling", "for Kubernetes", false},
      {"resources.hugepages_2Mi", "for Kubernetes", false},
      {"targets.kubernetes", "of another target", false},
      {"targets.hyperpod-eks", "of another target", false},
      {"targets.batch", "of another target", false},
  };
  static const auto with = [](std::vector<UnusedKey> more) {
    more.insert(more.begin(), kEverywhere.begin(), kEverywhere.end());
    return more;
  };
  static const std::vector<UnusedKey> kLocal = with({
      {"rendezvous.start_timeout", "mpirun starts all processes of this machine at once", true},
      {"env.profile", "this machine's processes use no fabric", false},
      {"targets.slurm", "of another target", false},
      {"resources.memory", "for targets that hand out memory", false},
      {"resilience.auto_resume", "for targets that restart a job", false},
  });
  static const std::vector<UnusedKey> kSlurm = with({
      {"targets.local", "of another target", false},
      {"targets.slurm.mounts", "a native case runs in no container", true},
      {"targets.slurm.venv", "muster-train is no Python program", true},
      {"targets.slurm.workdir", "its processes start in the project's folder", true},
  });
  return target == Target::kLocal ? kLocal : kSlurm;
}

std::filesystem::path settle_path(const ResolvedCase& resolved, const std::string& key,
                                  const std::string& value, const std::filesystem::path& project,
                                  const std::filesystem::path& caller) {
  std::filesystem::path path(value);
  if (path.is_absolute()) return path;
  const auto origin = resolved.origins.find(key);
  const bool typed =
      origin != resolved.origins.end() && origin->second.kind == catalog::Origin::Kind::kOption;
  return ((typed ? caller : project) / path).lexically_normal();
}

Result<Job> plan_job(const ResolvedCase& resolved, const Place& place, Target target,
                     const Machine& machine, const facts::Facts& known) {
  Findings findings = unsupported(resolved, target, machine);
  if (has_errors(findings)) return Failure(std::move(findings));
  const Case& values = resolved.values;

  Job job;
  job.run_id = place.run_id;
  job.case_name = values.name;
  job.run_directory = place.run_directory;
  job.project = place.project;
  job.nodes = values.topology.nodes;
  job.ranks_per_node = values.topology.accelerators_per_node;
  job.gpus_per_node =
      values.topology.device() == "cuda" ? values.topology.accelerators_per_node : 0;
  job.threads = threads_of(values, target, machine);
  job.program = trainer_arguments(resolved, place, job.threads);

  job.environment = environment_of(values, target, known);
  for (const auto& [name, value] : values.env.set) {
    const std::string variable = referenced_variable(value);
    if (variable.empty()) {
      job.environment.emplace_back(name, value);
      continue;
    }
    job.secrets.push_back(variable);
    if (variable != name) job.references.emplace_back(name, variable);
  }
  job.unset = values.env.unset;
  for (const catalog::Secret& secret : values.secrets) job.secrets.push_back(secret.env);
  std::sort(job.secrets.begin(), job.secrets.end());
  job.secrets.erase(std::unique(job.secrets.begin(), job.secrets.end()), job.secrets.end());

  job.start_timeout = values.rendezvous.start_timeout;
  if (!values.resources.memory.empty()) job.memory = parse_size(values.resources.memory);
  job.slurm.time = duration(values.expect.timeout);
  if (const auto& slurm = values.targets.slurm) {
    job.slurm.partition = slurm->partition;
    job.slurm.account = slurm->account;
    if (!slurm->time.empty()) job.slurm.time = slurm->time;
    if (!slurm->mpi.empty()) job.slurm.mpi = slurm->mpi;
    job.slurm.options = slurm->options;
  }
  job.slurm.auto_resume = values.resilience.auto_resume;
  return job;
}

runs::Expectations expectations(const Case& values) {
  runs::Expectations expected;
  expected.world = values.topology.world();
  expected.steps = values.batch.steps;
  expected.loss_fell = values.expect.loss_trend == "down";
  expected.eval_loss_min = values.expect.eval_loss_min;
  expected.eval_loss_max = values.expect.eval_loss_max;
  expected.checkpoint_reloads = values.checkpoint.verify;
  expected.transport = values.topology.world() == 1 ? "single" : values.transport;
  expected.mfu_min = values.expect.min_mfu;
  expected.tokens_per_second_min = values.expect.min_tokens_per_second;
  if (values.expect.straggler_ratio) expected.straggler_ratio = *values.expect.straggler_ratio;
  if (values.expect.straggler_mads) expected.straggler_mads = *values.expect.straggler_mads;
  return expected;
}

std::string referenced_variable(const std::string& value) {
  if (value.size() < 4 || !value.starts_with("${") || !value.ends_with("}")) return {};
  std::string name = value.substr(2, value.size() - 3);
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return plain ? name : std::string();
}

}  // namespace muster::launch
