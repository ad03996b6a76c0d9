// From a settled manifest to the typed value.
#include "base/schema.h"
#include "catalog/case_schema.h"

namespace muster::catalog {
namespace {

int int_at(const Node& root, std::string_view key, int otherwise) {
  return static_cast<int>(integer_at(root, key).value_or(otherwise));
}

std::optional<int> maybe_int_at(const Node& root, std::string_view key) {
  const auto value = integer_at(root, key);
  return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

std::map<std::string, std::string> map_at(const Node& root, std::string_view key) {
  std::map<std::string, std::string> values;
  if (const Node* node = node_at(root, key)) {
    for (const Node::Entry& entry : node->entries()) values[entry.key] = entry.value.text();
  }
  return values;
}

double seconds_at(const Node& root, std::string_view key, double otherwise) {
  return parse_duration(text_at(root, key)).value_or(otherwise);
}

Step read_step(const Node& node) {
  Step step;
  step.name = text_at(node, "name");
  step.after = text_at(node, "when") == "after";
  step.command = texts_at(node, "command");
  step.image = text_at(node, "image");
  step.accelerators = int_at(node, "accelerators", 0);
  step.cpu = number_at(node, "cpu");
  step.memory = text_at(node, "memory");
  step.timeout = seconds_at(node, "timeout", step.timeout);
  step.array = int_at(node, "array", 1);
  return step;
}

Service read_service(const Node& node) {
  Service service;
  service.name = text_at(node, "name");
  service.role = text_at(node, "role");
  service.command = texts_at(node, "command");
  service.image = text_at(node, "image");
  service.replicas = int_at(node, "replicas", 1);
  service.max_replicas = int_at(node, "max_replicas", service.replicas);
  service.nodes = int_at(node, "nodes", 1);
  service.accelerators = int_at(node, "accelerators", 0);
  service.cpu = number_at(node, "cpu");
  service.memory = text_at(node, "memory");
  service.port = int_at(node, "port", 0);
  service.probe = text_at(node, "probe");
  service.start = seconds_at(node, "start", service.start);
  service.scale_metric = text_at(node, "scale.metric");
  service.scale_target = text_at(node, "scale.target");
  return service;
}

Parallelism read_parallelism(const Node& root) {
  Parallelism p;
  p.dp = maybe_int_at(root, "parallelism.dp");  // nothing for the word auto
  p.shard = text_at(root, "parallelism.shard");
  p.shard_size = maybe_int_at(root, "parallelism.shard_size");
  p.tp = int_at(root, "parallelism.tp", 1);
  p.pp = int_at(root, "parallelism.pp", 1);
  p.cp = int_at(root, "parallelism.cp", 1);
  p.ep = int_at(root, "parallelism.ep", 1);
  p.etp = int_at(root, "parallelism.etp", 1);
  p.vpp = int_at(root, "parallelism.vpp", 1);
  p.sp = boolean_at(root, "parallelism.sp").value_or(false);
  p.activation_checkpointing =
      boolean_at(root, "parallelism.activation_checkpointing").value_or(false);
  return p;
}

Optimizer read_optimizer(const Node& root) {
  Optimizer o;
  o.lr = number_at(root, "optimizer.lr").value_or(0);
  o.min_lr = number_at(root, "optimizer.min_lr").value_or(0);
  o.warmup = int_at(root, "optimizer.warmup", 0);
  o.weight_decay = number_at(root, "optimizer.weight_decay").value_or(0);
  if (const Node* betas = node_at(root, "optimizer.betas")) {
    o.beta1 = betas->items()[0].as_double().value_or(o.beta1);
    o.beta2 = betas->items()[1].as_double().value_or(o.beta2);
  }
  o.clip = number_at(root, "optimizer.clip").value_or(0);
  return o;
}

Expect read_expect(const Node& root) {
  Expect e;
  e.loss_trend = text_at(root, "expect.loss.trend");
  e.eval_loss_min = number_at(root, "expect.eval_loss.min");
  e.eval_loss_max = number_at(root, "expect.eval_loss.max");
  e.min_mfu = number_at(root, "expect.throughput.min_mfu");
  e.min_tokens_per_second = number_at(root, "expect.throughput.min_tokens_per_second");
  e.straggler_mads = number_at(root, "expect.straggler.mads");
  e.straggler_ratio = number_at(root, "expect.straggler.ratio");
  e.pattern = text_at(root, "expect.pattern");
  e.timeout = parse_duration(text_at(root, "expect.timeout")).value_or(e.timeout);
  return e;
}

std::optional<KubernetesTarget> read_kubernetes(const Node& root, const std::string& key) {
  if (!node_at(root, key)) return std::nullopt;
  return KubernetesTarget{text_at(root, key + ".object"), text_at(root, key + ".namespace"),
                          text_at(root, key + ".context")};
}

Targets read_targets(const Node& root) {
  Targets t;
  if (node_at(root, "targets.local")) {
    t.local = LocalTarget{boolean_at(root, "targets.local.oversubscribe").value_or(true)};
  }
  if (node_at(root, "targets.slurm")) {
    SlurmTarget s;
    s.partition = text_at(root, "targets.slurm.partition");
    s.account = text_at(root, "targets.slurm.account");
    s.time = text_at(root, "targets.slurm.time");
    s.container = text_at(root, "targets.slurm.container");
    if (s.container == "none") s.container.clear();
    s.venv = text_at(root, "targets.slurm.venv");
    s.mpi = text_at(root, "targets.slurm.mpi");
    s.workdir = text_at(root, "targets.slurm.workdir");
    s.mounts = texts_at(root, "targets.slurm.mounts");
    s.options = texts_at(root, "targets.slurm.options");
    t.slurm = std::move(s);
  }
  t.kubernetes = read_kubernetes(root, "targets.kubernetes");
  t.hyperpod_eks = read_kubernetes(root, "targets.hyperpod-eks");
  if (node_at(root, "targets.batch")) t.batch_job_queue = text_at(root, "targets.batch.job_queue");
  t.batch_ssh_key = text_at(root, "targets.batch.ssh_key");
  return t;
}

void read_surroundings(const Node& root, Case& c) {
  c.env = {text_at(root, "env.profile"), boolean_at(root, "env.debug").value_or(false),
           map_at(root, "env.set"), texts_at(root, "env.unset"), boolean_at(root, "env.forks")};
  if (const Node* secrets = node_at(root, "secrets")) {
    for (const Node& item : secrets->items()) {
      c.secrets.push_back(
          {text_at(item, "env"), text_at(item, "from.secret"), text_at(item, "from.key")});
    }
  }
  if (const Node* mounts = node_at(root, "storage.mounts")) {
    for (const Node& item : mounts->items()) {
      c.storage.mounts.push_back(
          {text_at(item, "name"), text_at(item, "claim"), text_at(item, "path")});
    }
  }
  c.storage.shm = text_at(root, "storage.shm");
  c.storage.scratch = text_at(root, "storage.scratch");
  c.resources = {number_at(root, "resources.cpu"), maybe_int_at(root, "resources.threads"),
                 text_at(root, "resources.memory"), text_at(root, "resources.hugepages_2Mi")};
  c.resilience = {boolean_at(root, "resilience.auto_resume").value_or(false),
                  int_at(root, "resilience.max_retries", 0), std::nullopt};
  if (node_at(root, "resilience.hang")) {
    c.resilience.hang = Hang{seconds_at(root, "resilience.hang.start", 0),
                             seconds_at(root, "resilience.hang.period", 0)};
  }
  c.scheduling = {text_at(root, "scheduling.queue"), text_at(root, "scheduling.priority"),
                  text_at(root, "scheduling.anti_affinity"),
                  texts_at(root, "scheduling.tolerations")};
}

}  // namespace

Case read_case(const Node& root) {
  Case c;
  c.name = text_at(root, "name");
  c.description = text_at(root, "description");
  c.is_default = boolean_at(root, "default").value_or(false);
  c.identity = {text_at(root, "case.framework"), text_at(root, "case.library"),
                text_at(root, "case.model"), text_at(root, "case.kind")};
  c.image = {text_at(root, "image.dockerfile"), text_at(root, "image.target"),
             text_at(root, "image.base"), text_at(root, "image.uri"), map_at(root, "image.pins")};
  c.topology = {int_at(root, "topology.nodes", 1), int_at(root, "topology.min_nodes", 1),
                int_at(root, "topology.accelerators_per_node", 1),
                text_at(root, "topology.accelerator"), text_at(root, "topology.instance_type")};
  c.launcher = text_at(root, "launcher");
  c.rendezvous = {text_at(root, "rendezvous.backend"),
                  int_at(root, "rendezvous.port", 29500),
                  text_at(root, "rendezvous.id"),
                  boolean_at(root, "rendezvous.elastic").value_or(false),
                  int_at(root, "rendezvous.max_restarts", 0),
                  parse_duration(text_at(root, "rendezvous.start_timeout")).value_or(600)};
  c.entrypoint = {text_at(root, "entrypoint.script"), text_at(root, "entrypoint.module"),
                  text_at(root, "entrypoint.workdir"), texts_at(root, "entrypoint.args")};
  c.parallelism = read_parallelism(root);
  c.batch.micro = int_at(root, "batch.micro", 1);
  c.batch.global = maybe_int_at(root, "batch.global");
  c.batch.seq_len = int_at(root, "batch.seq_len", 512);
  c.batch.steps = int_at(root, "batch.steps", 100);
  // With a global batch the accumulation follows from it, where it divides; case_rules says so
  // where it does not.
  const std::int64_t per_pass = std::int64_t{c.batch.micro} * c.data_parallel();
  const std::int64_t follows = c.batch.global && per_pass > 0 ? *c.batch.global / per_pass : 1;
  c.batch.grad_accum = int_at(root, "batch.grad_accum", static_cast<int>(follows));
  c.optimizer = read_optimizer(root);
  c.precision = text_at(root, "precision");
  c.transport = text_at(root, "transport");
  c.comm_timeout = parse_duration(text_at(root, "comm_timeout")).value_or(c.comm_timeout);
  c.deterministic = boolean_at(root, "deterministic").value_or(true);
  c.seed = integer_at(root, "seed").value_or(0);
  c.eval = {int_at(root, "eval.every", 0), int_at(root, "eval.batches", 1)};
  c.checkpoint = {text_at(root, "checkpoint.dir"),
                  int_at(root, "checkpoint.every", 0),
                  int_at(root, "checkpoint.keep", 2),
                  text_at(root, "checkpoint.resume"),
                  boolean_at(root, "checkpoint.verify").value_or(true),
                  text_at(root, "checkpoint.format")};
  c.data = {text_at(root, "data.name"), text_at(root, "data.path"), text_at(root, "data.config"),
            text_at(root, "data.mode"), text_at(root, "data.tokenizer")};
  read_surroundings(root, c);
  if (const Node* steps = node_at(root, "steps")) {
    for (const Node& item : steps->items()) c.steps.push_back(read_step(item));
  }
  if (const Node* services = node_at(root, "services")) {
    for (const Node& item : services->items()) c.services.push_back(read_service(item));
  }
  c.expect = read_expect(root);
  c.targets = read_targets(root);
  return c;
}

std::string Parallelism::strategy() const {
  if (shard == "full") return "full_shard";
  if (shard == "grad_op") return "shard_grad_op";
  if (shard == "hybrid") return "hybrid";
  return "ddp";
}

bool Case::forks() const {
  if (env.forks) return *env.forks;
  return identity.kind == "train" && launcher != "native" && launcher != "jax" &&
         launcher != "mpirun" && launcher != "server";
}

int Case::data_parallel() const {
  const int split = parallelism.tp * parallelism.pp * parallelism.cp;
  return parallelism.dp.value_or(split > 0 ? topology.world() / split : 0);
}

std::int64_t Case::global_batch() const {
  if (batch.global) return *batch.global;
  return std::int64_t{batch.micro} * batch.grad_accum * data_parallel();
}

}  // namespace muster::catalog
