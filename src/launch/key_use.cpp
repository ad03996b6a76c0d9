#include "launch/key_use.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/schema.h"
#include "catalog/case_schema.h"

namespace muster::launch {
namespace {

using catalog::Case;
using catalog::ResolvedCase;

using UnusedKeys = std::vector<UnusedKey>;

constexpr const char* kOther = "of another target";

UnusedKeys unused_everywhere() {
  return {
      {"description", "for people", false},
      {"case.framework", "says what the case is", false},
      {"case.library", "says what the case is", false},
      {"image.dockerfile", "says how the image is built", false},
      {"image.target", "says how the image is built", false},
      {"image.base", "says how the image is built", false},
  };
}

UnusedKeys plus(UnusedKeys keys, const UnusedKeys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

UnusedKeys unused_locally() {
  return {
      {"image.uri", "this machine runs no containers", false},
      {"image.pins", "the rules on variables of the fabric are for clusters", false},
      {"env.profile", "this machine's processes use no fabric", false},
      {"env.forks", "this machine's processes use no fabric", false},
      {"storage", "paths are this machine's own", false},
      {"scheduling", "nothing is scheduled", false},
      {"resilience.auto_resume", "nothing restarts the job", false},
      {"resilience.max_retries", "nothing restarts the job", false},
      {"resources.cpu", "the processes share this machine", false},
      {"resources.memory", "the processes share this machine", false},
      {"resources.hugepages_2Mi", "the processes share this machine", false},
      {"topology.instance_type", "it runs on this machine", false},
      {"services", "several services are kept by Kubernetes only", true},
      {"steps", "muster run starts the case's own job and none of its steps", true},
      {"case.kind", "says what the case is", false},
      {"targets.slurm", kOther, false},
      {"targets.kubernetes", kOther, false},
      {"targets.hyperpod-eks", kOther, false},
      {"targets.batch", kOther, false},
      {"targets.local.oversubscribe", "foreign launchers do not count cores", false},
  };
}

UnusedKeys unused_on_slurm() {
  return {
      {"storage.shm", "a container has the node's own /dev/shm", false},
      {"scheduling", "for Kubernetes; partition, account and options are below targets.slurm",
       false},
      {"resilience.max_retries", "Slurm does not count them", false},
      {"resources.hugepages_2Mi", "a container has the node's own", false},
      {"services", "several services are kept by Kubernetes only", true},
      {"targets.local", kOther, false},
      {"targets.kubernetes", kOther, false},
      {"targets.hyperpod-eks", kOther, false},
      {"targets.batch", kOther, false},
  };
}

UnusedKeys unused_on_batch() {
  return {
      {"scheduling", "Batch has queues: targets.batch.job_queue", false},
      {"resilience.auto_resume", "max_retries starts the job again", false},
      {"resources.hugepages_2Mi", "a container has the node's own", false},
      {"services", "several services are kept by Kubernetes only", true},
      {"targets.local", kOther, false},
      {"targets.slurm", kOther, false},
      {"targets.kubernetes", kOther, false},
      {"targets.hyperpod-eks", kOther, false},
  };
}

UnusedKeys unused_on_kubernetes(bool hyperpod) {
  UnusedKeys keys = {
      {"targets.local", kOther, false},
      {"targets.slurm", kOther, false},
      {"targets.batch", kOther, false},
  };
  keys.push_back({hyperpod ? "targets.kubernetes" : "targets.hyperpod-eks", kOther, false});
  if (hyperpod) {
    keys.push_back({"rendezvous.port",
                    "HyperPod's operator chooses the port of its own jobs; a PyTorchJob takes this",
                    false});
  }
  if (!hyperpod) {
    keys.push_back({"resilience.auto_resume", "max_retries starts pods again", false});
  }
  return keys;
}

bool is_below(const std::string& leaf, const std::string& key) {
  return leaf == key || leaf.starts_with(key + ".");
}

bool is_described(const std::string& leaf) {
  const auto& keys = described_keys();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const std::string& key) { return is_below(leaf, key); });
}

bool is_referenced(const ResolvedCase& resolved, const std::string& leaf) {
  const auto& named = resolved.referenced;
  if (std::find(named.begin(), named.end(), leaf) != named.end()) return true;
  // Some references are of a leaf by another name.
  const auto stands_for = [&](const char* key, const char* reference) {
    return leaf == key && std::find(named.begin(), named.end(), reference) != named.end();
  };
  return stands_for("optimizer.betas", "optimizer.beta1") ||
         stands_for("optimizer.betas", "optimizer.beta2") ||
         (leaf.starts_with("batch.") && (stands_for("batch.grad_accum", "batch.global") ||
                                         stands_for("batch.global", "batch.grad_accum"))) ||
         stands_for("batch.micro", "batch.global") || stands_for("data.name", "data.path");
}

/// Asked for by somebody who wants another case than the manifest's.
bool is_changed(const ResolvedCase& resolved, const std::string& leaf) {
  const auto kind = resolved.origins.at(leaf).kind;
  return kind == catalog::Origin::Kind::kOption || kind == catalog::Origin::Kind::kProfile;
}

Finding no_effect(const ResolvedCase& resolved, const std::string& leaf, Target target,
                  const std::string& reason, const std::string& hint) {
  return error_at(
      position_of(resolved, leaf), "launch-no-effect",
      fmt::format("{} has no effect on this case on {}: {}", leaf, to_string(target), reason),
      hint);
}

}  // namespace

Position position_of(const ResolvedCase& resolved, const std::string& key) {
  const auto origin = resolved.origins.find(key);
  if (origin != resolved.origins.end() && origin->second.where.line > 0)
    return origin->second.where;
  if (const Node* node = node_at(resolved.manifest, key); node && node->where().line > 0)
    return node->where();
  return {resolved.file.string(), 0, 0};
}

bool is_asked(const ResolvedCase& resolved, const std::string& key, const std::string& leaf) {
  if (!is_below(leaf, key)) return false;
  if (resolved.origins.at(leaf).kind == catalog::Origin::Kind::kDefault) return false;
  const Schema* schema = catalog::case_schema().at(leaf);
  const Node* node = node_at(resolved.manifest, leaf);
  if (node == nullptr || node->is_null()) return false;
  if (node->is_sequence() && node->items().empty()) return false;
  return schema == nullptr || !node->is_scalar() || schema->default_value() != node->text();
}

const UnusedKeys& foreign_unused_keys(Target target) {
  static const UnusedKeys kLocal = plus(unused_everywhere(), unused_locally());
  static const UnusedKeys kSlurm = plus(unused_everywhere(), unused_on_slurm());
  static const UnusedKeys kKubernetes = plus(unused_everywhere(), unused_on_kubernetes(false));
  static const UnusedKeys kHyperpod = plus(unused_everywhere(), unused_on_kubernetes(true));
  static const UnusedKeys kBatch = plus(unused_everywhere(), unused_on_batch());
  switch (target) {
    case Target::kSlurm:
      return kSlurm;
    case Target::kKubernetes:
      return kKubernetes;
    case Target::kHyperpodEks:
      return kHyperpod;
    case Target::kBatch:
      return kBatch;
    case Target::kLocal:
      break;
  }
  return kLocal;
}

const std::vector<std::string>& described_keys() {
  static const std::vector<std::string> kKeys = {
      "case.model",    "parallelism", "batch", "optimizer",  "precision", "comm_timeout",
      "deterministic", "seed",        "eval",  "checkpoint", "data",
  };
  return kKeys;
}

Findings foreign_refusals(const ResolvedCase& resolved, Target target) {
  Findings findings;
  for (const auto& [leaf, origin] : resolved.origins) {
    for (const UnusedKey& unused : foreign_unused_keys(target)) {
      if (unused.refused && is_asked(resolved, unused.key, leaf))
        findings.push_back(
            no_effect(resolved, leaf, target, unused.reason, "leave " + leaf + " out"));
    }
    // accelerate takes the precision as an option of its own.
    if (leaf == "precision" && resolved.values.launcher == "accelerate") continue;
    if (is_described(leaf) && is_changed(resolved, leaf) && !is_referenced(resolved, leaf)) {
      findings.push_back(no_effect(resolved, leaf, target, "its command does not name it",
                                   fmt::format("${{{}}} in entrypoint.args", leaf)));
    }
  }
  return findings;
}

Findings launcher_refusals(const ResolvedCase& resolved) {
  const Case& values = resolved.values;
  const std::string& launcher = values.launcher;
  Findings findings;
  const auto refuse = [&](const char* key, const std::string& reason, const std::string& hint) {
    findings.push_back(error_at(position_of(resolved, key), "launch-launcher",
                                fmt::format("{} {}", launcher, reason), hint));
  };
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), launcher) != names.end();
  };
  const bool torch = is({"torchrun", "ft_launcher", "srun-rank", "nemo-run"});
  const catalog::Rendezvous& rendezvous = values.rendezvous;
  const catalog::Entrypoint& entry = values.entrypoint;

  if (entry.script.empty() == entry.module.empty() &&
      !(launcher == "server" && entry.script.empty()))
    refuse("entrypoint", "starts either a script or a module",
           "entrypoint.script, or entrypoint.module");
  // As Python's expanduser and expandvars do; there is no way to quote.
  const auto changed = [](const std::string& word) {
    const std::size_t at = word.find('$');
    const bool named = at != std::string::npos && at + 1 < word.size() &&
                       (std::isalpha(static_cast<unsigned char>(word[at + 1])) != 0 ||
                        word[at + 1] == '_' || word[at + 1] == '{');
    return named || word.starts_with('~');
  };
  const auto expanded = std::find_if(entry.args.begin(), entry.args.end(), changed);
  if (launcher == "composer" && expanded != entry.args.end())
    refuse("entrypoint.args", fmt::format("puts values of its environment into \"{}\"", *expanded),
           "an argument without $ and without ~ before it");
  if (rendezvous.elastic && (!torch || launcher == "srun-rank") && launcher != "hyperpodrun")
    refuse("rendezvous.elastic", "starts a fixed number of nodes", "elastic: false");
  if (rendezvous.elastic && rendezvous.backend == "static")
    refuse("rendezvous.elastic", "can't add nodes to a static rendezvous", "backend: c10d");
  if (!rendezvous.elastic && values.topology.min_nodes > 1 &&
      values.topology.min_nodes < values.topology.nodes)
    refuse("topology.min_nodes", "goes on with fewer nodes only when its rendezvous is elastic",
           "rendezvous: {backend: c10d, elastic: true}");
  if (node_at(resolved.manifest, "rendezvous.node_rank"))
    refuse("rendezvous.node_rank", "gets each node's rank from the target",
           "leave rendezvous.node_rank out");
  if (rendezvous.max_restarts > 0 && !(torch && launcher != "srun-rank") &&
      launcher != "accelerate")
    refuse("rendezvous.max_restarts", "does not start failed processes again", "max_restarts: 0");
  if (rendezvous.id != "auto" && !torch)
    refuse("rendezvous.id", "has no name for its rendezvous", "leave rendezvous.id out");
  if (rendezvous.backend == "etcd")
    refuse("rendezvous.backend", "would need an etcd server, which no target starts",
           "backend: c10d, which needs none");
  const bool asked = is_asked(resolved, "rendezvous.backend", "rendezvous.backend");
  if (asked && rendezvous.backend == "c10d" && !torch && launcher != "hyperpodrun")
    refuse("rendezvous.backend", "does not meet over c10d", "leave rendezvous.backend out");
  if (asked && rendezvous.backend == "static" &&
      !is({"torchrun", "srun-rank", "nemo-run", "accelerate", "deepspeed", "composer", "jax"}))
    refuse("rendezvous.backend", "has no static rendezvous", "leave rendezvous.backend out");
  return findings;
}

}  // namespace muster::launch
