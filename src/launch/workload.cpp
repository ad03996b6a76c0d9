#include "launch/workload.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "base/schema.h"
#include "launch/key_use.h"
#include "launch/kubernetes.h"
#include "launch/plan.h"

namespace muster::launch {
namespace {

using catalog::Case;
using catalog::ResolvedCase;

/// What tells the objects of one run from those of another of the same case: the end of its id,
/// which is random. Empty for files that are committed.
std::string own_suffix(const std::string& run_id) {
  constexpr std::size_t kRandom = 4;
  if (run_id.empty()) return {};
  std::string suffix = "-";
  for (const char c : run_id.substr(run_id.size() - std::min(kRandom, run_id.size()))) {
    const auto letter = static_cast<unsigned char>(c);
    suffix += std::isalnum(letter) ? static_cast<char>(std::tolower(letter)) : 'x';
  }
  return suffix;
}

/// Of an instance's processors and memory, what its agents (kubelet, device plugins, the container
/// runtime, ECS) leave to a job. Amazon's EKS images reserve about 1 % of the memory and below 1 %
/// of the processors of large types, and more of small ones; a tenth leaves room for daemon sets.
constexpr double kShareOfCpus = 0.9;
constexpr double kShareOfMemory = 0.9;

bool runs_in_pods(Target target) {
  return target == Target::kKubernetes || target == Target::kHyperpodEks;
}

bool runs_containers(const Case& values, Target target) {
  if (target == Target::kSlurm)
    return values.targets.slurm && !values.targets.slurm->container.empty();
  return target != Target::kLocal;
}

std::optional<std::int64_t> bytes_of(const std::string& text) {
  const auto bytes = parse_size(text);
  return bytes ? std::optional<std::int64_t>(std::llround(*bytes)) : std::nullopt;
}

const facts::Instance* instance_of(const facts::Facts& known, const std::string& type) {
  const auto found = std::find_if(known.instances.begin(), known.instances.end(),
                                  [&](const auto& instance) { return instance.name == type; });
  return found == known.instances.end() ? nullptr : &*found;
}

/// Without SageMaker's "ml.".
std::string plain_type(const std::string& type) {
  return type.starts_with("ml.") ? type.substr(3) : type;
}

NodeResources resources_of(const Case& values, const facts::Instance* instance) {
  NodeResources resources;
  resources.accelerator = values.topology.accelerator;
  const int processes = values.topology.accelerators_per_node;
  double share = 1;
  if (resources.accelerator != "cpu") {
    resources.accelerators = processes;
    if (instance && instance->accelerators) {
      // On Neuron a process computes on a core; devices are what a node hands out.
      if (resources.accelerator == "neuron") {
        const int cores = std::max(1, instance->accelerators->cores.value_or(1));
        resources.accelerators = (processes + cores - 1) / cores;
      }
      if (const auto count = instance->accelerators->count)
        share = std::min(1.0, static_cast<double>(resources.accelerators) / *count);
    }
  }
  if (instance && values.env.profile == "efa") {
    const int count = instance->network.efa_count.value_or(0);
    if (count > 0) resources.efa = std::max(1, static_cast<int>(std::floor(count * share)));
    for (const facts::Interface& interface : instance->network.interfaces) {
      if (interface.type != "interface" &&
          static_cast<int>(resources.efa_cards.size()) < resources.efa)
        resources.efa_cards.push_back(interface.card);
    }
  }
  if (instance && instance->cpu.vcpus)
    resources.cpu = std::max(1.0, std::floor(*instance->cpu.vcpus * share * kShareOfCpus));
  if (instance && instance->memory_bytes) {
    constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
    const double bytes = static_cast<double>(*instance->memory_bytes) * share * kShareOfMemory;
    resources.memory = static_cast<std::int64_t>(std::floor(bytes / kGibibyte) * kGibibyte);
  }
  if (values.resources.cpu) resources.cpu = values.resources.cpu;
  if (const auto memory = bytes_of(values.resources.memory)) resources.memory = memory;
  resources.hugepages = bytes_of(values.resources.hugepages_2Mi);
  resources.shm = bytes_of(values.storage.shm);
  return resources;
}

void set_variable(Workload& workload, const std::string& name, const std::string& value) {
  const auto found = std::find_if(workload.environment.begin(), workload.environment.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  if (found == workload.environment.end()) {
    workload.environment.emplace_back(name, value);
  } else {
    found->second = value;
  }
}

/// Where a job on a cluster keeps what it writes: on the first file system that all nodes share,
/// the same place every time, so that a job that starts again finds its checkpoints.
Word run_directory_of(const Case& values, const Workload& workload, Target target,
                      const Ground& ground) {
  if (!ground.run_directory.empty() && !runs_in_pods(target) && target != Target::kBatch)
    return {ground.run_directory, false};
  const std::string below = "/" + workload.object_name;
  if (!values.storage.mounts.empty() && target != Target::kLocal)
    return {values.storage.mounts.front().path + "/runs" + below, false};
  if (target == Target::kSlurm) return {"$SLURM_SUBMIT_DIR/runs" + below, true};
  if (target == Target::kLocal) return {"$PWD/runs" + below, true};
  return {"/tmp/runs" + below, false};
}

/// What stands in env.set for something that only a launch knows.
std::string settled_value(const Workload& workload, const std::string& value) {
  const Word word = manifest_word(value);
  if (!word.shell) return value;
  std::string text = value;
  const auto replace = [&](const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size()))
      text.replace(at, what.size(), with);
  };
  if (!workload.run_directory.shell) {
    replace("${run.dir}", workload.run_directory.text);
    replace("${checkpoint.dir}", workload.run_directory.text + "/checkpoints");
  }
  return text;
}

class Planner {
 public:
  Planner(const ResolvedCase& resolved, Target target, const facts::Facts& known,
          const std::string& run_id, const Ground& ground)
      : resolved_(resolved),
        case_(resolved.values),
        target_(target),
        known_(known),
        ground_(ground) {
    workload_.run_id = run_id;
  }

  Result<Workload> plan() {
    findings_ = foreign_refusals(resolved_, target_);
    name_it();
    size_it();
    if (has_errors(findings_)) return Failure(std::move(findings_));
    workload_.run_directory = run_directory_of(case_, workload_, target_, ground_);
    set_environment();
    find_image();
    give_command();
    if (has_errors(findings_)) return Failure(std::move(findings_));
    return std::move(workload_);
  }

 private:
  void wrong(const char* key, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(
        error_at(position_of(resolved_, key), rule, std::move(message), std::move(hint)));
  }

  void name_it() {
    workload_.case_name = case_.name;
    workload_.kind = case_.identity.kind;
    workload_.object_name = object_name_of(case_.name);
    if (workload_.object_name.empty()) {
      wrong("name", "launch-name",
            fmt::format("the last part of {} makes no name of at most 40 characters", case_.name),
            "a shorter name of the model's folder");
    }
    if (runs_in_pods(target_)) workload_.object_name += own_suffix(workload_.run_id);
    if (case_.launcher == "native") {
      wrong("launcher", "launch-launcher",
            fmt::format("native cases are not started on {}", to_string(target_)),
            "they run on local and slurm");
    }
    if (!declares(case_, target_) && target_ != Target::kLocal) {
      wrong("targets", "launch-target",
            fmt::format("the case does not say that it runs on {}", to_string(target_)),
            fmt::format("targets.{} in its manifest", to_string(target_)));
    }
  }

  void size_it() {
    workload_.nodes = case_.topology.nodes;
    workload_.min_nodes =
        case_.rendezvous.elastic ? case_.topology.min_nodes : case_.topology.nodes;
    workload_.processes = case_.topology.accelerators_per_node;
    workload_.instance_type = plain_type(case_.topology.instance_type);
    workload_.instance = instance_of(known_, workload_.instance_type);
    workload_.resources = resources_of(case_, workload_.instance);
    workload_.workdir = case_.entrypoint.workdir;
    if (target_ == Target::kSlurm && case_.targets.slurm && !case_.targets.slurm->workdir.empty())
      workload_.workdir = case_.targets.slurm->workdir;
    workload_.mounts = case_.storage.mounts;
    workload_.scratch = case_.storage.scratch;
    workload_.resilience = case_.resilience;
    workload_.scheduling = case_.scheduling;
    workload_.timeout = case_.expect.timeout;
    workload_.start_timeout = case_.rendezvous.start_timeout;
    if (runs_in_pods(target_)) {
      for (const catalog::Mount& mount : workload_.mounts) {
        if (mount.claim.empty())
          wrong("storage.mounts", "launch-claim",
                fmt::format("the mount {} names no claim", mount.name), "claim: fsx-claim");
      }
    }
  }

  void set_environment() {
    if (target_ != Target::kLocal) {
      workload_.environment =
          facts::needed_environment(known_.environment, circumstances_of(case_, target_, known_));
    } else if (case_.env.debug) {
      workload_.environment = {{"TORCH_DISTRIBUTED_DEBUG", "DETAIL"}};
    }
    if (case_.resources.threads)
      set_variable(workload_, "OMP_NUM_THREADS", std::to_string(*case_.resources.threads));
    if (!workload_.run_id.empty()) set_variable(workload_, "MUSTER_RUN_ID", workload_.run_id);
    if (!workload_.run_directory.shell)
      set_variable(workload_, "MUSTER_RUN_DIR", workload_.run_directory.text);
    if (!ground_.data.empty()) set_variable(workload_, "MUSTER_DATA", ground_.data);
    for (const auto& [name, value] : case_.env.set) {
      const std::string text = settled_value(workload_, value);
      if (target_ != Target::kSlurm && target_ != Target::kLocal && manifest_word(text).shell) {
        wrong("env.set", "launch-variable",
              fmt::format("{} takes {} from whoever submits, which a container does not see", name,
                          value),
              "a value, or the secret's name under secrets");
        continue;
      }
      const std::string variable = referenced_variable(text);
      if (!variable.empty() && variable.rfind("MUSTER_", 0) != 0) {
        // By name only: it may be a secret.
        workload_.secrets.push_back({variable, {}, {}});
      }
      set_variable(workload_, name, text);
    }
    workload_.unset = case_.env.unset;
    for (const std::string& name : workload_.unset)
      std::erase_if(workload_.environment,
                    [&](const auto& variable) { return variable.first == name; });
    for (const catalog::Secret& secret : case_.secrets)
      workload_.secrets.push_back({secret.env, secret.secret, secret.key});
    check_data();
  }

  void check_data() {
    const auto& named = resolved_.referenced;
    if (std::find(named.begin(), named.end(), "data.path") == named.end()) return;
    if (!case_.data.path.empty() || !ground_.data.empty()) return;
    if (target_ == Target::kLocal || target_ == Target::kSlurm) {
      // Left to whoever submits the file.
      workload_.secrets.push_back({"MUSTER_DATA", {}, {}});
      return;
    }
    wrong("data", "launch-data",
          fmt::format("its command names the data's path, which is not known on {}",
                      to_string(target_)),
          "data.path, on a file system that all nodes share");
  }

  void find_image() {
    if (!runs_containers(case_, target_)) return;
    workload_.image = case_.image.uri;
    if (workload_.image.empty() && !case_.image.dockerfile.empty())
      workload_.image = "${IMAGE_URI}";
    if (workload_.image.empty()) workload_.image = case_.image.base;
    if (workload_.image.empty())
      wrong("image", "launch-image",
            fmt::format("{} runs containers, and the case names no image", to_string(target_)),
            "image.uri, or image.dockerfile");
  }

  Endpoint endpoint() const {
    Endpoint e;
    const std::string nodes = std::to_string(workload_.nodes);
    e.port = case_.rendezvous.port;
    switch (target_) {
      case Target::kLocal:
        e.nodes = {nodes, false};
        e.node_rank = {"${MUSTER_NODE}", true};
        e.host = {"127.0.0.1", false};
        e.id = {workload_.run_id.empty() ? workload_.object_name : workload_.run_id, false};
        break;
      case Target::kSlurm:
        e.nodes = {"$SLURM_JOB_NUM_NODES", true};
        e.node_rank = {"$SLURM_NODEID", true};
        e.host = {"$MASTER_ADDR", true};
        e.id = {"$SLURM_JOB_ID", true};
        break;
      case Target::kBatch:
        e.nodes = {"$AWS_BATCH_JOB_NUM_NODES", true};
        e.node_rank = {"$MUSTER_NODE", true};
        e.host = {"$MASTER_ADDR", true};
        e.id = {"$AWS_BATCH_JOB_ID", true};
        if (workload_.nodes == 1) {
          e.nodes = {"1", false};
          e.node_rank = {"0", false};
          e.host = {"127.0.0.1", false};
          if (case_.launcher == "mpirun") e.hosts = e.host;
        } else if (case_.launcher == "mpirun") {
          e.hosts = {"$MUSTER_HOSTS", true};
          e.host_file = {"/tmp/muster-hosts", false};
        }
        break;
      case Target::kKubernetes:
      case Target::kHyperpodEks:
        e = kubernetes_endpoint(case_, workload_.object_name, target_ == Target::kHyperpodEks);
        break;
    }
    return e;
  }

  void give_command() {
    const std::string& launcher = case_.launcher;
    if (launcher == "hyperpodrun" && target_ != Target::kHyperpodEks)
      wrong("launcher", "launch-launcher", "hyperpodrun is part of HyperPod's operator on EKS",
            "launcher: torchrun");
    const bool needs_key = launcher == "mpirun" && target_ == Target::kBatch && workload_.nodes > 1;
    if (needs_key && case_.targets.batch_ssh_key.empty())
      wrong("launcher", "launch-launcher",
            "mpirun reaches other nodes over ssh, for which a Batch job has no keys",
            "targets.batch.ssh_key, the parameter that holds a private key");
    if (!needs_key && target_ == Target::kBatch && !case_.targets.batch_ssh_key.empty())
      wrong("targets.batch.ssh_key", "launch-no-effect",
            "only mpirun on several nodes reaches them over ssh",
            "leave targets.batch.ssh_key out");
    Endpoint place = endpoint();
    for (const auto& variable : workload_.environment) place.variables.push_back(variable.first);
    for (const SecretVariable& secret : workload_.secrets) place.variables.push_back(secret.env);
    auto words = launcher_command(resolved_, place);
    if (!words) {
      findings_.insert(findings_.end(), words.findings().begin(), words.findings().end());
      return;
    }
    workload_.command = std::move(*words);
    // Slurm starts every process by itself.
    if (target_ == Target::kSlurm &&
        (launcher == "srun-rank" || launcher == "mpirun" || launcher == "jax")) {
      workload_.command = program_words(resolved_);
      workload_.per_process = true;
    }
  }

  const ResolvedCase& resolved_;
  const Case& case_;
  Target target_;
  const facts::Facts& known_;
  const Ground& ground_;
  Workload workload_;
  Findings findings_;
};

}  // namespace

facts::Circumstances circumstances_of(const Case& values, Target target,
                                      const facts::Facts& known) {
  facts::Circumstances now;
  now.instance_type = plain_type(values.topology.instance_type);
  now.target = to_string(target);
  now.accelerator = values.topology.accelerator;
  now.versions = values.image.pins;
  now.fabric = target != Target::kLocal &&
               resources_of(values, instance_of(known, now.instance_type)).efa > 0;
  now.forks = values.forks();
  now.debug = values.env.debug;
  now.several_nodes = values.topology.nodes > 1;
  return now;
}

Result<Workload> plan_workload(const ResolvedCase& resolved, Target target,
                               const facts::Facts& known, const std::string& run_id,
                               const Ground& ground) {
  return Planner(resolved, target, known, run_id, ground).plan();
}

}  // namespace muster::launch
