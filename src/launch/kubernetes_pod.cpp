#include "launch/kubernetes_pod.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/schema.h"

namespace muster::launch {
namespace {

constexpr const char* kComponentLabel = "app.kubernetes.io/component";
constexpr const char* kHealthLabel = "sagemaker.amazonaws.com/node-health-status";
constexpr const char* kDeepHealthLabel = "sagemaker.amazonaws.com/deep-health-check-status";
constexpr const char* kQueueLabel = "kueue.x-k8s.io/queue-name";
constexpr const char* kQueuePriorityLabel = "kueue.x-k8s.io/priority-class";
constexpr const char* kInstanceTypeLabel = "node.kubernetes.io/instance-type";

// The node's own disks: where Amazon's images for EKS and for HyperPod mount them.
constexpr const char* kEksDisk = "/mnt/k8s-disks/0";
constexpr const char* kHyperpodDisk = "/opt/dlami/nvme";

std::string device_resource(const std::string& accelerator) {
  return accelerator == "neuron" ? "aws.amazon.com/neuron" : "nvidia.com/gpu";
}

Node expression(const std::string& key, const std::vector<std::string>& values) {
  return KubeMap().set("key", key).set("operator", "In").set("values", kube_texts(values)).take();
}

Node node_affinity(const KubeSite& site, const NodeResources& resources) {
  std::vector<Node> required;
  const std::string& type = site.workload.instance_type;
  // A part that asks for no accelerator runs on any node.
  if (!type.empty() && (resources.accelerators > 0 || site.workload.resources.accelerators == 0)) {
    std::vector<std::string> names;
    if (!site.hyperpod) names.push_back(type);
    names.push_back("ml." + type);
    required.push_back(expression(kInstanceTypeLabel, names));
  }
  if (site.hyperpod) required.push_back(expression(kHealthLabel, {"Schedulable"}));
  KubeMap affinity;
  if (!required.empty()) {
    KubeMap term;
    term.set("matchExpressions", kube_list(std::move(required)));
    affinity.set("requiredDuringSchedulingIgnoredDuringExecution",
                 KubeMap().set("nodeSelectorTerms", kube_list({term.take()})));
  }
  if (site.hyperpod) {
    KubeMap term;
    term.set("matchExpressions", kube_list({expression(kDeepHealthLabel, {"Passed"})}));
    affinity.set("preferredDuringSchedulingIgnoredDuringExecution",
                 kube_list({KubeMap().set("weight", 100).set("preference", term).take()}));
  }
  return affinity.take();
}

std::string topology_key(const std::string& anti_affinity) {
  return anti_affinity == "zone" ? "topology.kubernetes.io/zone" : "kubernetes.io/hostname";
}

KubeMap own_pods(const KubeSite& site, const KubePart& part) {
  return KubeMap().set("matchLabels", pod_labels(site, part.app));
}

// Pods of a job on nodes (zones) of their own.
Node spread(const KubeSite& site, const KubePart& part) {
  const std::string& spread_over = site.workload.scheduling.anti_affinity;
  if (spread_over.empty()) return Node::null({});
  KubeMap constraint;
  constraint.set("maxSkew", 1)
      .set("topologyKey", topology_key(spread_over))
      .set("whenUnsatisfiable", "DoNotSchedule")
      .set("labelSelector", own_pods(site, part));
  return kube_list({constraint.take()});
}

KubeMap http_probe(const KubePart& part, int period, int failures) {
  KubeMap probe;
  probe.set("httpGet", KubeMap().set("path", part.probe).set("port", part.port_name))
      .set("periodSeconds", period)
      .set("failureThreshold", failures);
  return probe;
}

bool is_scratch_used(const KubeSite& site) {
  return !site.workload.scratch.empty();
}

}  // namespace

KubePart main_part(const KubeSite& site, std::string container) {
  KubePart part;
  part.container = std::move(container);
  part.image = site.workload.image;
  part.command = site.workload.command;
  part.resources = site.workload.resources;
  part.start_limit = site.workload.start_timeout;
  return part;
}

KubePart step_part(const KubeSite& site, const catalog::Step& step) {
  KubePart part;
  part.container = step.name;
  part.app = step.name;
  part.image = step.image.empty() ? site.workload.image : step.image;
  part.command = step_words(step);
  part.resources.accelerator = site.workload.resources.accelerator;
  part.resources.accelerators = step.accelerators;
  part.resources.cpu = step.cpu;
  if (const auto bytes = parse_size(step.memory)) part.resources.memory = std::llround(*bytes);
  part.resources.shm = site.workload.resources.shm;
  part.restart_policy = "Never";
  return part;
}

KubePart service_part(const KubeSite& site, const catalog::Service& service) {
  KubePart part;
  part.container = service.name;
  part.app = service.name;
  part.image = service.image.empty() ? site.workload.image : service.image;
  for (const std::string& word : service.command) part.command.push_back(manifest_word(word));
  if (service.command.empty()) part.command = site.workload.command;
  const NodeResources& whole = site.workload.resources;
  part.resources.accelerator = whole.accelerator;
  part.resources.accelerators = service.accelerators;
  part.resources.cpu = service.cpu;
  if (const auto bytes = parse_size(service.memory)) part.resources.memory = std::llround(*bytes);
  if (service.accelerators > 0) {
    part.resources.efa = whole.efa;
    part.resources.hugepages = whole.hugepages;
    if (!service.cpu) part.resources.cpu = whole.cpu;
    if (service.memory.empty()) part.resources.memory = whole.memory;
    part.resources.shm = whole.shm;
  }
  part.port = service.port;
  part.port_name = service.port > 0 ? "http" : "";
  part.probe = service.port > 0 ? service.probe : "";
  part.start_limit = service.start;
  return part;
}

KubeMap kube_metadata(const KubeSite& site, const std::string& name, bool resumes) {
  const catalog::Scheduling& scheduling = site.workload.scheduling;
  KubeMap labels;
  labels.set("app.kubernetes.io/managed-by", "muster")
      .set(kInstanceLabel, site.workload.object_name);
  if (!site.workload.run_id.empty()) labels.set(kRunLabel, kube_label(site.workload.run_id));
  labels.maybe(kQueueLabel, scheduling.queue);
  if (!scheduling.queue.empty()) labels.maybe(kQueuePriorityLabel, scheduling.priority);
  KubeMap annotations;
  if (resumes && site.hyperpod && site.workload.resilience.auto_resume) {
    annotations.set("sagemaker.amazonaws.com/enable-job-auto-resume", "true")
        .set("sagemaker.amazonaws.com/job-max-retry-count",
             std::to_string(std::max(1, site.workload.resilience.max_retries)));
  }
  KubeMap metadata;
  metadata.set("name", name)
      .set("namespace", site.target().object_namespace)
      .set("labels", std::move(labels))
      .maybe("annotations", std::move(annotations));
  return metadata;
}

KubeMap pod_labels(const KubeSite& site, const std::string& component) {
  KubeMap labels;
  labels.set(kInstanceLabel, site.workload.object_name).maybe(kComponentLabel, component);
  return labels;
}

Node container_environment(const KubeSite& site) {
  std::vector<Node> variables;
  for (const auto& [name, value] : site.workload.environment) {
    variables.push_back(KubeMap().set("name", name).set("value", kube_literal(value)).take());
  }
  for (const SecretVariable& secret : site.workload.secrets) {
    KubeMap from;
    from.set("secretKeyRef", KubeMap().set("name", secret.secret).set("key", secret.key));
    variables.push_back(KubeMap().set("name", secret.env).set("valueFrom", from).take());
  }
  return kube_list(std::move(variables));
}

KubeMap container_resources(const KubeSite&, const NodeResources& resources) {
  const auto amounts = [&] {
    KubeMap amount;
    if (resources.cpu) amount.set("cpu", kube_cores(*resources.cpu));
    if (resources.memory) amount.set("memory", kube_bytes(*resources.memory));
    if (resources.hugepages) amount.set("hugepages-2Mi", kube_bytes(*resources.hugepages));
    if (resources.accelerators > 0) {
      amount.set(device_resource(resources.accelerator), std::to_string(resources.accelerators));
    }
    if (resources.efa > 0) amount.set("vpc.amazonaws.com/efa", std::to_string(resources.efa));
    return amount;
  };
  KubeMap both;
  both.maybe("requests", amounts()).maybe("limits", amounts());
  return both;
}

Node container_command(const std::vector<Word>& words, const std::vector<std::string>& before,
                       const std::vector<std::string>& unset) {
  if (words.empty()) return Node::null({});
  if (before.empty() && unset.empty() && is_literal(words)) {
    std::vector<std::string> texts;
    texts.reserve(words.size());
    for (const Word& word : words) texts.push_back(kube_literal(word.text));
    return kube_texts(texts);
  }
  std::vector<std::string> lines = before;
  if (!unset.empty()) lines.push_back(fmt::format("unset {}", fmt::join(unset, " ")));
  lines.push_back("exec " + shell_lines(words));
  return kube_texts({"/bin/sh", "-c", kube_literal(fmt::format("{}", fmt::join(lines, "\n")))});
}

std::vector<std::string> wait_for_nodes(const std::string& list, double limit) {
  const auto seconds = static_cast<long>(std::ceil(limit));
  return {
      fmt::format("end=$(($(date +%s) + {}))", seconds),
      fmt::format("for node in {}; do", list),
      "  until getent hosts \"$node\" >/dev/null; do",
      "    if [ \"$(date +%s)\" -ge \"$end\" ]; then",
      fmt::format("      echo \"$node did not come within {} s\" >&2", seconds),
      fmt::format("      exit {}", kNodeMissing),
      "    fi",
      "    sleep 2",
      "  done",
      "done",
  };
}

std::vector<std::string> wait_for_ssh(const std::string& list, double limit) {
  return {
      fmt::format("for node in {}; do", list),
      R"(  until ssh -o BatchMode=yes -o ConnectTimeout=5 -o StrictHostKeyChecking=no "$node" true; do)",
      "    if [ \"$(date +%s)\" -ge \"$end\" ]; then",
      fmt::format("      echo \"$node: no ssh within {} s\" >&2",
                  static_cast<long>(std::ceil(limit))),
      fmt::format("      exit {}", kNodeMissing),
      "    fi",
      "    sleep 2",
      "  done",
      "done",
  };
}

std::string node_started(const KubeSite& site, const std::string& rank) {
  return fmt::format("echo \"{}{} of {} started, {} processes, on $(uname -n)\"", kNodeStarted,
                     rank, site.workload.nodes, site.workload.processes);
}

KubeMap container_of(const KubeSite& site, const KubePart& part) {
  const Workload& workload = site.workload;
  KubeMap container;
  container.set("name", part.container).set("image", part.image);
  container.maybe("command", container_command(part.command, part.before, workload.unset));
  container.maybe("workingDir", workload.workdir);
  if (part.port > 0) {
    container.set(
        "ports",
        kube_list({KubeMap().set("name", part.port_name).set("containerPort", part.port).take()}));
  }
  container.maybe("env", container_environment(site));
  container.maybe("resources", container_resources(site, part.resources));
  if (!part.probe.empty()) {
    const int tries = std::max(1, static_cast<int>(std::ceil(part.start_limit / 10)));
    container.set("startupProbe", http_probe(part, 10, tries))
        .set("readinessProbe", http_probe(part, 10, 3))
        .set("livenessProbe", http_probe(part, 20, 3));
  }
  std::vector<Node> mounts;
  const auto mount = [&](const std::string& name, const std::string& path) {
    mounts.push_back(KubeMap().set("name", name).set("mountPath", path).take());
  };
  if (part.resources.shm) mount("shm", "/dev/shm");
  for (const catalog::Mount& entry : workload.mounts) mount(entry.name, entry.path);
  if (is_scratch_used(site)) mount("scratch", workload.scratch);
  if (!workload.node_folder.empty()) {
    mounts.push_back(KubeMap()
                         .set("name", "node-folder")
                         .set("mountPath", workload.node_folder)
                         .set("readOnly", true)
                         .take());
  }
  container.maybe("volumeMounts", kube_list(std::move(mounts)));
  return container;
}

Node pod_volumes(const KubeSite& site, const KubePart& part) {
  std::vector<Node> volumes;
  if (part.resources.shm) {
    KubeMap memory;
    memory.set("medium", "Memory").set("sizeLimit", kube_bytes(*part.resources.shm));
    volumes.push_back(KubeMap().set("name", "shm").set("emptyDir", memory).take());
  }
  for (const catalog::Mount& entry : site.workload.mounts) {
    volumes.push_back(KubeMap()
                          .set("name", entry.name)
                          .set("persistentVolumeClaim", KubeMap().set("claimName", entry.claim))
                          .take());
  }
  if (is_scratch_used(site)) {
    KubeMap path;
    path.set("path", site.hyperpod ? kHyperpodDisk : kEksDisk).set("type", "DirectoryOrCreate");
    volumes.push_back(KubeMap().set("name", "scratch").set("hostPath", path).take());
  }
  if (!site.workload.node_folder.empty()) {
    KubeMap path;
    path.set("path", site.workload.node_folder).set("type", "Directory");
    volumes.push_back(KubeMap().set("name", "node-folder").set("hostPath", path).take());
  }
  return kube_list(std::move(volumes));
}

Node pod_tolerations(const KubeSite& site, const KubePart& part) {
  std::vector<std::string> keys;
  if (part.resources.accelerators > 0) {
    keys.push_back(device_resource(part.resources.accelerator));
  }
  for (const std::string& key : site.workload.scheduling.tolerations) keys.push_back(key);
  if (site.hyperpod) keys.emplace_back(kHealthLabel);
  std::vector<Node> tolerations;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (std::find(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(i), keys[i]) !=
        keys.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    tolerations.push_back(
        KubeMap().set("key", keys[i]).set("operator", "Exists").set("effect", "NoSchedule").take());
  }
  return kube_list(std::move(tolerations));
}

Node pod_affinity(const KubeSite& site, const KubePart& part) {
  KubeMap affinity;
  affinity.maybe("nodeAffinity", node_affinity(site, part.resources));
  const std::string& spread_over = site.workload.scheduling.anti_affinity;
  if (!spread_over.empty()) {
    KubeMap term;
    term.set("labelSelector", own_pods(site, part)).set("topologyKey", topology_key(spread_over));
    affinity.set("podAntiAffinity", KubeMap().set("requiredDuringSchedulingIgnoredDuringExecution",
                                                  kube_list({term.take()})));
  }
  return affinity.take();
}

KubeMap pod_spec(const KubeSite& site, const KubePart& part) {
  const catalog::Scheduling& scheduling = site.workload.scheduling;
  KubeMap spec;
  spec.maybe("restartPolicy", part.restart_policy).maybe("subdomain", part.subdomain);
  if (scheduling.queue.empty()) spec.maybe("priorityClassName", scheduling.priority);
  spec.maybe("affinity", pod_affinity(site, part))
      .maybe("topologySpreadConstraints", spread(site, part))
      .maybe("tolerations", pod_tolerations(site, part))
      .set("containers", kube_list({container_of(site, part).take()}))
      .maybe("volumes", pod_volumes(site, part));
  return spec;
}

KubeMap pod_template(const KubeSite& site, const KubePart& part) {
  KubeMap metadata;
  metadata.set("labels", pod_labels(site, part.app));
  KubeMap pod;
  pod.set("metadata", std::move(metadata)).set("spec", pod_spec(site, part));
  return pod;
}

}  // namespace muster::launch
