#include "catalog/case_rules.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "base/schema.h"
#include "catalog/case_places.h"
#include "catalog/case_schema.h"
#include "catalog/secrets.h"
#include "catalog/versions.h"

namespace muster::catalog {
namespace {

class Rules {
 public:
  Rules(const Case& values, const Node& manifest, const facts::Facts& known)
      : case_(values), manifest_(manifest), known_(known) {}

  void check_name(const std::string& expected);
  void check_world();
  void check_batch();
  void check_model();
  void check_topology();
  void check_training();
  void check_data();
  void check_native();
  void check_image();
  void check_secrets();
  void check_targets();

  Findings take() { return std::move(findings_); }

 private:
  // Reports at the first of the keys that is written down.
  void wrong(const char* rule, std::initializer_list<const char*> keys, std::string message,
             std::string hint = {}) {
    findings_.push_back(error_at(place(keys), rule, std::move(message), std::move(hint)));
  }

  Position place(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      const Node* node = node_at(manifest_, key);
      if (node && !node->where().file.empty()) return node->where();
    }
    return manifest_.where();
  }

  bool is_native() const { return case_.launcher == "native"; }

  const Case& case_;
  const Node& manifest_;
  const facts::Facts& known_;
  Findings findings_;
};

std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  const auto meant = did_you_mean(name, known);
  return meant ? fmt::format("did you mean \"{}\"?", *meant)
               : fmt::format("known: {}", fmt::join(known, ", "));
}

template <typename Row>
std::vector<std::string> names_of(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const Row& row : rows) names.push_back(row.name);
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void Rules::check_name(const std::string& expected) {
  if (!expected.empty() && case_.name != expected) {
    wrong("case-name", {"name"},
          fmt::format("name is \"{}\", but the folder is {}", case_.name, expected),
          fmt::format("name: {}", expected));
  }
  const bool plain = std::all_of(case_.name.begin(), case_.name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
  if (!plain || case_.name.find("//") != std::string::npos ||
      case_.name.find("..") != std::string::npos || case_.name.front() == '/' ||
      case_.name.back() == '/') {
    wrong("case-name", {"name"},
          fmt::format("name \"{}\" is not a path of plain words", case_.name),
          "letters, digits, dash, underscore and dot, parted by slashes");
  }
}

void Rules::check_world() {
  const Parallelism& p = case_.parallelism;
  const std::int64_t world = case_.topology.world();
  const std::int64_t split = std::int64_t{p.tp} * p.pp * p.cp;
  if (p.dp && split * *p.dp != world) {
    wrong("case-world", {"parallelism.dp", "parallelism", "topology"},
          fmt::format("tp·pp·cp·dp is {}, but the world is {} nodes × {} = {}", split * *p.dp,
                      case_.topology.nodes, case_.topology.accelerators_per_node, world),
          world % split == 0 ? fmt::format("dp: {}", world / split) : std::string());
  } else if (!p.dp && world % split != 0) {
    wrong("case-world", {"parallelism.tp", "parallelism.pp", "parallelism.cp", "topology"},
          fmt::format("tp·pp·cp is {}, which does not divide the world of {}", split, world));
  }
  const std::int64_t dp = case_.data_parallel();
  if ((dp * p.cp * p.tp) % p.ep != 0 ||
      std::int64_t{p.ep} * p.etp > std::int64_t{p.tp} * p.cp * std::max<std::int64_t>(dp, 1)) {
    wrong("case-experts", {"parallelism.ep", "parallelism.etp"},
          fmt::format("ep {} and etp {} do not fit dp·cp·tp = {}", p.ep, p.etp, dp * p.cp * p.tp));
  }
  if (p.shard_size && p.shard != "hybrid") {
    wrong("case-shard", {"parallelism.shard_size"},
          "shard_size has no meaning without hybrid sharding", "shard: hybrid");
  } else if (p.shard == "hybrid" && !p.shard_size) {
    wrong("case-shard", {"parallelism.shard"}, "hybrid sharding needs shard_size",
          "the ranks of one group, e.g. those of a node");
  } else if (p.shard_size && dp % *p.shard_size != 0) {
    wrong(
        "case-shard", {"parallelism.shard_size"},
        fmt::format("shard_size {} does not divide the {} data-parallel ranks", *p.shard_size, dp));
  }
}

void Rules::check_batch() {
  const std::int64_t dp = case_.data_parallel();
  const std::int64_t per_pass = std::int64_t{case_.batch.micro} * dp;
  if (!case_.batch.global || per_pass == 0) return;
  if (*case_.batch.global % per_pass != 0) {
    wrong("case-batch", {"batch.global", "batch"},
          fmt::format("global batch {} is not a multiple of micro {} × {} data-parallel ranks = {}",
                      *case_.batch.global, case_.batch.micro, dp, per_pass),
          fmt::format("global: {}", (*case_.batch.global / per_pass + 1) * per_pass));
  } else if (per_pass * case_.batch.grad_accum != *case_.batch.global) {
    wrong("case-batch", {"batch.grad_accum", "batch.global"},
          fmt::format("micro {} × {} ranks × grad_accum {} is {}, not the global batch {}",
                      case_.batch.micro, dp, case_.batch.grad_accum,
                      per_pass * case_.batch.grad_accum, *case_.batch.global),
          fmt::format("leave grad_accum out, or set it to {}", *case_.batch.global / per_pass));
  }
}

void Rules::check_model() {
  const Parallelism& p = case_.parallelism;
  if (p.cp > 1 && case_.batch.seq_len % (2 * p.cp) != 0) {
    wrong("case-sequence", {"batch.seq_len", "parallelism.cp"},
          fmt::format("seq_len {} can't be split into 2·cp = {} parts", case_.batch.seq_len,
                      2 * p.cp));
  }
  const facts::Model* model = facts::find_model(known_.models, case_.identity.model);
  if (!model) return;
  if (case_.batch.seq_len > model->context) {
    wrong("case-sequence", {"batch.seq_len"},
          fmt::format("seq_len {} exceeds the {} positions of {}", case_.batch.seq_len,
                      model->context, model->name));
  }
  if (model->heads % p.tp != 0) {
    wrong(
        "case-heads", {"parallelism.tp"},
        fmt::format("the {} heads of {} can't be split by tp {}", model->heads, model->name, p.tp));
  } else if (model->kv_heads % p.tp != 0 && p.tp % model->kv_heads != 0) {
    wrong("case-heads", {"parallelism.tp"},
          fmt::format("the {} key-value heads of {} can neither be split by nor copied over tp {}",
                      model->kv_heads, model->name, p.tp));
  }
  if (const std::int64_t stages = std::int64_t{p.pp} * p.vpp; model->layers % stages != 0) {
    wrong("case-layers", {"parallelism.pp", "parallelism.vpp"},
          fmt::format("the {} layers of {} can't be split by pp·vpp = {}", model->layers,
                      model->name, stages));
  }
}

void Rules::check_topology() {
  const Topology& t = case_.topology;
  if (t.min_nodes > t.nodes) {
    wrong("case-nodes", {"topology.min_nodes", "topology.nodes"},
          fmt::format("min_nodes {} is above nodes {}", t.min_nodes, t.nodes));
  }
  if (case_.rendezvous.elastic && node_at(manifest_, "rendezvous.node_rank")) {
    wrong("case-rendezvous", {"rendezvous.node_rank"},
          "an elastic rendezvous gives out the ranks itself", "leave node_rank out");
  }
  if (t.instance_type.empty() || known_.instances.empty()) return;
  const auto instance = facts::find_instance(known_.instances, t.instance_type);
  if (!instance) {
    wrong("case-instance", {"topology.instance_type"}, instance.findings()[0].message,
          instance.findings()[0].hint);
    return;
  }
  if (t.accelerator == "cpu") return;
  if (!instance->accelerators || instance->accelerators->kind != t.accelerator) {
    wrong("case-instance", {"topology.accelerator", "topology.instance_type"},
          fmt::format("{} has no accelerators of kind {}", t.instance_type, t.accelerator));
  } else if (const auto count = instance->accelerators->count) {
    const int places =
        *count * (t.accelerator == "neuron" ? instance->accelerators->cores.value_or(1) : 1);
    if (t.accelerators_per_node > places) {
      wrong("case-instance", {"topology.accelerators_per_node"},
            fmt::format("accelerators_per_node is {}, but {} has {}", t.accelerators_per_node,
                        t.instance_type, places));
    }
  }
}

void Rules::check_training() {
  if (case_.optimizer.min_lr > case_.optimizer.lr) {
    wrong("case-optimizer", {"optimizer.min_lr", "optimizer.lr"},
          fmt::format("min_lr {} is above lr {}", case_.optimizer.min_lr, case_.optimizer.lr));
  }
  if (case_.optimizer.warmup > case_.batch.steps) {
    findings_.push_back(warning_at(
        place({"optimizer.warmup", "batch.steps"}), "case-optimizer",
        fmt::format("{} steps of warm-up are more than the run's {}: it never reaches lr",
                    case_.optimizer.warmup, case_.batch.steps)));
  }
  const Expect& e = case_.expect;
  if (e.eval_loss_min && e.eval_loss_max && *e.eval_loss_min > *e.eval_loss_max) {
    wrong("case-band", {"expect.eval_loss"},
          fmt::format("eval_loss min {} is above max {}", *e.eval_loss_min, *e.eval_loss_max));
  }
  const std::string& dir = case_.checkpoint.dir;
  if (!dir.empty() && dir.front() == '/' &&
      (case_.topology.nodes > 1 || case_.resilience.auto_resume)) {
    const bool shared = std::any_of(
        case_.storage.mounts.begin(), case_.storage.mounts.end(), [&](const Mount& mount) {
          return dir == mount.path ||
                 dir.rfind(mount.path.back() == '/' ? mount.path : mount.path + "/", 0) == 0;
        });
    if (!shared) {
      wrong("case-checkpoint", {"checkpoint.dir"},
            fmt::format("checkpoints in {} are on no mount that all nodes share", dir),
            "name the file system under storage.mounts, or leave checkpoint.dir out");
    }
  }
}

void Rules::check_data() {
  const Data& d = case_.data;
  if (!d.name.empty() && !d.path.empty()) {
    wrong("case-data", {"data.path", "data.name"}, "data has both a name and a path",
          "leave one out");
  }
  if (!is_native() || case_.identity.kind != "train") return;
  if (d.name.empty() && d.path.empty()) {
    wrong("case-data", {"data"}, "a training case names its data",
          "data: {name: kjv}, or data: {path: FILE}");
  }
  if (const auto names = names_of(known_.datasets);
      !d.name.empty() && !names.empty() && !contains(names, d.name)) {
    wrong("case-data", {"data.name"}, fmt::format("unknown data set \"{}\"", d.name),
          nearest(d.name, names));
  }
  if (d.tokenizer.empty()) {
    wrong("case-data", {"data.tokenizer", "data"}, "a training case names its tokenizer",
          "tokenizer: bpe:4096, or a tokenizer.json");
  } else if (d.tokenizer.rfind("bpe:", 0) == 0) {
    const auto ids = Node::scalar(d.tokenizer.substr(4), false, {}).as_int();
    if (!ids || *ids < 257 || *ids > 1000000) {
      wrong("case-data", {"data.tokenizer"},
            fmt::format("tokenizer is \"{}\", not bpe:N with N from 257 to 1000000", d.tokenizer));
    }
  }
}

void Rules::check_native() {
  const bool native_framework = case_.identity.framework == "native";
  if (native_framework != is_native()) {
    wrong("case-native", {"launcher", "case.framework"},
          fmt::format("framework {} does not run under launcher {}", case_.identity.framework,
                      case_.launcher),
          native_framework ? "launcher: native" : "a launcher of the framework, e.g. torchrun");
    return;
  }
  if (!is_native()) return;
  const Parallelism& p = case_.parallelism;
  if (p.tp != 1 || p.pp != 1 || p.cp != 1 || p.ep != 1 || p.etp != 1 || p.vpp != 1 || p.sp) {
    wrong("case-native",
          {"parallelism.tp", "parallelism.pp", "parallelism.cp", "parallelism.ep", "parallelism"},
          "the native engine splits data only", "tp, pp, cp, ep, etp and vpp 1, sp false");
  }
  if (case_.topology.accelerator == "neuron") {
    wrong("case-native", {"topology.accelerator"}, "the native engine runs on cpu and gpu");
  }
  if (case_.transport == "single" && case_.topology.world() > 1) {
    wrong("case-native", {"transport"},
          fmt::format("transport single is one process, not {}", case_.topology.world()));
  }
  const auto models = names_of(known_.models);
  const std::string& model = case_.identity.model;
  if (!models.empty() && model.find('/') == std::string::npos && !contains(models, model)) {
    wrong("case-native", {"case.model"}, fmt::format("unknown model \"{}\"", model),
          nearest(model, models));
  }
}

void Rules::check_image() {
  for (const char* key : {"image.base", "image.uri"}) {
    if (const std::string image = text_at(manifest_, key); floats(image)) {
      wrong("case-latest", {key}, fmt::format("image {} floats", image),
            "a tag of one version, or a digest");
    }
  }
  const Node* pins = node_at(manifest_, "image.pins");
  if (!pins) return;
  for (const Node::Entry& pin : pins->entries()) {
    const std::string& version = pin.value.text();
    if (is_floating_version(version)) {
      findings_.push_back(error_at(pin.value.where(), "case-latest",
                                   fmt::format("pin {} \"{}\" floats", pin.key, version),
                                   "a version"));
      continue;
    }
    const auto floor = known_.floors.find(pin.key);
    if (floor == known_.floors.end()) continue;
    const auto order = compare_versions(version, floor->second);
    if (!order) {
      findings_.push_back(warning_at(
          pin.value.where(), "case-pin",
          fmt::format("can't compare {} {} with its floor {}", pin.key, version, floor->second)));
    } else if (*order < 0) {
      findings_.push_back(
          error_at(pin.value.where(), "case-pin",
                   fmt::format("{} {} is below the floor {}", pin.key, version, floor->second)));
    }
  }
}

void Rules::check_secrets() {
  const Findings secrets = find_secrets(manifest_, "case-secret");
  findings_.insert(findings_.end(), secrets.begin(), secrets.end());
}

void Rules::check_targets() {
  const Targets& t = case_.targets;
  if (!t.kubernetes && !t.hyperpod_eks) return;
  const auto cut = case_.name.rfind('/', case_.name.rfind('/') - 1);
  std::string object = case_.name.substr(cut == std::string::npos ? 0 : cut + 1);
  std::replace(object.begin(), object.end(), '/', '-');
  if (object.size() > 63) {
    wrong("case-dns", {"name"},
          fmt::format("\"{}\" has {} characters, Kubernetes takes 63", object, object.size()));
  }
  if (t.kubernetes && t.kubernetes->object == "DynamoGraphDeployment" &&
      object.find('.') != std::string::npos) {
    wrong("case-dns", {"name"},
          fmt::format("\"{}\" has a dot, which DynamoGraphDeployment does not take", object));
  }
}

}  // namespace

Findings check_case(const Case& values, const Node& manifest, const std::string& expected_name,
                    const facts::Facts& known) {
  Rules rules(values, manifest, known);
  rules.check_name(expected_name);
  rules.check_world();
  rules.check_batch();
  rules.check_model();
  rules.check_topology();
  rules.check_training();
  rules.check_data();
  rules.check_native();
  rules.check_image();
  rules.check_secrets();
  rules.check_targets();
  Findings findings = rules.take();
  Findings places = check_places(values, manifest, known.public_accounts);
  std::move(places.begin(), places.end(), std::back_inserter(findings));
  return findings;
}

}  // namespace muster::catalog
