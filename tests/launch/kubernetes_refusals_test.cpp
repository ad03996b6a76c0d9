// What an object can't express is refused before anything is rendered.
#include <gtest/gtest.h>

#include "kubernetes_case.h"

namespace muster::launch {
namespace {

using kube_test::kHyperpodJob;
using kube_test::object;
using kube_test::Overrides;
using kube_test::render;

std::string refusal(const Overrides& overrides, Target target = Target::kKubernetes) {
  const auto files = render(overrides, target);
  return files ? "rendered" : to_string(files.findings().front());
}

TEST(KubernetesRefusals, WhatAnObjectCantExpressIsNamedWhereItStands) {
  EXPECT_NE(refusal(object("IndexedJob", {{"rendezvous.elastic", "true"}}))
                .find("the number of pods of an IndexedJob is fixed"),
            std::string::npos);
  EXPECT_NE(refusal(object("Deployment", {{"services", "[{name: a, accelerators: 16}]"}}))
                .find("asks for 16 accelerators, p5.48xlarge has 8"),
            std::string::npos);
  EXPECT_NE(refusal({{"storage.mounts", "[{name: fsx, path: /fsx}]"}}).find("claim"),
            std::string::npos);
  EXPECT_NE(refusal({{"rendezvous.backend", "etcd"}}).find("c10d"), std::string::npos);
  EXPECT_NE(refusal({{"resources.cpu", "500"}}).find("192"), std::string::npos);
  EXPECT_NE(refusal(object("Deployment", {{"services", "[{name: a, nodes: 2}]"}}))
                .find("LeaderWorkerSet"),
            std::string::npos);
  EXPECT_NE(refusal(object("Deployment",
                           {{"services", "[{name: " + std::string(60, 'a') + ", port: 80}]"}}))
                .find("63 characters"),
            std::string::npos);
}

// hyperpodrun takes torchrun's place in HyperPod's own job; what it has not is not left out.
TEST(KubernetesRefusals, WhatHyperpodsAgentHasNotIsNamedWhereItStands) {
  const auto refused = [](const char* key, const char* value) {
    Overrides overrides = kHyperpodJob;
    overrides.emplace_back(key, value);
    return refusal(overrides, Target::kHyperpodEks);
  };
  const std::string fixed = refused("rendezvous.backend", "static");
  EXPECT_NE(fixed.find("hyperpodrun has no static rendezvous"), std::string::npos) << fixed;
  const std::string named = refused("rendezvous.id", "mine");
  EXPECT_NE(named.find("hyperpodrun has no name for its rendezvous"), std::string::npos) << named;
  EXPECT_EQ(refused("rendezvous.max_restarts", "4"), "rendered");  // the operator's, in runPolicy
}

}  // namespace
}  // namespace muster::launch
