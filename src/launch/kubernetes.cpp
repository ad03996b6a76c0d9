#include "launch/kubernetes.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/kubernetes_objects.h"

namespace muster::launch {
namespace {

using Renderer = std::vector<Node> (*)(const KubeSite&);

const std::map<std::string, Renderer>& renderers() {
  static const std::map<std::string, Renderer> kRenderers = {
      {"PyTorchJob", pytorch_job},
      {"MPIJob", mpi_job},
      {"JobSet", job_set},
      {"IndexedJob", indexed_job},
      {"TrainJob", train_job},
      {"RayJob", ray_job},
      {"RayCluster", ray_cluster},
      {"RayService", ray_service},
      {"Deployment", deployments},
      {"LeaderWorkerSet", leader_worker_sets},
      {"DynamoGraphDeployment", dynamo_graph},
      {"HyperPodPyTorchJob", hyperpod_pytorch_job},
      {"InferenceEndpointConfig", inference_endpoint},
  };
  return kRenderers;
}

// The limit of the step whose file is the i-th.
double step_limit(const catalog::ResolvedCase& resolved, std::size_t i, std::ptrdiff_t before) {
  const bool after = i > static_cast<std::size_t>(before);
  std::size_t nth = after ? i - static_cast<std::size_t>(before) - 1 : i;
  for (const catalog::Step& step : resolved.values.steps) {
    if (step.after == after && nth-- == 0) return step.timeout;
  }
  return resolved.values.expect.timeout;
}

// What kubectl waits for until an object of the kind has done its work.
std::string own_completion(const std::string& object, const std::string& name) {
  static const std::map<std::string, std::string> kWaits = {
      {"PyTorchJob", "condition=Succeeded pytorchjob"},
      {"MPIJob", "condition=Succeeded mpijob"},
      {"JobSet", "condition=Completed jobset"},
      {"IndexedJob", "condition=Complete job"},
      {"TrainJob", "condition=Complete trainjob"},
      {"RayJob", "jsonpath={.status.jobStatus}=SUCCEEDED rayjob"},
      {"HyperPodPyTorchJob", "condition=Completed hyperpodpytorchjob"},
  };
  if (object == "RayCluster") return fmt::format("--for=condition=Complete job/{}-submit", name);
  const auto found = kWaits.find(object);
  return found == kWaits.end() ? fmt::format("--for=create {}/{}", object, name)
                               : fmt::format("--for={}/{}", found->second, name);
}

Word literal(std::string text) {
  return {std::move(text), false};
}

Word shell(std::string text) {
  return {std::move(text), true};
}

}  // namespace

Endpoint kubernetes_endpoint(const catalog::Case& values, const std::string& object_name,
                             bool hyperpod) {
  const auto& target = hyperpod ? values.targets.hyperpod_eks : values.targets.kubernetes;
  const std::string object = target ? target->object : std::string();
  Endpoint endpoint;
  endpoint.nodes = literal(std::to_string(values.topology.nodes));
  endpoint.id = literal(object_name);
  endpoint.port = values.rendezvous.port;
  if (object == "PyTorchJob" && values.rendezvous.elastic) {
    endpoint.nodes =
        literal(fmt::format("{}:{}", values.topology.min_nodes, values.topology.nodes));
    endpoint.host = literal(object_name + "-worker-0");
  } else if (object == "PyTorchJob") {
    endpoint.node_rank = shell("$RANK");
    endpoint.host = shell("$MASTER_ADDR");
  } else if (object == "IndexedJob") {
    endpoint.node_rank = shell("$JOB_COMPLETION_INDEX");
    endpoint.host = literal(fmt::format("{0}-0.{0}", object_name));
  } else if (object == "JobSet" || object == "TrainJob") {
    endpoint.node_rank = shell("$JOB_COMPLETION_INDEX");
    endpoint.host = literal(fmt::format("{0}-node-0-0.{0}", object_name));
  } else if (object == "MPIJob") {
    std::string hosts;
    for (int node = 0; node < values.topology.nodes; ++node)
      hosts += fmt::format("{0}{1}-worker-{2}.{1}", node == 0 ? "" : " ", object_name, node);
    endpoint.host = literal(fmt::format("{0}-worker-0.{0}", object_name));
    endpoint.hosts = literal(hosts);
  } else if (object == "LeaderWorkerSet") {
    endpoint.node_rank = shell("$LWS_WORKER_INDEX");
    endpoint.host = shell("$LWS_LEADER_ADDRESS");
  }
  return endpoint;
}

Result<std::vector<RenderedFile>> render_kubernetes(const Workload& workload,
                                                    const catalog::ResolvedCase& resolved,
                                                    bool hyperpod) {
  const char* folder = to_string(hyperpod ? Target::kHyperpodEks : Target::kKubernetes);
  const auto& target =
      hyperpod ? resolved.values.targets.hyperpod_eks : resolved.values.targets.kubernetes;
  if (!target) {
    return Failure(error_at({resolved.file.string(), 1, 1}, "launch-target",
                            fmt::format("the case does not have targets.{}", folder),
                            "add it with the object to render"));
  }
  const KubeSite site{workload, resolved, hyperpod};
  Findings refused = refuse_kubernetes(site);
  if (has_errors(refused)) return Failure(std::move(refused));

  std::vector<RenderedFile> files;
  const auto add = [&](const std::string& name, const std::vector<Node>& objects) {
    files.push_back({fmt::format("{}/{}.yaml", folder, name), kube_documents(objects), false});
  };
  const auto add_steps = [&](bool after) {
    for (const catalog::Step& step : resolved.values.steps) {
      if (step.after == after) add(part_name(site, step.name), {step_job(site, step)});
    }
  };
  add_steps(false);
  add(workload.object_name, renderers().at(target->object)(site));
  add_steps(true);
  return files;
}

std::vector<std::string> kubectl_words(const catalog::KubernetesTarget& target) {
  std::vector<std::string> words = {"kubectl"};
  if (!target.context.empty()) words.push_back("--context=" + target.context);
  return words;
}

std::vector<std::string> kubernetes_submission(const std::vector<RenderedFile>& files,
                                               const catalog::ResolvedCase& resolved,
                                               bool hyperpod) {
  const catalog::KubernetesTarget& target =
      hyperpod ? *resolved.values.targets.hyperpod_eks : *resolved.values.targets.kubernetes;
  const std::vector<std::string> kubectl = kubectl_words(target);
  const auto apply = [&](const RenderedFile& file) {
    std::vector<std::string> words = kubectl;
    words.insert(words.end(), {"apply", "--server-side", "-f", file.path});
    return words;
  };
  if (files.size() == 1) return apply(files.front());
  const auto& steps = resolved.values.steps;
  const auto before = std::count_if(steps.begin(), steps.end(),
                                    [](const catalog::Step& step) { return !step.after; });
  const std::string name = object_name_of(resolved.values.name);
  std::string script;
  for (std::size_t i = 0; i < files.size(); ++i) {
    script += fmt::format("{}{}", i > 0 ? "\n" : "", fmt::join(apply(files[i]), " "));
    // What comes next must find this one's results; the last one is left to whoever follows it.
    if (i + 1 == files.size()) break;
    const bool own = i == static_cast<std::size_t>(before);
    const std::string what =
        own ? own_completion(target.object, name)
            : fmt::format("--for=condition=Complete job/{}",
                          std::filesystem::path(files[i].path).stem().string());
    const double limit = own ? resolved.values.expect.timeout : step_limit(resolved, i, before);
    script += fmt::format("\n{} wait --namespace={} --timeout={}s {}", fmt::join(kubectl, " "),
                          target.object_namespace, static_cast<long>(std::ceil(limit)), what);
  }
  return {"sh", "-ec", script};
}

}  // namespace muster::launch
