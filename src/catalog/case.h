// A case: one training or serving job, described once and launched on whatever target there is.
// The manifest is test_cases/<name>/case.yaml, or <name>/case.yaml below micro-benchmarks/; its
// fields are described in case_schema.h.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/file_system.h"
#include "base/result.h"
#include "catalog/coverage.h"
#include "facts/facts.h"

namespace muster::catalog {

/// `case:` what runs.
struct Identity {
  std::string framework;  ///< native, pytorch, megatron, jax, …
  std::string library;    ///< llama, fsdp, deepspeed, …
  std::string model;      ///< the engine's name of the model, e.g. smollm2-135m
  std::string kind;       ///< train, serve, data, eval, bench
};

struct Image {
  std::string dockerfile, target, base, uri;  ///< empty: not given
  std::map<std::string, std::string> pins;    ///< component -> version
};

/// World size is nodes × accelerators_per_node.
struct Topology {
  int nodes = 1;
  int min_nodes = 1;
  int accelerators_per_node = 1;    ///< one process each; on `cpu`, simply the processes of a node
  std::string accelerator = "cpu";  ///< cpu, gpu, neuron
  std::string instance_type;        ///< of facts/instances.yaml; empty: any

  int world() const { return nodes * accelerators_per_node; }
  std::string device() const { return accelerator == "gpu" ? "cuda" : "cpu"; }
};

struct Rendezvous {
  std::string backend = "mpi";  ///< mpi, c10d, static, etcd
  int port = 29500;
  std::string id = "auto";
  bool elastic = false;
  int max_restarts = 0;
  double start_timeout = 600;  ///< seconds until all nodes must have joined
};

struct Entrypoint {
  std::string script, module, workdir;
  std::vector<std::string> args;
};

struct Parallelism {
  std::optional<int> dp;       ///< empty: auto, world / (tp·pp·cp)
  std::string shard = "none";  ///< none, full, grad_op, hybrid
  std::optional<int> shard_size;
  int tp = 1, pp = 1, cp = 1, ep = 1, etp = 1, vpp = 1;
  bool sp = false;
  bool activation_checkpointing = false;

  /// The trainer's word for `shard`: ddp, full_shard, shard_grad_op, hybrid.
  std::string strategy() const;
};

struct Batch {
  int micro = 1;              ///< sequences of one rank in one forward pass
  std::optional<int> global;  ///< sequences of one optimizer step over the whole world
  int grad_accum = 1;         ///< micro batches a rank adds up in one step
  int seq_len = 1;            ///< tokens
  int steps = 1;              ///< optimizer steps
};

struct Optimizer {
  double lr = 0, min_lr = 0;
  int warmup = 0;  ///< steps
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.95;
  double clip = 1;  ///< of the global gradient norm; 0: none
};

struct Eval {
  int every = 0;  ///< steps; 0: only at the end
  int batches = 1;
};

struct Checkpoint {
  std::string dir;  ///< empty: in the run's own directory
  int every = 0;    ///< steps; 0: only at the end
  int keep = 2;
  std::string resume = "auto";  ///< auto, never, or a directory
  bool verify = true;           ///< read back at the end and compare hashes
  std::string format = "native";
};

struct Data {
  std::string name;  ///< of facts/datasets.yaml, or a hub's name
  std::string path;  ///< a text file or a directory of token shards; exactly one of name and path
                     ///< for training
  std::string config, mode;
  std::string tokenizer;  ///< bpe:N, a path, or a hub's name
};

struct Environment {
  std::string profile = "none";  ///< preset of variables: none, efa
  bool debug = false;
  std::map<std::string, std::string> set;
  std::vector<std::string> unset;
  std::optional<bool> forks;  ///< the data loader does
};

/// A secret is named, never written down.
struct Secret {
  std::string env;          ///< variable that the job reads
  std::string secret, key;  ///< where the target keeps it
};

struct Mount {
  std::string name, claim, path;
};

struct Storage {
  std::vector<Mount> mounts;
  std::string shm, scratch;
};

struct Resources {
  std::optional<double> cpu;   ///< cores of one node's job
  std::optional<int> threads;  ///< of one process
  std::string memory, hugepages_2Mi;
};

/// How a stall is seen in the log of a foreign launcher; the line is `expect.pattern`.
struct Hang {
  double start = 0;   ///< seconds until the first line
  double period = 0;  ///< seconds between two lines
};

struct Resilience {
  bool auto_resume = false;
  int max_retries = 0;
  std::optional<Hang> hang;
};

struct Scheduling {
  std::string queue, priority, anti_affinity;
  std::vector<std::string> tolerations;
};

/// One job before or after the case's own: download, tokenise, convert, merge. Steps run in order.
struct Step {
  std::string name;
  bool after = false;                ///< the case's own job
  std::vector<std::string> command;  ///< on one node, in the case's image unless `image` says so
  std::string image;
  int accelerators = 0;
  std::optional<double> cpu;
  std::string memory;     ///< empty: not asked for
  double timeout = 3600;  ///< seconds
  int array = 1;          ///< tasks that share the work
};

/// A part of a served case that runs by itself: a front end, a router, prefill or decode workers.
struct Service {
  std::string name;
  std::string role;                  ///< frontend, router, worker, prefill, decode
  std::vector<std::string> command;  ///< empty: the case's entry point
  std::string image;                 ///< empty: the case's
  int replicas = 1;
  int max_replicas = 1;  ///< above `replicas`: scaled by `scale_metric`
  int nodes = 1;         ///< of one replica
  int accelerators = 0;  ///< of one node of a replica
  std::optional<double> cpu;
  std::string memory;
  int port = 0;              ///< where it listens; 0: nowhere
  std::string probe;         ///< path of an HTTP health check on `port`; empty: none
  double start = 600;        ///< seconds until it must be healthy
  std::string scale_metric;  ///< cpu, or the name of a metric of each pod
  std::string scale_target;  ///< of cpu in percent, else the average over the pods
};

/// What the verdict holds a run to.
struct Expect {
  std::string loss_trend;  ///< down, or empty: not checked
  std::optional<double> eval_loss_min, eval_loss_max;
  std::optional<double> min_mfu;  ///< share of the node's measured peak, 0…1
  std::optional<double> min_tokens_per_second;
  std::optional<double> straggler_mads;   ///< median absolute deviations from the median step time
  std::optional<double> straggler_ratio;  ///< and at least this many times the median
  std::string pattern;
  double timeout = 3600;  ///< seconds for the whole run
};

struct LocalTarget {
  bool oversubscribe = true;
};

struct SlurmTarget {
  std::string partition, account, time, container, venv, mpi, workdir;
  std::vector<std::string> mounts;
  std::vector<std::string> options;  ///< further sbatch options, as written after #SBATCH
};

struct KubernetesTarget {
  std::string object, object_namespace;
  std::string context;  ///< of the kubeconfig; empty: its current one
};

struct Targets {
  std::optional<LocalTarget> local;
  std::optional<SlurmTarget> slurm;
  std::optional<KubernetesTarget> kubernetes;
  std::optional<KubernetesTarget> hyperpod_eks;
  std::optional<std::string> batch_job_queue;
  std::string batch_ssh_key;  ///< parameter or secret with the private key of mpirun's ssh
};

/// A case with every value settled.
struct Case {
  std::string name;  ///< the folder below test_cases/, with slashes; micro-benchmarks/… as it is
  std::string description;
  bool is_default = false;  ///< what the library's name alone means
  Identity identity;
  Image image;
  Topology topology;
  std::string launcher = "native";
  Rendezvous rendezvous;
  Entrypoint entrypoint;
  Parallelism parallelism;
  Batch batch;
  Optimizer optimizer;
  std::string precision = "fp32";  ///< fp32, bf16
  std::string transport = "auto";  ///< auto, mpi, gloo, nccl, single
  double comm_timeout = 120;       ///< seconds that one collective may take
  bool deterministic = true;
  long long seed = 0;
  Eval eval;
  Checkpoint checkpoint;
  Data data;
  Environment env;
  std::vector<Secret> secrets;
  Storage storage;
  Resources resources;
  Resilience resilience;
  Scheduling scheduling;
  std::vector<Step> steps;
  std::vector<Service> services;
  Expect expect;
  Targets targets;

  /// Sequences of one optimizer step: batch.global, or micro × grad_accum × data-parallel ranks.
  std::int64_t global_batch() const;
  /// Data-parallel ranks: parallelism.dp, or world / (tp·pp·cp).
  int data_parallel() const;
  /// Whether its processes fork while they train: env.forks, else what data loaders of its launcher
  /// do.
  bool forks() const;
};

/// Where a value of a resolved case comes from.
struct Origin {
  enum class Kind { kDefault, kManifest, kProfile, kOption };
  Kind kind = Kind::kDefault;
  Position where;  ///< of manifest and profile values

  bool operator==(const Origin&) const = default;
};

/// "default", "manifest", "profile", "option".
const char* to_string(Origin::Kind kind);

/// A value given on the command line: dotted key and YAML scalar or flow value, e.g.
/// {"batch.steps", "20"}.
using Override = std::pair<std::string, std::string>;

struct ResolvedCase {
  Case values;
  std::string profile;  ///< empty: none
  std::filesystem::path file;
  Node manifest;                          ///< as resolved: defaults filled in, without `profiles`
  std::map<std::string, Origin> origins;  ///< by dotted key of every leaf, e.g. "batch.steps"
  std::vector<std::string> referenced;    ///< keys that the command names (references.h), sorted
  Findings warnings;
};

/// Settles a parsed manifest: option > profile > manifest > default, then checks everything that
/// case_rules.h says against the facts that are known. `expected_name` is what case_name_of()
/// says. Failures are located.
Result<ResolvedCase> resolve(const Node& manifest, const std::string& expected_name,
                             const std::string& profile, const std::vector<Override>& overrides,
                             const facts::Facts& known);

/// The manifest as resolved, as YAML that `resolve` reads back to the same values.
std::string to_yaml(const ResolvedCase& resolved);

/// One case of the project, for listings; a manifest that cannot be read is listed with its
/// problems.
struct CaseEntry {
  std::string name;
  std::filesystem::path file;
  std::string description, kind, framework, library, model;
  bool is_default = false;
  std::vector<std::string> profiles;
  Coverage coverage;
  Findings problems;
};

/// Every case.yaml below ROOT/test_cases and ROOT/micro-benchmarks, by path. A project without
/// those folders has no cases.
Result<std::vector<CaseEntry>> list_cases(const FileSystem& files,
                                          const std::filesystem::path& root);

/// The manifest that a name means: a case's full name, a folder whose cases have one marked
/// default, a path of a manifest or of its folder. Failure: unknown (with "did you mean") or
/// ambiguous (with the choices).
Result<std::filesystem::path> find_case(const FileSystem& files, const std::filesystem::path& root,
                                        const std::string& name);

/// The name that a manifest's place asks for: its folder below ROOT/test_cases, or from
/// micro-benchmarks/ on; empty when it lies elsewhere.
std::string case_name_of(const std::filesystem::path& manifest, const std::filesystem::path& root);

/// find_case, read, resolve.
Result<ResolvedCase> load_case(const FileSystem& files, const std::filesystem::path& root,
                               const std::string& name, const std::string& profile,
                               const std::vector<Override>& overrides);

}  // namespace muster::catalog
