// Objects that run a job to its end on a fixed or elastic number of nodes.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "launch/kubernetes.h"
#include "launch/kubernetes_objects.h"
#include "launch/process_wrapper.h"

namespace muster::launch {
namespace {

std::int64_t kube_seconds(double value) {
  return static_cast<std::int64_t>(std::ceil(value));
}

int retries(const KubeSite& site) {
  return site.workload.resilience.max_retries;
}

// Names PREFIX0SUFFIX … as shell that prints them.
std::string numbered(const std::string& prefix, const std::string& suffix, int count) {
  if (count == 1) return prefix + "0" + suffix;
  return fmt::format("$(seq -f {}%g{} 0 {})", prefix, suffix, count - 1);
}

// The nodes that the job can't start without.
int needed(const Workload& workload) {
  return std::min(workload.nodes, std::max(1, workload.min_nodes));
}

bool is_elastic(const KubeSite& site) {
  return site.values().rendezvous.elastic;
}

// A start that failed is not tried again, and a pod that a drained node takes away is not counted.
KubeMap pod_failure_policy(const std::string& container) {
  KubeMap codes;
  codes.set("containerName", container)
      .set("operator", "In")
      .set("values", kube_list({kube_integer(kNodeMissing)}));
  KubeMap disruption;
  disruption.set("type", "DisruptionTarget").set("status", "True");
  std::vector<Node> rules;
  rules.push_back(KubeMap().set("action", "FailJob").set("onExitCodes", codes).take());
  rules.push_back(KubeMap()
                      .set("action", "Ignore")
                      .set("onPodConditions", kube_list({disruption.take()}))
                      .take());
  return KubeMap().set("rules", kube_list(std::move(rules)));
}

KubeMap indexed_job_spec(const KubeSite& site, const KubePart& part, int backoff) {
  KubeMap spec;
  spec.set("completionMode", "Indexed")
      .set("completions", site.workload.nodes)
      .set("parallelism", site.workload.nodes)
      .set("backoffLimit", backoff)
      .set("activeDeadlineSeconds", kube_seconds(site.workload.timeout))
      .set("podFailurePolicy", pod_failure_policy(part.container))
      .set("template", pod_template(site, part));
  return spec;
}

// Before the command of a node: all have come, and the log says so.
std::vector<std::string> start_lines(const KubeSite& site, const std::string& nodes,
                                     const std::string& rank) {
  std::vector<std::string> lines = wait_for_nodes(nodes, site.workload.start_timeout);
  lines.push_back(node_started(site, rank));
  return lines;
}

KubeMap run_policy(const KubeSite& site) {
  KubeMap policy;
  policy.set("activeDeadlineSeconds", kube_seconds(site.workload.timeout))
      .set("backoffLimit", retries(site))
      .set("cleanPodPolicy", "Running");
  return policy;
}

KubeMap replica_spec(const KubeSite& site, const KubePart& part, int replicas) {
  KubeMap spec;
  spec.set("replicas", replicas)
      .set("restartPolicy", retries(site) > 0 ? "OnFailure" : "Never")
      .set("template", pod_template(site, part));
  return spec;
}

std::string hang_pattern(const KubeSite& site) {
  return ".*" + site.values().expect.pattern + ".*";
}

}  // namespace

std::vector<Node> pytorch_job(const KubeSite& site) {
  const Workload& workload = site.workload;
  const bool elastic = is_elastic(site);
  KubePart part = main_part(site, "pytorch");
  part.port = site.values().rendezvous.port;
  part.port_name = "pytorchjob-port";
  if (workload.nodes > 1) {
    const std::string workers = workload.object_name + "-worker-";
    const std::string others =
        elastic ? numbered(workers, "", needed(workload))
                : workload.object_name + "-master-0 " + numbered(workers, "", workload.nodes - 1);
    part.before = start_lines(site, others, elastic ? "${HOSTNAME##*-}" : "$RANK");
  }
  KubeMap spec;
  if (elastic) {
    KubeMap policy;
    policy.set("rdzvBackend", site.values().rendezvous.backend)
        .set("rdzvPort", site.values().rendezvous.port)
        .set("rdzvId", workload.object_name)
        .set("minReplicas", workload.min_nodes)
        .set("maxReplicas", workload.nodes)
        .set("maxRestarts", site.values().rendezvous.max_restarts);
    spec.set("elasticPolicy", policy);
  }
  spec.set("nprocPerNode", std::to_string(workload.processes)).set("runPolicy", run_policy(site));
  KubeMap replicas;
  if (elastic) {
    replicas.set("Worker", replica_spec(site, part, workload.nodes));
  } else {
    replicas.set("Master", replica_spec(site, part, 1));
    if (workload.nodes > 1) replicas.set("Worker", replica_spec(site, part, workload.nodes - 1));
  }
  spec.set("pytorchReplicaSpecs", replicas);
  return {kube_object("kubeflow.org/v1", "PyTorchJob",
                      kube_metadata(site, workload.object_name, true), spec)};
}

std::vector<Node> mpi_job(const KubeSite& site) {
  const Workload& workload = site.workload;
  KubePart launcher = main_part(site, "launcher");
  launcher.app = "launcher";
  // The launcher computes nothing: it starts the ranks on the workers.
  launcher.resources = {};
  launcher.resources.cpu = 2;
  launcher.resources.memory = std::int64_t{4} << 30;
  const std::string hosts = "$(cut -d' ' -f1 /etc/mpi/hostfile)";
  launcher.before = wait_for_nodes(hosts, site.workload.start_timeout);
  const auto answers = wait_for_ssh(hosts, site.workload.start_timeout);
  launcher.before.insert(launcher.before.end(), answers.begin(), answers.end());
  KubePart worker = main_part(site, "worker");
  worker.app = "worker";
  worker.command.clear();  // of the operator's choice: sshd
  KubeMap replicas;
  KubeMap launchers;
  launchers.set("replicas", 1)
      .set("restartPolicy", retries(site) > 0 ? "OnFailure" : "Never")
      .set("template", pod_template(site, launcher));
  KubeMap workers;
  workers.set("replicas", workload.nodes).set("template", pod_template(site, worker));
  replicas.set("Launcher", launchers).set("Worker", workers);
  KubeMap spec;
  spec.set("slotsPerWorker", workload.processes)
      .set("runPolicy", run_policy(site))
      .set("mpiReplicaSpecs", replicas);
  return {kube_object("kubeflow.org/v2beta1", "MPIJob", kube_metadata(site, workload.object_name),
                      spec)};
}

std::vector<Node> job_set(const KubeSite& site) {
  const Workload& workload = site.workload;
  KubePart part = main_part(site, "node");
  part.restart_policy = "Never";
  if (workload.nodes > 1) {
    part.before = start_lines(
        site,
        numbered(workload.object_name + "-node-0-", "." + workload.object_name, workload.nodes),
        "$JOB_COMPLETION_INDEX");
  }
  KubeMap job;
  job.set("name", "node")
      .set("replicas", 1)
      .set("template", KubeMap().set("spec", indexed_job_spec(site, part, 0)));
  KubeMap start_failed;
  start_failed.set("name", "nodeMissing")
      .set("action", "FailJobSet")
      .set("onJobFailureReasons", kube_texts({"PodFailurePolicy", "DeadlineExceeded"}));
  KubeMap policy;
  policy.set("maxRestarts", retries(site)).set("rules", kube_list({start_failed.take()}));
  KubeMap network;
  network.set("enableDNSHostnames", true).set("publishNotReadyAddresses", true);
  KubeMap spec;
  spec.set("network", network)
      .set("failurePolicy", policy)
      .set("replicatedJobs", kube_list({job.take()}));
  return {kube_object("jobset.x-k8s.io/v1alpha2", "JobSet",
                      kube_metadata(site, workload.object_name), spec)};
}

std::vector<Node> indexed_job(const KubeSite& site) {
  const Workload& workload = site.workload;
  KubePart part = main_part(site, "node");
  part.restart_policy = "Never";
  part.subdomain = workload.object_name;
  if (workload.nodes > 1) {
    part.before = start_lines(
        site, numbered(workload.object_name + "-", "." + workload.object_name, workload.nodes),
        "$JOB_COMPLETION_INDEX");
  }
  KubeMap port;
  port.set("name", "rendezvous").set("port", site.values().rendezvous.port);
  KubeMap names;
  names.set("clusterIP", "None")
      .set("publishNotReadyAddresses", true)
      .set("selector", pod_labels(site, ""))
      .set("ports", kube_list({port.take()}));
  return {kube_object("v1", "Service", kube_metadata(site, workload.object_name), names),
          kube_object("batch/v1", "Job", kube_metadata(site, workload.object_name),
                      indexed_job_spec(site, part, retries(site)))};
}

std::vector<Node> train_job(const KubeSite& site) {
  const Workload& workload = site.workload;
  KubePart part = main_part(site, "node");
  part.restart_policy = "Never";
  if (workload.nodes > 1) {
    part.before = start_lines(
        site,
        numbered(workload.object_name + "-node-0-", "." + workload.object_name, workload.nodes),
        "$JOB_COMPLETION_INDEX");
  }
  KubeMap job_spec;
  job_spec.set("backoffLimit", retries(site))
      .set("activeDeadlineSeconds", kube_seconds(workload.timeout))
      .set("template", pod_template(site, part));
  KubeMap step_label;
  step_label.set("trainer.kubeflow.org/trainjob-ancestor-step", "trainer");
  KubeMap job_template;
  job_template.set("metadata", KubeMap().set("labels", step_label)).set("spec", job_spec);
  KubeMap job;
  job.set("name", "node").set("template", job_template);
  KubeMap policy;
  policy.set("numNodes", workload.nodes)
      .set("torch", KubeMap().set("numProcPerNode", workload.processes));
  KubeMap runtime;
  runtime.set("mlPolicy", policy)
      .set("template",
           KubeMap().set("spec", KubeMap().set("replicatedJobs", kube_list({job.take()}))));
  // Runtimes belong to the cluster, not to a namespace; the framework's label is what tools list.
  KubeMap runtime_labels;
  runtime_labels.set("app.kubernetes.io/managed-by", "muster")
      .set("trainer.kubeflow.org/framework", "torch");
  KubeMap runtime_metadata;
  runtime_metadata.set("name", workload.object_name).set("labels", runtime_labels);

  KubeMap reference;
  reference.set("apiGroup", "trainer.kubeflow.org")
      .set("kind", "ClusterTrainingRuntime")
      .set("name", workload.object_name);
  KubeMap trainer;
  trainer.set("numNodes", workload.nodes).set("numProcPerNode", workload.processes);
  KubeMap spec;
  spec.set("runtimeRef", reference).set("trainer", trainer);
  return {kube_object("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime",
                      std::move(runtime_metadata), runtime),
          kube_object("trainer.kubeflow.org/v1alpha1", "TrainJob",
                      kube_metadata(site, workload.object_name), spec)};
}

// The operator's agent takes torchrun's place: it is the one that the operator talks to. The
// operator itself makes the rendezvous and starts failed processes again (runPolicy below).
Result<std::vector<Word>> hyperpod_agent_command(const KubeSite& site) {
  if (site.values().launcher != "torchrun") return site.workload.command;
  catalog::ResolvedCase asked = site.resolved;
  asked.values.launcher = "hyperpodrun";
  asked.values.rendezvous.max_restarts = 0;
  auto words = launcher_command(
      asked, kubernetes_endpoint(asked.values, site.workload.object_name, site.hyperpod));
  if (!words || site.workload.wrapper.empty()) return words;
  return wrap_command(site.workload, asked, std::move(*words), site.workload.wrapper);
}

std::vector<Node> hyperpod_pytorch_job(const KubeSite& site) {
  const Workload& workload = site.workload;
  KubePart part = main_part(site, "pytorch");
  part.command = *hyperpod_agent_command(site);
  KubeMap policy;
  policy.set("activeDeadlineSeconds", kube_seconds(workload.timeout))
      .set("startupDeadlineSeconds", kube_seconds(workload.start_timeout))
      // A pod that is gone has no log any more.
      .set("cleanPodPolicy", site.workload.run_id.empty() ? "All" : "None")
      .set("jobMaxRetryCount", retries(site));
  const int process_restarts = site.values().rendezvous.max_restarts;
  if (workload.resilience.auto_resume || process_restarts > 0) {
    KubeMap restarts;
    restarts.set("numRestartBeforeFullJobRestart", process_restarts > 0 ? process_restarts : 3)
        .set("evalPeriodSeconds", 21600)
        .set("maxFullJobRestarts", std::max(1, retries(site)));
    policy.set("restartPolicy", restarts);
  }
  if (workload.resilience.hang) {
    KubeMap start;
    start.set("name", "JobStart")
        .set("logPattern", hang_pattern(site))
        .set("expectedStartCutOffInSeconds", kube_seconds(workload.resilience.hang->start));
    KubeMap hang;
    hang.set("name", "JobHangingDetection")
        .set("logPattern", hang_pattern(site))
        .set("expectedRecurringFrequencyInSeconds", kube_seconds(workload.resilience.hang->period));
    policy.set("logMonitoringConfiguration", kube_list({start.take(), hang.take()}));
  }
  KubeMap replicas;
  replicas.set("name", "pods")
      .set("replicas", workload.nodes)
      .set("template", pod_template(site, part));
  KubeMap spec;
  spec.set("nprocPerNode", std::to_string(workload.processes));
  if (is_elastic(site)) {
    KubeMap elastic;
    elastic.set("minReplicas", workload.min_nodes)
        .set("maxReplicas", workload.nodes)
        .set("replicaIncrementStep", 1)
        .set("scalingTimeoutInSeconds", kube_seconds(workload.start_timeout))
        .set("gracefulShutdownTimeoutInSeconds", kube_seconds(workload.start_timeout));
    spec.set("elasticPolicy", elastic);
  }
  spec.set("runPolicy", policy).set("replicaSpecs", kube_list({replicas.take()}));
  return {kube_object("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob",
                      kube_metadata(site, workload.object_name), spec)};
}

Node step_job(const KubeSite& site, const catalog::Step& step) {
  const KubePart part = step_part(site, step);
  KubeMap spec;
  spec.set("backoffLimit", retries(site))
      .set("activeDeadlineSeconds", kube_seconds(step.timeout))
      .set("template", pod_template(site, part));
  return kube_object("batch/v1", "Job", kube_metadata(site, part_name(site, step.name)), spec);
}

}  // namespace muster::launch
