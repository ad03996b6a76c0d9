// What a case starts on the nodes of a target, before any scheduler's syntax: the program that each
// node runs, its environment, resources and mounts. One description for Slurm, Kubernetes, HyperPod
// and Batch, so that their launch files can't drift apart. Pure data; made by plan_workload().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "catalog/case.h"
#include "facts/facts.h"
#include "launch/render.h"

namespace muster::launch {

/// A word of a command. `shell` words hold expansions ("$SLURM_JOB_ID") and are written in double
/// quotes; the others are literal.
struct Word {
  std::string text;
  bool shell = false;

  bool operator==(const Word&) const = default;
};

/// How the processes of a target find each other, as shell text that each target fills in:
/// "$SLURM_JOB_NUM_NODES", "2", "$(hostname)".
struct Endpoint {
  Word nodes;      ///< how many
  Word node_rank;  ///< of the node on which the command runs; empty where nobody must say
  Word host;       ///< of node 0; empty where the target's operator sets it (PET_*, MASTER_ADDR)
  Word id;         ///< of the rendezvous
  Word hosts;  ///< all nodes, a blank between two, where a launcher must be told them; else empty
  Word host_file;                      ///< their names for mpirun; empty: it knows them
  std::vector<std::string> variables;  ///< that processes on other nodes must be handed
  int port = 29500;
};

/// What a node has to give, all of it from facts/ and the manifest's `resources`, never made up.
struct NodeResources {
  std::string accelerator;                ///< gpu, neuron, cpu
  int accelerators = 0;                   ///< devices that are asked for; 0 on CPUs
  int efa = 0;                            ///< EFA interfaces; 0: none, or not asked for
  std::vector<int> efa_cards;             ///< network cards that carry them, in order
  std::optional<double> cpu;              ///< cores
  std::optional<std::int64_t> memory;     ///< bytes
  std::optional<std::int64_t> hugepages;  ///< bytes, in pages of 2 MiB
  std::optional<std::int64_t> shm;        ///< bytes of /dev/shm
};

struct SecretVariable {
  std::string env;          ///< what the program reads
  std::string secret, key;  ///< where the target keeps it; empty: handed on from the submitter
};

struct Workload {
  std::string case_name;  ///< training/pytorch/fsdp/llama3
  std::string run_id;
  /// DNS-1123 label of at most 40 characters, from the case's name; on Kubernetes a run adds "-"
  /// and four letters of its id.
  std::string object_name;
  std::string kind;  ///< train, serve, data, eval

  int nodes = 1;
  int min_nodes = 1;          ///< below `nodes` only where the rendezvous is elastic
  int processes = 1;          ///< of a node
  std::string instance_type;  ///< plain, without "ml."; empty: any
  const facts::Instance* instance = nullptr;  ///< null: not known
  NodeResources resources;

  std::string image;          ///< empty: no container
  std::vector<Word> command;  ///< what one node runs (one process, where `per_process`)
  bool per_process = false;   ///< the target starts the command once for each process
  /// What a run puts before the program of each process (process_wrapper.h). `command` has it
  /// already; for objects that make another command of the case.
  std::vector<Word> wrapper;
  std::string node_folder;  ///< of the node, seen at the same place in the container; may be empty
  std::string workdir;
  /// Where the run keeps what it writes: what ${run.dir} stands for in the manifest, and what the
  /// processes read as MUSTER_RUN_DIR. Shell where only the job knows it.
  Word run_directory;

  /// Ordered; what the rules of facts/environment.yaml say for this instance and these versions,
  /// then env.set. Never a secret, never a variable that is automatic or harmful there.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> unset;
  std::vector<SecretVariable> secrets;
  std::vector<catalog::Mount> mounts;
  std::string scratch;

  catalog::Resilience resilience;
  catalog::Scheduling scheduling;
  double timeout = 3600;       ///< seconds for the whole job
  double start_timeout = 600;  ///< seconds until all nodes must have joined
};

/// What the rules of facts/environment.yaml depend on, for native cases as for all others.
facts::Circumstances circumstances_of(const catalog::Case& values, Target target,
                                      const facts::Facts& known);

/// What is known of a run beside its case; nothing for files that are committed.
struct Ground {
  std::string run_directory;  ///< absolute
  std::string project;        ///< absolute; where the job starts
  std::string data;           ///< the file of the data set that `data.name` names
  int cores = 0;              ///< of this machine, for the local target; 0: not known
};

/// Case × target → workload. Errors are located in the manifest: a key that the target can't
/// honour, a launcher that it can't start, a name that the scheduler does not take.
Result<Workload> plan_workload(const catalog::ResolvedCase& resolved, Target target,
                               const facts::Facts& known, const std::string& run_id,
                               const Ground& ground = {});

/// The words that start the entry point of a case with its launcher (torchrun, accelerate,
/// deepspeed, composer, ft_launcher, hyperpodrun, srun-rank, mpirun, jax, ray-job, nemo-run), every
/// option explicit. An option whose word in `endpoint` is empty is left to the environment. Error:
/// an option that the launcher has no place for.
///
/// Words that hold ${run.dir}, ${checkpoint.dir} or ${data.path} expand MUSTER_RUN_DIR and
/// MUSTER_DATA, which the target puts into the environment; ${NAME} expands any other variable.
Result<std::vector<Word>> launcher_command(const catalog::ResolvedCase& resolved,
                                           const Endpoint& endpoint);

/// The program alone: what one process runs, with its arguments.
std::vector<Word> program_words(const catalog::ResolvedCase& resolved);

/// The words of a step of the case.
std::vector<Word> step_words(const catalog::Step& step);

/// A word from a text of the manifest: shell where it names variables (${HF_HOME}), literal else.
Word manifest_word(const std::string& text);

/// The word as a shell takes it.
std::string shell_text(const Word& word);

/// A command over several lines, an option with its value on each, indented by `indent` blanks.
std::string shell_lines(const std::vector<Word>& words, int indent = 2);

/// Whether all words are literal, so that no shell is needed.
bool is_literal(const std::vector<Word>& words);

/// The name of a case's objects: "training/pytorch/FSDP/llama3_1-8b" -> "fsdp-llama3-1-8b". Empty
/// when it has more than 40 characters however it is cut.
std::string object_name_of(const std::string& case_name);

/// The file name of a case's committed files: the last part of its name.
std::string file_stem_of(const std::string& case_name);

/// The line that every node writes when its part of the job starts, so that the log proves how many
/// came: "muster: node 0 of 4 started, 8 processes, on host-1".
inline constexpr const char* kNodeStarted = "muster: node ";

}  // namespace muster::launch
