// What holds for every object that the renderers of Kubernetes and HyperPod make.
#include <cstdlib>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/schema.h"
#include "kubernetes_case.h"
#include "launch/kubernetes_build.h"
#include "lint/kubernetes_objects.h"

namespace muster::launch {
namespace {

using kube_test::containers_of;
using kube_test::good;
using kube_test::kHyperpodJob;
using kube_test::object;
using kube_test::objects;
using kube_test::Overrides;
using kube_test::render;

const std::vector<std::string> kKinds = {"PyTorchJob",
                                         "MPIJob",
                                         "JobSet",
                                         "IndexedJob",
                                         "TrainJob",
                                         "RayJob",
                                         "RayCluster",
                                         "RayService",
                                         "LeaderWorkerSet",
                                         "Deployment",
                                         "DynamoGraphDeployment"};

const Overrides kEndpoint = {
    {"targets.hyperpod-eks.object", "InferenceEndpointConfig"},
    {"launcher", "server"},
    {"rendezvous.backend", "null"},
    {"case.kind", "serve"},
    {"resilience", "null"},
    {"topology.nodes", "1"},
    {"services",
     "[{name: server, command: [--max-model-len, \"4096\"], port: 8080, accelerators: 8, probe: "
     "/health, start: 1h}]"}};

/// Every object that can be rendered, with what it is called in failures.
std::vector<std::pair<std::string, Node>> make_objects() {
  std::vector<std::pair<std::string, Node>> all;
  const auto add = [&](const std::string& what, const std::vector<RenderedFile>& files) {
    for (Node& node : objects(files)) all.emplace_back(what, std::move(node));
  };
  for (const std::string& kind : kKinds) add(kind, good(render(object(kind))));
  add("elastic", good(render({{"rendezvous.elastic", "true"}, {"topology.min_nodes", "2"}})));
  add("hyperpod", good(render({}, Target::kHyperpodEks)));
  add("HyperPodPyTorchJob", good(render(kHyperpodJob, Target::kHyperpodEks)));
  add("InferenceEndpointConfig", good(render(kEndpoint, Target::kHyperpodEks)));
  add("steps", good(render({{"steps",
                             "[{name: download, command: [hf, download, m], cpu: 4, memory: 8Gi}, "
                             "{name: merge, when: after, command: [merge], accelerators: 1, cpu: "
                             "8, memory: 64Gi}]"}})));
  return all;
}

const std::vector<std::pair<std::string, Node>>& all_objects() {
  static const auto kObjects = make_objects();
  return kObjects;
}

TEST(KubernetesObjectsRendered, EveryObjectIsFreeOfFindings) {
  const auto types = lint::KubeTypes::load(real_file_system(), muster::testing::source_dir());
  ASSERT_TRUE(types.ok()) << to_string(types.findings().front());
  std::set<std::string> kinds;
  for (const auto& [what, node] : all_objects()) {
    kinds.insert(text_at(node, "kind"));
    for (const Finding& finding : lint::check_object(node, **types))
      ADD_FAILURE() << what << ": " << to_string(finding);
  }
  EXPECT_GE(kinds.size(), 16u);
  // For the judges of tests/conformance/kubernetes-schemas.
  const char* folder = std::getenv("MUSTER_WRITE_OBJECTS");
  if (folder == nullptr) return;
  int number = 0;
  for (const auto& [what, node] : all_objects()) {
    const auto path = std::filesystem::path(folder) / fmt::format("{:03}.yaml", ++number);
    ASSERT_TRUE(real_file_system().write(path, "# " + what + "\n" + to_yaml(node)).ok());
  }
}

TEST(KubernetesObjectsRendered, KeysComeInTheirUsualOrder) {
  for (const auto& [what, node] : all_objects()) {
    std::vector<std::string> keys;
    for (const Node::Entry& entry : node.entries()) keys.push_back(entry.key);
    EXPECT_EQ(keys, (std::vector<std::string>{"apiVersion", "kind", "metadata", "spec"})) << what;
  }
}

TEST(KubernetesObjectsRendered, EveryContainerHasWhatItAskedForAndNoMore) {
  for (const auto& [what, node] : all_objects()) {
    for (const Node* container : containers_of(node)) {
      const Node* requests = node_at(*container, "resources.requests");
      const Node* limits = node_at(*container, "resources.limits");
      ASSERT_TRUE(requests != nullptr && limits != nullptr) << what;
      EXPECT_EQ(to_yaml(*requests), to_yaml(*limits)) << what;
      EXPECT_NE(requests->find("cpu"), nullptr) << what;
      EXPECT_NE(requests->find("memory"), nullptr) << what;
    }
  }
}

TEST(KubernetesObjectsRendered, SecretsAreReferences) {
  for (const auto& [what, node] : all_objects()) {
    const std::string text = to_yaml(node);
    for (const Node* container : containers_of(node)) {
      const Node* variables = container->find("env");
      ASSERT_NE(variables, nullptr) << what;
      bool found = false;
      for (const Node& variable : variables->items()) {
        if (text_at(variable, "name") != "HF_TOKEN") continue;
        found = true;
        EXPECT_EQ(node_at(variable, "value"), nullptr) << what;
        EXPECT_EQ(text_at(variable, "valueFrom.secretKeyRef.name"), "hf-token") << what;
      }
      EXPECT_TRUE(found) << what;
    }
  }
}

TEST(KubernetesObjectsRendered, NamesAreLabels) {
  for (const auto& [what, node] : all_objects())
    EXPECT_TRUE(is_dns_label(text_at(node, "metadata.name"))) << what;
}

// Every case of the catalog, on each of the two targets that it names.
TEST(KubernetesObjectsRendered, TheCatalogRendersWithoutFindings) {
  const auto types = lint::KubeTypes::load(real_file_system(), muster::testing::source_dir());
  const auto cases = catalog::list_cases(real_file_system(), muster::testing::source_dir());
  ASSERT_TRUE(cases.ok());
  int rendered = 0;
  for (const catalog::CaseEntry& entry : *cases) {
    const auto value =
        catalog::load_case(real_file_system(), muster::testing::source_dir(), entry.name, "", {});
    if (!value || value->values.launcher == "native") continue;
    for (const Target target : {Target::kKubernetes, Target::kHyperpodEks}) {
      if (!declares(value->values, target)) continue;
      const auto workload = plan_workload(*value, target, kube_test::known(), "");
      for (const Finding& finding : workload.findings()) ADD_FAILURE() << to_string(finding);
      if (!workload) continue;
      const auto files = good(render_kubernetes(*workload, *value, target == Target::kHyperpodEks));
      for (const Node& object : objects(files)) {
        for (const Finding& finding : lint::check_object(object, **types))
          ADD_FAILURE() << entry.name << ": " << to_string(finding);
        ++rendered;
      }
    }
  }
  EXPECT_GT(rendered, 50);
}

}  // namespace
}  // namespace muster::launch
