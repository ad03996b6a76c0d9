// What an object can't express is refused before anything is rendered.
#include <gtest/gtest.h>

#include "kubernetes_case.h"

namespace muster::launch {
namespace {

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

}  // namespace
}  // namespace muster::launch
