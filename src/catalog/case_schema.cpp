#include "catalog/case_schema.h"

#include "catalog/manifest.h"

namespace muster::catalog {
namespace {

using Fields = std::vector<Schema::Field>;

constexpr double kMaxCount = 16777216;  // products of two counts still fit 64 bits by far

Schema identity() {
  return Schema::object(
             "What runs",
             {{"framework",
               Schema::text("Framework: native, pytorch, megatron, jax, …").required()},
              {"library",
               Schema::text("Library or family below the framework, e.g. llama, fsdp").required()},
              {"model",
               Schema::text("Model, as the framework names it, e.g. smollm2-135m").required()},
              {"kind", Schema::text("What kind of job")
                           .one_of({"train", "serve", "data", "eval", "bench"})
                           .defaults_to("train")}})
      .required();
}

Schema image() {
  return Schema::object(
             "Container image",
             {{"dockerfile", Schema::text("Dockerfile beside the manifest")},
              {"target", Schema::text("Stage of the Dockerfile")},
              {"base", Schema::text("Base image, with a fixed tag or digest")},
              {"uri",
               Schema::text("Where the image is pulled from; ${VARIABLE} is filled in at render")},
              {"pins", Schema::map("Versions of what the image holds: efa, nccl, cuda, torch, …",
                                   Schema::text("Version"))}})
      .optional_group();
}

Schema topology() {
  return Schema::object(
             "Nodes and processes: the world is nodes × accelerators_per_node",
             {{"nodes", Schema::integer("Nodes").at_least(1).at_most(16384).required()},
              {"min_nodes", Schema::integer("Fewest nodes that the job can go on with")
                                .at_least(1)
                                .at_most(kMaxCount)
                                .defaults_to("1")},
              {"accelerators_per_node",
               Schema::integer("Accelerators of a node, one process each; with accelerator cpu, "
                               "the processes of a node")
                   .at_least(1)
                   .at_most(1024)
                   .required()},
              {"accelerator", Schema::text("What a process computes on")
                                  .one_of({"cpu", "gpu", "neuron"})
                                  .defaults_to("cpu")},
              {"instance_type",
               Schema::text("Instance type of facts/instances.yaml that the case is made for")}})
      .required();
}

Schema rendezvous() {
  return Schema::object(
      "How processes find each other",
      {{"backend",
        Schema::text("Rendezvous").one_of({"mpi", "c10d", "static", "etcd"}).defaults_to("mpi")},
       {"port",
        Schema::integer("Port of the first node").at_least(1).at_most(65535).defaults_to("29500")},
       {"id", Schema::text("Name of the rendezvous; auto is the run's id").defaults_to("auto")},
       {"elastic", Schema::boolean("Nodes may come and go").defaults_to("false")},
       {"node_rank", Schema::integer("A fixed rank of this node; excludes elastic").at_least(0)},
       {"start_timeout", Schema::text("Limit until all nodes have joined; the job fails after it")
                             .form(kDuration)
                             .defaults_to("10m")},
       {"max_restarts", Schema::integer("Restarts of a failed group of processes")
                            .at_least(0)
                            .at_most(kMaxCount)
                            .defaults_to("0")}});
}

Schema entrypoint() {
  return Schema::object(
             "The program, for launchers other than native",
             {{"script", Schema::text("Script, absolute in the image")},
              {"module", Schema::text("Python module, instead of a script")},
              {"workdir", Schema::text("Working directory")},
              {"args", Schema::list("Arguments, in order; ${batch.steps} stands for the case's own "
                                    "value, whatever profile or option sets it",
                                    Schema::text("Argument"))}})
      .optional_group();
}

Schema degree(const char* doc) {
  return Schema::integer(doc).at_least(1).at_most(1024).defaults_to("1");
}

Schema parallelism() {
  return Schema::object(
      "How the model and the batch are split",
      {{"dp", Schema::integer("Data-parallel ranks; auto is world / (tp·pp·cp)")
                  .at_least(1)
                  .at_most(kMaxCount)
                  .or_word("auto")
                  .defaults_to("auto")},
       {"shard",
        Schema::text(
            "What data-parallel ranks share: none (DDP), full (parameters, gradients, optimizer), "
            "grad_op (gradients, optimizer), hybrid (full within a group)")
            .one_of({"none", "full", "grad_op", "hybrid"})
            .defaults_to("none")},
       {"shard_size",
        Schema::integer("Ranks of one group of hybrid sharding").at_least(1).at_most(kMaxCount)},
       {"tp", degree("Tensor-parallel ranks")},
       {"pp", degree("Pipeline stages")},
       {"cp", degree("Context-parallel ranks")},
       {"ep", degree("Expert-parallel ranks")},
       {"etp", degree("Tensor-parallel ranks of experts")},
       {"vpp", degree("Virtual stages of a pipeline stage")},
       {"sp",
        Schema::boolean("Sequence parallelism beside tensor parallelism").defaults_to("false")},
       {"activation_checkpointing",
        Schema::boolean("Recompute activations in the backward pass").defaults_to("false")}});
}

Schema batch() {
  return Schema::object(
      "Batch and length of the run",
      {{"micro", Schema::integer("Sequences of one rank in one forward pass")
                     .at_least(1)
                     .at_most(kMaxCount)
                     .defaults_to("1")},
       {"global", Schema::integer("Sequences of one optimizer step over all ranks")
                      .at_least(1)
                      .at_most(kMaxCount)},
       {"grad_accum",
        Schema::integer("Micro batches that a rank adds up in one step; with global, it follows")
            .at_least(1)
            .at_most(kMaxCount)},
       {"seq_len",
        Schema::integer("Tokens of a sequence").at_least(1).at_most(kMaxCount).defaults_to("512")},
       {"steps",
        Schema::integer("Optimizer steps").at_least(1).at_most(kMaxCount).defaults_to("100")}});
}

Schema optimizer() {
  return Schema::object(
      "AdamW and its schedule: linear warm-up, then cosine down to min_lr",
      {{"lr", Schema::number("Highest learning rate").at_least(0).defaults_to("0.0003")},
       {"min_lr", Schema::number("Learning rate at the end").at_least(0).defaults_to("0.00003")},
       {"warmup",
        Schema::integer("Steps of warm-up").at_least(0).at_most(kMaxCount).defaults_to("0")},
       {"weight_decay", Schema::number("Decoupled weight decay").at_least(0).defaults_to("0.1")},
       {"betas", Schema::list("Decay of the two moments; 0.9 and 0.95 when absent",
                              Schema::number("Decay").at_least(0).at_most(0.99999))
                     .at_least(2)
                     .at_most(2)},
       {"clip", Schema::number("Limit of the global gradient norm; 0 is none")
                    .at_least(0)
                    .defaults_to("1.0")}});
}

Schema checkpoint() {
  return Schema::object(
      "Checkpoints of the training state",
      {{"dir", Schema::text("Where; absent is the run's own directory")},
       {"every", Schema::integer("Steps between two; 0 is none on the way, and one at the end only "
                                 "when verify reads it back")
                     .at_least(0)
                     .at_most(kMaxCount)
                     .defaults_to("0")},
       {"keep", Schema::integer("How many of the last ones stay")
                    .at_least(1)
                    .at_most(kMaxCount)
                    .defaults_to("2")},
       {"resume",
        Schema::text("Start from: auto (the newest in dir), never, or a checkpoint's directory")
            .defaults_to("auto")},
       {"verify", Schema::boolean("Read the last one back and compare").defaults_to("true")},
       {"format", Schema::text("Layout on disk")
                      .one_of({"native", "dcp", "safetensors"})
                      .defaults_to("native")}});
}

Schema environment() {
  return Schema::object(
      "Environment of every process",
      {{"profile", Schema::text("Preset of variables").one_of({"none", "efa"}).defaults_to("none")},
       {"debug", Schema::boolean("Let the communication libraries say what they choose")
                     .defaults_to("false")},
       {"forks",
        Schema::boolean("The data loader forks; absent: it does in training with PyTorch")},
       {"set", Schema::map("Variables to set; never a secret", Schema::text("Value"))},
       {"unset", Schema::list("Variables to remove", Schema::text("Name").form(kVariable))}});
}

Schema secrets() {
  const Schema from = Schema::object("Where the target keeps it",
                                     {{"secret", Schema::text("Name of the secret").required()},
                                      {"key", Schema::text("Key in it").required()}})
                          .required();
  return Schema::list(
      "Secrets by name; the value is never in a manifest",
      Schema::object(
          "One secret",
          {{"env", Schema::text("Variable that the job reads").form(kVariable).required()},
           {"from", from}}));
}

Schema storage() {
  return Schema::object(
             "Mounts and scratch space",
             {{"mounts",
               Schema::list(
                   "File systems that all nodes share",
                   Schema::object("One mount",
                                  {{"name", Schema::text("Name").form(kDnsLabel).required()},
                                   {"claim", Schema::text("Kubernetes claim").form(kDnsLabel)},
                                   {"path", Schema::text("Path in the job").required()}}))},
              {"shm", Schema::text("Size of /dev/shm").form(kSize)},
              {"scratch", Schema::text("Directory on the node's own disk")}})
      .optional_group();
}

Schema resources() {
  return Schema::object(
             "What a node's part of the job needs",
             {{"cpu", Schema::number("Cores").at_least(0)},
              {"threads", Schema::integer("Threads of one process").at_least(1).at_most(kMaxCount)},
              {"memory", Schema::text("Memory").form(kSize)},
              {"hugepages_2Mi", Schema::text("Huge pages of 2 MiB").form(kSize)}})
      .optional_group();
}

Schema resilience() {
  return Schema::object(
             "What happens after a failure",
             {{"auto_resume",
               Schema::boolean("Go on from the last checkpoint by itself").defaults_to("false")},
              {"max_retries",
               Schema::integer("How often").at_least(0).at_most(kMaxCount).defaults_to("0")},
              {"hang",
               Schema::object(
                   "A job whose log has no line of expect.pattern for this long hangs",
                   {{"start",
                     Schema::text("Until the first line").form(kDuration).defaults_to("20m")},
                    {"period",
                     Schema::text("Between two lines").form(kDuration).defaults_to("10m")}})
                   .optional_group()}})
      .optional_group();
}

Schema words(const char* doc) {
  return Schema::list(doc, Schema::text("Word"));
}

Schema steps() {
  return Schema::list(
      "Jobs before or after the case's own, in order: download, tokenise, convert, merge",
      Schema::object("One step",
                     {{"name", Schema::text("Name").form(kDnsLabel).required()},
                      {"when", Schema::text("Before or after the case's own job")
                                   .one_of({"before", "after"})
                                   .defaults_to("before")},
                      {"command", words("Program and its arguments, on one node").required()},
                      {"image", Schema::text("Container image; absent is the case's")},
                      {"accelerators",
                       Schema::integer("Accelerators").at_least(0).at_most(1024).defaults_to("0")},
                      {"cpu", Schema::number("Cores").at_least(0)},
                      {"memory", Schema::text("Memory").form(kSize)},
                      {"array", Schema::integer("Tasks that share the work; each reads its number "
                                                "in MUSTER_TASK, from 0, and how many in "
                                                "MUSTER_TASKS")
                                    .at_least(1)
                                    .at_most(10000)
                                    .defaults_to("1")},
                      {"timeout", Schema::text("Limit").form(kDuration).defaults_to("1h")}}));
}

Schema services() {
  const Schema scale =
      Schema::object(
          "When to add replicas",
          {{"metric", Schema::text("cpu, or the name of a metric of each pod").defaults_to("cpu")},
           {"target",
            Schema::text("Of cpu in percent, else the average over the pods").defaults_to("80")}})
          .optional_group();
  return Schema::list(
      "Parts of a served case that run by themselves",
      Schema::object(
          "One service",
          {{"name", Schema::text("Name").form(kDnsLabel).required()},
           {"role", Schema::text("What it does")
                        .one_of({"frontend", "router", "worker", "prefill", "decode"})
                        .defaults_to("worker")},
           {"command", words("Program and its arguments; absent is the case's entry point")},
           {"image", Schema::text("Container image; absent is the case's")},
           {"replicas", Schema::integer("Replicas, and the fewest where they are scaled")
                            .at_least(1)
                            .at_most(16384)
                            .defaults_to("1")},
           {"max_replicas", Schema::integer("Most replicas").at_least(1).at_most(16384)},
           {"nodes",
            Schema::integer("Nodes of one replica").at_least(1).at_most(1024).defaults_to("1")},
           {"accelerators", Schema::integer("Accelerators of one node of a replica")
                                .at_least(0)
                                .at_most(1024)
                                .defaults_to("0")},
           {"cpu", Schema::number("Cores").at_least(0)},
           {"memory", Schema::text("Memory").form(kSize)},
           {"port", Schema::integer("Where it listens").at_least(1).at_most(65535)},
           {"probe", Schema::text("Path of an HTTP health check on the port")},
           {"start", Schema::text("Limit until it is healthy").form(kDuration).defaults_to("10m")},
           {"scale", scale}}));
}

Schema expect() {
  return Schema::object(
      "What the verdict holds a run to",
      {{"loss",
        Schema::object("Training loss",
                       {{"trend", Schema::text("Direction of the robust slope").one_of({"down"})}})
            .optional_group()},
       {"eval_loss", Schema::object("Band of the last evaluation loss",
                                    {{"min", Schema::number("Lowest plausible value").at_least(0)},
                                     {"max", Schema::number("Highest accepted value").at_least(0)}})
                         .optional_group()},
       {"throughput",
        Schema::object(
            "Speed", {{"min_mfu", Schema::number("Share of the node's measured matrix-product peak")
                                      .at_least(0)
                                      .at_most(1)},
                      {"min_tokens_per_second", Schema::number("Over all ranks").at_least(0)}})
            .optional_group()},
       {"straggler",
        Schema::object(
            "A rank is a straggler when its step time passes both limits",
            {{"mads", Schema::number("Median absolute deviations above the median").at_least(0)},
             {"ratio", Schema::number("Times the median").at_least(1)}})
            .optional_group()},
       {"pattern", Schema::text("Regular expression that the log of a foreign launcher must match; "
                                "its group is the loss")},
       {"timeout", Schema::text("Limit of the whole run").form(kDuration).defaults_to("1h")}});
}

// As kubectl config lists them; Amazon's are ARNs.
const TextForm kKubeContext{"a context's name", R"([-A-Za-z0-9._:/@+]+)", "kind-kind"};

Schema kubernetes(const char* doc, std::vector<std::string> objects) {
  return Schema::object(
             doc, {{"object", Schema::text("Kind of the object that is rendered")
                                  .one_of(std::move(objects))
                                  .required()},
                   {"namespace", Schema::text("Namespace").form(kDnsLabel).defaults_to("default")},
                   {"context", Schema::text("Context of the kubeconfig, for kubectl --context=; "
                                            "without one, the current context")
                                   .form(kKubeContext)}})
      .optional_group();
}

Schema targets() {
  const Schema local =
      Schema::object("This machine",
                     {{"oversubscribe",
                       Schema::boolean("More processes than cores are fine").defaults_to("true")}})
          .optional_group();
  const Schema slurm =
      Schema::object(
          "Slurm",
          {{"partition", Schema::text("Partition")},
           {"account", Schema::text("Account")},
           {"time", Schema::text("Limit as sbatch takes it, e.g. 00:30:00")},
           {"container", Schema::text("How the image is run")
                             .one_of({"none", "pyxis", "enroot"})
                             .defaults_to("none")},
           {"venv",
            Schema::text("Python virtual environment on a file system that all nodes share, "
                         "for runs without a container")},
           {"mpi", Schema::text("srun --mpi=").defaults_to("pmix")},
           {"mounts", Schema::list("Container mounts, host:container", Schema::text("Mount"))},
           {"workdir", Schema::text("Working directory on the nodes")},
           {"options", Schema::list("Further sbatch options, as written after #SBATCH",
                                    Schema::text("Option"))}})
          .optional_group();
  const Schema batch =
      Schema::object(
          "AWS Batch",
          {{"job_queue", Schema::text("Job queue")},
           {"ssh_key", Schema::text("Parameter of Systems Manager (or ARN of a secret) with a "
                                    "private key, over which mpirun reaches the other nodes")}})
          .optional_group();
  return Schema::object(
      "What each target needs beside the case",
      {{"local", local},
       {"slurm", slurm},
       {"kubernetes",
        kubernetes("Kubernetes", {"PyTorchJob", "JobSet", "IndexedJob", "RayJob", "RayCluster",
                                  "TrainJob", "RayService", "MPIJob", "LeaderWorkerSet",
                                  "Deployment", "DynamoGraphDeployment"})},
       {"hyperpod-eks",
        kubernetes("SageMaker HyperPod on EKS", {"HyperPodPyTorchJob", "PyTorchJob", "RayJob",
                                                 "RayCluster", "InferenceEndpointConfig"})},
       {"batch", batch}});
}

// Fields that a profile may override as well.
Fields body() {
  return {
      {"description", Schema::text("One sentence").required()},
      {"case", identity()},
      {"image", image()},
      {"topology", topology()},
      {"launcher",
       Schema::text("Who starts the processes")
           .one_of({"native", "torchrun", "srun-rank", "accelerate", "composer", "deepspeed",
                    "mpirun", "hyperpodrun", "ft_launcher", "ray-job", "jax", "nemo-run", "server"})
           .defaults_to("native")},
      {"rendezvous", rendezvous()},
      {"entrypoint", entrypoint()},
      {"parallelism", parallelism()},
      {"batch", batch()},
      {"optimizer", optimizer()},
      {"precision", Schema::text("What the passes compute in; sums and optimizer stay fp32")
                        .one_of({"fp32", "bf16"})
                        .defaults_to("fp32")},
      {"transport", Schema::text("What carries messages")
                        .one_of({"auto", "mpi", "gloo", "nccl", "single"})
                        .defaults_to("auto")},
      {"comm_timeout", Schema::text("Limit of one collective").form(kDuration).defaults_to("120s")},
      {"deterministic",
       Schema::boolean("Reductions in rank order, the same bits every time").defaults_to("true")},
      {"seed", Schema::integer("Of weights and data order")
                   .at_least(0)
                   .at_most(9007199254740991)
                   .defaults_to("0")},
      {"eval", Schema::object("Evaluation on held-out text",
                              {{"every", Schema::integer("Steps between two; 0 is only at the end")
                                             .at_least(0)
                                             .at_most(kMaxCount)
                                             .defaults_to("0")},
                               {"batches", Schema::integer("Batches of one evaluation")
                                               .at_least(1)
                                               .at_most(kMaxCount)
                                               .defaults_to("4")}})},
      {"checkpoint", checkpoint()},
      {"data",
       Schema::object(
           "Training text; exactly one of name and path",
           {{"name",
             Schema::text("Data set of facts/datasets.yaml, or of a hub for foreign launchers")},
            {"path", Schema::text("UTF-8 text file or directory of token shards")},
            {"config", Schema::text("Configuration of a hub's data set")},
            {"mode", Schema::text("How a hub's data set is read").one_of({"stream", "download"})},
            {"tokenizer",
             Schema::text(
                 "bpe:N trains one of N ids on the text; or a tokenizer.json; or a hub's name")}})},
      {"env", environment()},
      {"secrets", secrets()},
      {"storage", storage()},
      {"resources", resources()},
      {"resilience", resilience()},
      {"scheduling",
       Schema::object(
           "Where the job may run",
           {{"queue", Schema::text("Queue")},
            {"priority", Schema::text("Priority class")},
            {"anti_affinity", Schema::text("Spread over this label").one_of({"hostname", "zone"})},
            {"tolerations", Schema::list("Tolerated taints", Schema::text("Taint"))}})
           .optional_group()},
      {"steps", steps()},
      {"services", services()},
      {"expect", expect()},
      {"targets", targets()},
  };
}

// A profile overrides some fields of the body, so none of them is required in it, and none has a
// default.
Schema profile() {
  Schema overlay = Schema::object("Values that this profile overrides", body());
  return overlay.as_overlay();
}

Schema make_schema() {
  Fields fields = {
      {"apiVersion", Schema::text("Version of this format").one_of({kApiVersion}).required()},
      {"kind", Schema::text("Kind of the manifest").one_of({"Case"}).required()},
      {"name", Schema::text("The manifest's folder below test_cases/, or from micro-benchmarks/ on")
                   .required()},
      {"default",
       Schema::boolean("The case that its library's name alone means").defaults_to("false")},
  };
  for (auto& field : body()) fields.push_back(std::move(field));
  fields.push_back(
      {"profiles", Schema::map("Named variants of the case, e.g. smoke, full, bench", profile())});
  return Schema::object("A test case: one job, launched from this manifest on any target",
                        std::move(fields));
}

}  // namespace

const Schema& case_schema() {
  static const Schema kSchema = make_schema();
  return kSchema;
}

}  // namespace muster::catalog
