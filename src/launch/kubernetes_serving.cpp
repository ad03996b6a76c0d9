// Objects that serve until they are deleted.
#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "launch/kubernetes_objects.h"

namespace muster::launch {
namespace {

// Node 0 of a group is the one that answers.
Node service_for(const KubeSite& site, const catalog::Service& service, KubeMap selector) {
  KubeMap port;
  port.set("name", "http").set("port", service.port).set("targetPort", "http");
  KubeMap spec;
  spec.set("selector", std::move(selector)).set("ports", kube_list({port.take()}));
  return kube_object("v1", "Service", kube_metadata(site, part_name(site, service.name)), spec);
}

Node scaler(const KubeSite& site, const catalog::Service& service, const std::string& api_version,
            const std::string& kind) {
  const std::string name = part_name(site, service.name);
  KubeMap target;
  target.set("apiVersion", api_version).set("kind", kind).set("name", name);
  KubeMap metric;
  if (service.scale_metric.empty() || service.scale_metric == "cpu") {
    const int percent = service.scale_target.empty() ? 80 : std::atoi(service.scale_target.c_str());
    KubeMap goal;
    goal.set("type", "Utilization").set("averageUtilization", percent);
    metric.set("type", "Resource")
        .set("resource", KubeMap().set("name", "cpu").set("target", goal));
  } else {
    KubeMap goal;
    goal.set("type", "AverageValue").set("averageValue", service.scale_target);
    KubeMap pods;
    pods.set("metric", KubeMap().set("name", service.scale_metric)).set("target", goal);
    metric.set("type", "Pods").set("pods", pods);
  }
  KubeMap spec;
  spec.set("scaleTargetRef", target)
      .set("minReplicas", service.replicas)
      .set("maxReplicas", service.max_replicas)
      .set("metrics", kube_list({metric.take()}));
  return kube_object("autoscaling/v2", "HorizontalPodAutoscaler", kube_metadata(site, name), spec);
}

bool is_scaled(const catalog::Service& service) {
  return service.max_replicas > service.replicas;
}

// "prefill-worker" -> "PrefillWorker".
std::string camel_case(const std::string& name) {
  std::string camel;
  bool start = true;
  for (const char c : name) {
    if (c == '-') {
      start = true;
    } else {
      camel += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      start = false;
    }
  }
  return camel;
}

// Dynamo counts accelerators as `gpu`, whatever the device plugin calls them.
KubeMap dynamo_resources(const NodeResources& resources) {
  const auto amounts = [&] {
    KubeMap amount;
    if (resources.cpu) amount.set("cpu", kube_cores(*resources.cpu));
    if (resources.memory) amount.set("memory", kube_bytes(*resources.memory));
    if (resources.accelerators > 0) amount.set("gpu", std::to_string(resources.accelerators));
    if (resources.efa > 0) {
      amount.set("custom", KubeMap().set("vpc.amazonaws.com/efa", std::to_string(resources.efa)));
    }
    return amount;
  };
  KubeMap both;
  both.maybe("requests", amounts()).maybe("limits", amounts());
  return both;
}

Node dynamo_service(const KubeSite& site, const catalog::Service& service) {
  const KubePart part = service_part(site, service);
  const bool front = service.role == "frontend" || service.role == "router";
  KubeMap container;
  container.set("image", part.image)
      .maybe("command", container_command(part.command, {}, site.workload.unset))
      .maybe("workingDir", site.workload.workdir)
      .maybe("env", container_environment(site));
  std::vector<Node> mounts;
  for (const catalog::Mount& mount : site.workload.mounts) {
    mounts.push_back(KubeMap().set("name", mount.name).set("mountPath", mount.path).take());
  }
  if (part.resources.shm) {
    mounts.push_back(KubeMap().set("name", "shm").set("mountPath", "/dev/shm").take());
  }
  container.maybe("volumeMounts", kube_list(std::move(mounts)));
  KubePart around = part;
  KubeMap pod;
  pod.set("mainContainer", container)
      .maybe("affinity", pod_affinity(site, around))
      .maybe("tolerations", pod_tolerations(site, around))
      .maybe("volumes", pod_volumes(site, around));
  KubeMap spec;
  spec.set("dynamoNamespace", site.workload.object_name)
      .set("componentType", front ? "frontend" : "worker");
  if (service.role == "prefill" || service.role == "decode") {
    spec.set("subComponentType", service.role);
  }
  spec.set("replicas", service.replicas)
      .maybe("resources", dynamo_resources(part.resources))
      .set("extraPodSpec", pod);
  return spec.take();
}

}  // namespace

std::string part_name(const KubeSite& site, const std::string& name) {
  return site.workload.object_name + "-" + name;
}

std::vector<catalog::Service> services_of(const KubeSite& site) {
  if (!site.values().services.empty()) return site.values().services;
  catalog::Service server;
  server.name = "server";
  server.role = "worker";
  server.nodes = site.workload.nodes;
  server.accelerators = site.workload.resources.accelerators;
  server.cpu = site.workload.resources.cpu;
  server.port = site.values().rendezvous.port;
  server.start = site.workload.start_timeout;
  return {server};
}

std::vector<Node> deployments(const KubeSite& site) {
  std::vector<Node> objects;
  for (const catalog::Service& service : services_of(site)) {
    const KubePart part = service_part(site, service);
    KubeMap spec;
    if (!is_scaled(service)) spec.set("replicas", service.replicas);  // else the scaler's
    // A new pod finds no free accelerators while the old one holds them.
    KubeMap update;
    update.set("maxSurge", service.accelerators > 0 ? 0 : 1)
        .set("maxUnavailable", service.accelerators > 0 ? 1 : 0);
    spec.set("progressDeadlineSeconds", static_cast<std::int64_t>(std::ceil(service.start)) + 60)
        .set("strategy", KubeMap().set("type", "RollingUpdate").set("rollingUpdate", update))
        .set("selector", KubeMap().set("matchLabels", pod_labels(site, service.name)))
        .set("template", pod_template(site, part));
    objects.push_back(kube_object("apps/v1", "Deployment",
                                  kube_metadata(site, part_name(site, service.name)), spec));
    if (service.port > 0) {
      objects.push_back(service_for(site, service, pod_labels(site, service.name)));
    }
    if (is_scaled(service)) objects.push_back(scaler(site, service, "apps/v1", "Deployment"));
  }
  return objects;
}

std::vector<Node> leader_worker_sets(const KubeSite& site) {
  std::vector<Node> objects;
  for (const catalog::Service& service : services_of(site)) {
    KubePart leader = service_part(site, service);
    KubePart worker = leader;
    worker.port = 0;
    worker.probe.clear();  // only the leader answers
    KubeMap group;
    group.set("size", service.nodes)
        .set("restartPolicy", "RecreateGroupOnPodRestart")
        .set("leaderTemplate", pod_template(site, leader))
        .set("workerTemplate", pod_template(site, worker));
    KubeMap spec;
    if (!is_scaled(service)) spec.set("replicas", service.replicas);
    spec.set("startupPolicy", "LeaderCreated").set("leaderWorkerTemplate", group);
    const std::string name = part_name(site, service.name);
    objects.push_back(kube_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
                                  kube_metadata(site, name), spec));
    if (service.port > 0) {
      KubeMap selector;
      selector.set("leaderworkerset.sigs.k8s.io/name", name)
          .set("leaderworkerset.sigs.k8s.io/worker-index", "0");
      objects.push_back(service_for(site, service, std::move(selector)));
    }
    if (is_scaled(service)) {
      objects.push_back(scaler(site, service, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"));
    }
  }
  return objects;
}

std::vector<Node> dynamo_graph(const KubeSite& site) {
  KubeMap services;
  for (const catalog::Service& service : services_of(site)) {
    services.set(camel_case(service.name), dynamo_service(site, service));
  }
  return {kube_object("nvidia.com/v1alpha1", "DynamoGraphDeployment",
                      kube_metadata(site, site.workload.object_name),
                      KubeMap().set("services", std::move(services)))};
}

std::vector<Node> inference_endpoint(const KubeSite& site) {
  const Workload& workload = site.workload;
  const catalog::Service service = services_of(site).front();
  const KubePart part = service_part(site, service);
  KubeMap model;
  model.set("modelId", site.values().identity.model);
  for (const SecretVariable& secret : workload.secrets) {
    if (secret.env != "HF_TOKEN") continue;
    model.set("tokenSecretRef", KubeMap().set("name", secret.secret).set("key", secret.key));
  }
  KubeMap source;
  source.set("modelSourceType", "huggingface").set("huggingFaceModel", model);
  KubeMap worker;
  worker.set("image", part.image)
      .maybe("args", container_command(part.command, {}, workload.unset))
      .set("modelInvocationPort", KubeMap().set("containerPort", service.port).set("name", "http"))
      .set("modelVolumeMount", KubeMap().set("name", "model").set("mountPath", "/tmp/model"))
      .maybe("environmentVariables", container_environment(site))
      .set("resources", container_resources(site, part.resources));
  KubeMap spec;
  spec.set("endpointName", workload.object_name)
      .set("modelName", workload.object_name)
      .set("instanceType", "ml." + workload.instance_type)
      .set("replicas", service.replicas)
      .set("invocationEndpoint", "v1/chat/completions")
      .set("maxDeployTimeInSeconds", static_cast<std::int64_t>(std::ceil(service.start)))
      .set("modelSourceConfig", source)
      .set("worker", worker);
  if (!service.probe.empty()) {
    spec.set("loadBalancer", KubeMap().set("healthCheckPath", service.probe));
  }
  return {kube_object("inference.sagemaker.aws.amazon.com/v1", "InferenceEndpointConfig",
                      kube_metadata(site, workload.object_name), spec)};
}

}  // namespace muster::launch
