// Workload -> Kubernetes objects as YAML, for plain Kubernetes and for HyperPod on EKS. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/case.h"
#include "launch/render.h"
#include "launch/workload.h"

namespace muster::launch {

/// How the nodes of the object that the case asks for find each other; for launcher_command().
Endpoint kubernetes_endpoint(const catalog::Case& values, const std::string& object_name,
                             bool hyperpod);

/// The objects of `targets.kubernetes` (of `targets.hyperpod-eks` where `hyperpod`) as
/// TARGET/NAME.yaml: a file for each step of the case and one, of one or more documents, for its
/// own job, in the order in which they have to run. Errors: located, for what the object can't
/// express.
Result<std::vector<RenderedFile>> render_kubernetes(const Workload& workload,
                                                    const catalog::ResolvedCase& resolved,
                                                    bool hyperpod);

/// kubectl with the options that say which cluster, for all that is asked of it.
std::vector<std::string> kubectl_words(const catalog::KubernetesTarget& target);

/// The command that submits the files in their order, in the folder that holds them: at once where
/// there is one; else each after the step before it has completed.
std::vector<std::string> kubernetes_submission(const std::vector<RenderedFile>& files,
                                               const catalog::ResolvedCase& resolved,
                                               bool hyperpod);

}  // namespace muster::launch
