// Ray on Kubernetes: the head is node 0 of the workload, the worker group the others.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "launch/kubernetes_objects.h"

namespace muster::launch {
namespace {

constexpr int kDashboardPort = 8265;

KubePart ray_part(const KubeSite& site, const std::string& container) {
  KubePart part = main_part(site, container);
  part.app = container;
  part.command.clear();  // of the operator's choice: ray start
  return part;
}

// The program alone: who submits it is the operator, or the Job beside the cluster.
std::vector<Word> ray_program(const KubeSite& site) {
  std::vector<Word> words = site.workload.wrapper;
  for (const Word& word : program_words(site.resolved)) words.push_back(word);
  return words;
}

std::string ray_line(const KubeSite& site) {
  std::string line;
  for (const Word& word : ray_program(site)) line += (line.empty() ? "" : " ") + shell_text(word);
  return line;
}

Node head_template(const KubeSite& site) {
  KubePart part = ray_part(site, "ray-head");
  KubeMap container = container_of(site, part);
  std::vector<Node> ports;
  for (const auto& [name, port] :
       {std::pair{"gcs", 6379}, {"dashboard", kDashboardPort}, {"client", 10001}, {"serve", 8000}})
    ports.push_back(KubeMap().set("name", name).set("containerPort", port).take());
  container.set("ports", kube_list(std::move(ports)));
  KubeMap spec;
  spec.maybe("affinity", pod_affinity(site, part))
      .maybe("tolerations", pod_tolerations(site, part))
      .set("containers", kube_list({container.take()}))
      .maybe("volumes", pod_volumes(site, part));
  KubeMap metadata;
  metadata.set("labels", pod_labels(site, part.app));
  return KubeMap().set("metadata", metadata).set("spec", spec).take();
}

KubeMap cluster_spec(const KubeSite& site) {
  const Workload& workload = site.workload;
  KubeMap head;
  head.set("rayStartParams", KubeMap().set("dashboard-host", "0.0.0.0"))
      .set("template", head_template(site));
  KubeMap spec;
  // For people and for the operator's choice of flags; an image whose lock file holds Ray says
  // none.
  const auto& pins = site.values().image.pins;
  const auto pin = pins.find("ray");
  spec.maybe("rayVersion", pin == pins.end() ? std::string() : pin->second)
      .set("headGroupSpec", head);
  if (workload.nodes > 1) {
    // Only an elastic workload may go on with fewer.
    const int least =
        site.values().rendezvous.elastic ? workload.min_nodes - 1 : workload.nodes - 1;
    KubeMap group;
    group.set("groupName", "workers")
        .set("replicas", workload.nodes - 1)
        .set("minReplicas", std::max(0, least))
        .set("maxReplicas", workload.nodes - 1)
        .set("rayStartParams", KubeMap())
        .set("template", pod_template(site, ray_part(site, "ray-worker")));
    spec.set("workerGroupSpecs", kube_list({group.take()}));
  }
  return spec;
}

// Lines of shell that wait until all nodes of the cluster are alive.
std::vector<std::string> wait_for_cluster(const KubeSite& site, const std::string& address) {
  const auto limit = static_cast<long>(std::ceil(site.workload.start_timeout));
  return {
      fmt::format("export RAY_ADDRESS={}", address),
      fmt::format("end=$(($(date +%s) + {}))", limit),
      "until ray list nodes --filter state=ALIVE --format json 2>/dev/null |",
      fmt::format("    python3 -c 'import json, sys; sys.exit(len(json.load(sys.stdin)) < {})'; do",
                  site.workload.nodes),
      "  if [ \"$(date +%s)\" -ge \"$end\" ]; then",
      fmt::format("    echo \"not all {} nodes of the cluster came within {} s\" >&2",
                  site.workload.nodes, limit),
      fmt::format("    exit {}", kNodeMissing),
      "  fi",
      "  sleep 5",
      "done",
  };
}

}  // namespace

std::vector<Node> ray_job(const KubeSite& site) {
  const Workload& workload = site.workload;
  KubeMap spec;
  spec.set("entrypoint", kube_literal(ray_line(site)))
      .set("submissionMode", "K8sJobMode")
      .set("shutdownAfterJobFinishes", true)
      .set("ttlSecondsAfterFinished", 600)
      .set("activeDeadlineSeconds", static_cast<std::int64_t>(std::ceil(workload.timeout)))
      .set("backoffLimit", workload.resilience.max_retries)
      .set("rayClusterSpec", cluster_spec(site));
  return {kube_object("ray.io/v1", "RayJob", kube_metadata(site, workload.object_name), spec)};
}

std::vector<Node> ray_cluster(const KubeSite& site) {
  const Workload& workload = site.workload;
  const std::string address =
      fmt::format("http://{}-head-svc:{}", workload.object_name, kDashboardPort);
  // The cluster alone runs nothing: a Job submits the program to it.
  KubePart part = main_part(site, "submit");
  part.app = "submit";
  part.command = {{"ray", false}, {"job", false}, {"submit", false}, {"--", false}};
  for (const Word& word : ray_program(site)) part.command.push_back(word);
  part.before = wait_for_cluster(site, address);
  part.resources = {};
  part.resources.cpu = 1;
  part.resources.memory = std::int64_t{2} << 30;
  part.restart_policy = "Never";
  KubeMap spec;
  spec.set("backoffLimit", workload.resilience.max_retries)
      .set("activeDeadlineSeconds", static_cast<std::int64_t>(std::ceil(workload.timeout)))
      .set("template", pod_template(site, part));
  return {kube_object("ray.io/v1", "RayCluster", kube_metadata(site, workload.object_name),
                      cluster_spec(site)),
          kube_object("batch/v1", "Job", kube_metadata(site, part_name(site, "submit")), spec)};
}

std::vector<Node> ray_service(const KubeSite& site) {
  const Workload& workload = site.workload;
  KubeMap application;
  application.set("name", workload.object_name)
      .set("import_path", site.values().entrypoint.module)
      .set("route_prefix", "/");
  if (!workload.workdir.empty()) {
    application.set("runtime_env", KubeMap().set("working_dir", workload.workdir));
  }
  KubeMap config;
  config.set("applications", kube_list({application.take()}));
  KubeMap spec;
  spec.set("serveConfigV2", kube_documents({config.take()}))
      .set("rayClusterConfig", cluster_spec(site));
  return {kube_object("ray.io/v1", "RayService", kube_metadata(site, workload.object_name), spec)};
}

}  // namespace muster::launch
